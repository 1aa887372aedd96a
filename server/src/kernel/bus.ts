import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { connectionConfig, statement, type Db, type DbTarget } from './db.ts'

/** What processes tell each other. A hint only says "look again"; the truth is always a row. */
export type Topic = 'clock' | 'keys' | 'payments' | 'events' | 'deliveries' | 'destinations'

/**
 * Hints between processes. In this process a hint is heard at once; elsewhere soon, or, where the line is down, not at all: whoever
 * listens also polls. After an outage every topic is hinted once, for whatever was missed.
 */
export interface Bus extends AsyncDisposable {
  hint(topic: Topic): void
  listen(topic: Topic, heard: () => void): () => void
  /** Whether hints of other processes arrive at present. */
  readonly connected: boolean
}

const channel = 'kaha'
const connectMsMax = 5_000
const notify = statement('kernel.notify', `select pg_notify('${channel}', $1)`)

export interface PostgresBusOptions {
  readonly db: Db
  readonly target: DbTarget
  readonly debounceMs?: number
  readonly reconnectMs?: number
  readonly onError: (error: Error) => void
}

export async function postgresBus(options: PostgresBusOptions): Promise<Bus> {
  const { db, target, onError, debounceMs = 20, reconnectMs = 250 } = options
  const self = randomUUID()
  const listeners = new Map<Topic, Set<() => void>>()
  const waiting = new Set<Topic>()
  let client: pg.Client | undefined
  let flushTimer: NodeJS.Timeout | undefined
  let reconnectTimer: NodeJS.Timeout | undefined
  let sending: Promise<unknown> = Promise.resolve()
  let closed = false

  const tell = (topic: Topic) => listeners.get(topic)?.forEach((heard) => heard())

  const flush = () => {
    flushTimer = undefined
    const topics = [...waiting]
    waiting.clear()
    sending = db.run(notify, [`${self} ${topics.join(' ')}`]).catch(onError)
  }

  const connect = async () => {
    const next = new pg.Client({ ...connectionConfig(target), connectionTimeoutMillis: connectMsMax })
    let lost = false
    const lose = (error?: Error) => {
      if (lost) return
      lost = true
      if (client === next) client = undefined
      if (error !== undefined && !closed) onError(error)
      void next.end().catch(() => {})
      if (!closed) reconnectTimer = setTimeout(() => void connect(), reconnectMs)
    }
    next.on('error', lose)
    next.on('end', () => lose())
    next.on('notification', ({ payload }) => {
      const [from, ...topics] = (payload ?? '').split(' ')
      if (from !== self) topics.forEach((topic) => tell(topic as Topic))
    })
    try {
      await next.connect()
      await next.query(`listen ${channel}`)
      if (closed) return lose()
      client = next
      for (const topic of listeners.keys()) tell(topic)
    } catch (error) {
      lose(error as Error)
    }
  }

  await connect()

  return {
    hint(topic) {
      tell(topic)
      if (closed) return
      waiting.add(topic)
      flushTimer ??= setTimeout(flush, debounceMs)
    },
    listen(topic, heard) {
      const set = listeners.get(topic) ?? new Set()
      listeners.set(topic, set.add(heard))
      return () => void set.delete(heard)
    },
    get connected() {
      return client !== undefined
    },
    async [Symbol.asyncDispose]() {
      if (flushTimer !== undefined) {
        clearTimeout(flushTimer)
        flush()
      }
      closed = true
      clearTimeout(reconnectTimer)
      await sending
      await client?.end().catch(() => {})
    },
  }
}
