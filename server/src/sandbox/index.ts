import type { FastifyInstance } from 'fastify'
import type { Delivery } from '../delivery/index.ts'
import type { Identity } from '../identity/service.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../kernel/db.ts'
import { mountArea, type Edge } from '../kernel/http/area.ts'
import type { Keyring } from '../kernel/seal.ts'
import { challengeStore } from '../payments/connectors/simulator-store-challenges.ts'
import { mountBank } from './bank-pages.ts'
import { bankApp, type CodeBank } from './bank.ts'
import { mountChallenges } from './challenges.ts'
import type { SandboxClock } from './clock.ts'
import { mountInbox, type Arrival } from './inbox.ts'
import { createPictures } from './pictures.ts'
import { sandboxArea, sandboxRoutes } from './routes.ts'
import { createVirtualTerminals } from './virtual-terminals.ts'

export interface SandboxDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly keyring: Keyring
  readonly identity: Identity
  readonly delivery: Delivery
  readonly edge: Edge
  readonly sandboxClock: SandboxClock
  readonly addresses: { readonly sandbox: string }
  /** Null: there is no QR service. */
  readonly codeBank: CodeBank | null
  /** The merchant of a group of terminals. */
  readonly merchantOf: (groupId: string) => Promise<string | undefined>
  /** Where this process takes sockets. */
  readonly socketUrl: () => string
  readonly arrived: (arrival: Arrival) => void
}

/** Mounts what only a sandbox has: its controls, the pages of its bank, and the inbox. Disposing stops what runs for them. */
export async function mountSandbox(app: FastifyInstance, deps: SandboxDependencies): Promise<AsyncDisposable> {
  const { db, bus, clock, keyring, identity, delivery, edge, sandboxClock, addresses, codeBank, arrived } = deps
  const { log } = edge
  const { merchantOf, socketUrl } = deps
  await using parts = new AsyncDisposableStack()
  const terminals = parts.use(createVirtualTerminals({ db, bus, clock, keyring, log, identity, merchantOf, socketUrl }))
  sandboxClock.waitsFor(() => terminals.settled())
  const bank = codeBank && bankApp(codeBank, parts.use(createPictures()))
  const routes = sandboxRoutes({ clock, sandboxClock, terminals, bank })
  await mountArea(app, sandboxArea(identity, addresses), routes, edge)
  if (bank !== null) await mountBank(app, { bank, addresses, log })
  await mountChallenges(app, { challenges: challengeStore({ db }), clock, addresses, log })
  await mountInbox(app, { delivery, wall: clock.wall, addresses, arrived })
  return parts.move()
}
