import type { Bus, Words } from '../../../kernel/bus.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { together } from '../../../kernel/together.ts'
import type { Sending } from '../dependencies.ts'
import type { Connections } from '../connections.ts'
import type { TerminalCases } from '../service-terminal.ts'
import { transactionStore as store } from '../store-transactions.ts'
import { createEarly } from './early.ts'
import type { Link, Links } from './links.ts'
import { stamp, type ReadRow } from './stamp.ts'
import { createToDesktops, type ToDesktops } from './to-desktops.ts'
import { createToTerminals, type ToTerminals } from './to-terminals.ts'

export type DisconnectReason =
  'api_key_used_elsewhere' | 'stale_connection_timeout' | 'admin_action' | 'server_restarting' | 'other'

const readTogetherMax = 128

/** The code that a socket is closed with, for each reason. */
const closeCodes: Readonly<Record<DisconnectReason, number>> = {
  other: 4000,
  api_key_used_elsewhere: 4001,
  stale_connection_timeout: 4002,
  admin_action: 4003,
  server_restarting: 4004,
}

const sentences: Readonly<Record<DisconnectReason, string>> = {
  other: 'The connection is closed.',
  api_key_used_elsewhere: 'This key or device has connected elsewhere.',
  stale_connection_timeout: 'Nothing came over this connection for too long.',
  admin_action: 'An operator closed this connection.',
  server_restarting: 'The server restarts; connect again in a few seconds.',
}

export interface Deliverer {
  readonly terminals: ToTerminals
  readonly desktops: ToDesktops
  /** Says why, and closes. */
  dismiss(link: Link, reason: DisconnectReason): void
  /** One that was said something before its socket was here is told now. */
  arrived(link: Link): void
  stop(): void
}

/** Turns words between processes into frames on the sockets of this one. */
export function createDeliverer({
  db,
  bus,
  clock,
  links,
  cases,
  connections,
  unsent,
  checkSoon,
  onError,
}: {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly links: Links
  readonly cases: TerminalCases
  readonly connections: Pick<Connections, 'isGone'>
  readonly unsent: Sending['unsent']
  /** Has it looked up which connections of this process are none any more. */
  readonly checkSoon: () => void
  readonly onError: (error: unknown) => void
}): Deliverer {
  const read: ReadRow = together({
    async work(those: readonly { readonly id: string; readonly groupId: string }[]) {
      const rows = new Map((await store.readAll(db, those)).map((row) => [row.id, row]))
      // The same id may be asked for by the name of another group.
      return those.map(({ id, groupId }) => (rows.get(id)?.group_id === groupId ? rows.get(id) : undefined))
    },
    itemsMax: readTogetherMax,
  })
  const terminals = createToTerminals({ db, clock, links, cases, read, unsent, onError })
  const desktops = createToDesktops({ db, clock, links, read, onError })

  const early = createEarly<DisconnectReason>()
  const dismiss = (link: Link, found: DisconnectReason) => {
    // One that is found to be none any more goes for the reason that could not be looked up when it was said.
    const reason = found === 'other' ? (early.take(link.connectionId) ?? found) : found
    link.dismissed = true
    link.send({
      action: 'forceDisconnect',
      reason,
      message: sentences[reason],
      ...stamp(clock, link.principal.groupId),
    })
    link.close(closeCodes[reason], reason)
  }

  // A word asks to look, and may be anybody's: closed is a connection that is none any more.
  const dismissGone = async (link: Link, reason: DisconnectReason) => {
    try {
      if ((await connections.isGone(link.connectionId)) && links.isOpen(link)) dismiss(link, reason)
    } catch (error) {
      early.note(link.connectionId, reason)
      checkSoon()
      onError(error)
    }
  }

  const close = ([connectionId = '', word = '']: Words) => {
    const link = links.find(connectionId)
    const reason = Object.hasOwn(closeCodes, word) ? (word as DisconnectReason) : 'other'
    if (link === undefined) early.note(connectionId, reason)
    else if (!link.dismissed) void dismissGone(link, reason)
  }

  const act: Readonly<Record<string, (words: Words) => void>> = {
    tell: terminals.tell,
    push: desktops.push,
    terminal: desktops.tellStatus,
    close,
  }
  const forget = [
    bus.hear('terminals', ([what = '', ...words]) => Object.hasOwn(act, what) && act[what]?.(words)),
    // After an outage of the line between processes: whatever was missed is in the rows.
    bus.listen('terminals', desktops.catchUpAll),
  ]
  return {
    terminals,
    desktops,
    dismiss,
    arrived(link) {
      const reason = early.take(link.connectionId)
      if (reason !== undefined) void dismissGone(link, reason)
      terminals.arrived(link)
    },
    stop() {
      for (const one of forget) one()
    },
  }
}
