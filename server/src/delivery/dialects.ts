import type { KeyObject } from 'node:crypto'
import { sign } from './signature.ts'
import { tenAttempts, type Schedule } from './schedule.ts'

export type DialectName = 'signed' | 'terminal' | 'encrypted'

/** What an attempt is about. */
export interface Outgoing {
  readonly eventId: string
  readonly destinationId: string
  readonly type: string
  /** As it was stored with the event. */
  readonly body: string
  /** Of the signing secrets of the destination that are in force, newest first. */
  readonly keys: readonly KeyObject[]
  /** System time of this attempt in ms. */
  readonly wallMs: number
}

/** What goes over the wire. The headers are kept with the attempt, so they carry no secret. */
export interface Prepared {
  readonly headers: Record<string, string>
  readonly body: string
}

/** How a kind of destination is spoken to. A value: the engine knows no dialect by name. */
export interface Dialect {
  /** Made anew for each attempt. A throw is a failure of ours and spends none. */
  prepare(outgoing: Outgoing): Prepared | Promise<Prepared>
  acknowledges(status: number): boolean
  /** For the whole attempt, system time. */
  readonly deadlineMs: number
  readonly schedule: Schedule
  readonly autoDisable: AutoDisable
}

/** When a destination is disabled without its owner's doing. */
export interface AutoDisable {
  /** Answers that say that nobody is there any more. */
  readonly statuses: readonly number[]
  /** How long nothing but failures is borne, in ms of business time; null for ever. */
  readonly failingMsMax: number | null
}

/** The dialects that are spoken here; a destination of another one waits. */
export type Dialects = Readonly<Partial<Record<DialectName, Dialect>>>

const day = 24 * 60 * 60 * 1_000

/** Standard Webhooks 1.0. The bytes of the body are the same on every attempt, timestamp and signature are not. */
export function signedMessage(
  id: string,
  { body, keys, wallMs }: Pick<Outgoing, 'body' | 'keys' | 'wallMs'>,
): Prepared {
  if (keys.length === 0) throw new Error('the destination has no signing secret in force')
  const timestamp = Math.floor(wallMs / 1_000)
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': sign(keys, { id, timestamp, body }),
  }
  return { headers, body }
}

/** Area A. */
export const signed: Dialect = {
  prepare: (outgoing) => signedMessage(outgoing.eventId, outgoing),
  acknowledges: (status) => status >= 200 && status < 300,
  deadlineMs: 15_000,
  schedule: tenAttempts,
  autoDisable: { statuses: [410], failingMsMax: 5 * day },
}
