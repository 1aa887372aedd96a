import { createSecretKey, hash as hashOf, type KeyObject } from 'node:crypto'
import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import type { RateLimit } from '../kernel/rate-limit.ts'
import type { Keyring } from '../kernel/seal.ts'
import { together } from '../kernel/together.ts'
import { countKey, terminalKeyForm } from './keys.ts'
import { createKnown } from './known.ts'
import { sealPlaces } from './store.ts'
import { terminalKeyStore, type TerminalKeyRow } from './store-terminal-keys.ts'

/** Who is calling area D: a till or a terminal of one group. */
export interface TerminalPrincipal {
  readonly keyId: string
  readonly role: 'desktop' | 'terminal'
  readonly groupId: string
  readonly partnerId: string
  readonly merchantId: string
  /** Of a terminal, always. */
  readonly branchId: string | null
  /** What its requests are signed with. */
  readonly secret: KeyObject
}

export interface TerminalIdentity {
  /**
   * The caller behind an x-api-key. UNAUTHORIZED without a known ACTIVE key of an active account, RATE_LIMITED over the key's rate. A
   * change of state counts from the next request on, within a second in other processes.
   */
  authenticate(apiKey: string | undefined): Promise<TerminalPrincipal>
  /** Counts one more request of a caller that is known, on a socket. Throws RATE_LIMITED as above. */
  count(principal: Pick<TerminalPrincipal, 'keyId'>): void
  /** Grows with each change of the state of a key or of an account. */
  changes(): Promise<bigint>
  /** Those of these keys that do not count any more: not ACTIVE, or of an account that is not. */
  stopped(keyIds: readonly string[]): Promise<string[]>
  /** The merchant that a group belongs to. */
  merchantOf(groupId: string): Promise<string | undefined>
}

/** As many devices may hang on one key of a terminal. */
export const devicesPerKeyMax = 100

const foundTogetherMax = 128

export function createTerminalIdentity({
  db,
  bus,
  clock,
  keyring,
  rateLimit,
}: {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly keyring: Keyring
  readonly rateLimit: RateLimit
}): TerminalIdentity {
  // Thousands of terminals come back in one moment.
  const readAll = together({
    async work(hashes: readonly string[]) {
      const rows = await terminalKeyStore.find(db, hashes)
      const byHash = new Map(rows.map((row) => [row.hash, row]))
      return hashes.map((hash) => byHash.get(hash))
    },
    itemsMax: foundTogetherMax,
    restFrom: 2,
  })

  const find = createKnown({
    bus,
    clock,
    async read(hash) {
      const row = await readAll(hash)
      return row && { isActive: row.state === 'ACTIVE' && row.account_active, principal: principalOf(row, keyring) }
    },
  })

  const count = ({ keyId }: Pick<TerminalPrincipal, 'keyId'>) => countKey(rateLimit, keyId)

  return {
    count,
    changes: () => terminalKeyStore.changes(db),
    stopped: (keyIds) => terminalKeyStore.stopped(db, keyIds),
    merchantOf: (groupId) => terminalKeyStore.merchantOf(db, groupId),
    async authenticate(apiKey) {
      const found =
        apiKey !== undefined && terminalKeyForm.test(apiKey) ? await find(hashOf('sha256', apiKey)) : undefined
      if (found === undefined || !found.isActive) {
        throw new Fault(
          'UNAUTHORIZED',
          'The API key is missing, not known or not active; send one that is in x-api-key.',
        )
      }
      count(found.principal)
      return found.principal
    },
  }
}

// Opened for who signs, which is nobody on a socket.
function principalOf(row: TerminalKeyRow, keyring: Keyring): TerminalPrincipal {
  let secret: KeyObject | undefined
  return {
    keyId: row.id,
    role: row.role,
    groupId: row.group_id,
    partnerId: row.partner_id,
    merchantId: row.merchant_id,
    branchId: row.branch_id,
    get secret() {
      return (secret ??= createSecretKey(
        Buffer.from(keyring.open(row.sealed_secret, sealPlaces.terminalSecret(row.id))),
      ))
    },
  }
}
