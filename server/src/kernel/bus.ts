import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { connectionConfig, statement, type Db, type DbTarget } from './db.ts'

/** What processes tell each other. A hint only says "look again"; the truth is always a row. */
export type Topic = 'clock' | 'keys' | 'payments' | 'events' | 'deliveries' | 'destinations' | 'terminals'

/** Ids and names of what happened, never data: none has a space or a line feed in it. */
export type Words = readonly string[]

/**
 * Hints between processes. In this process a hint is heard at once; elsewhere soon, or, where the line is down, not at all: whoever
 * listens also polls. After an outage every topic is hinted once, for whatever was missed.
 */
export interface Bus extends AsyncDisposable {
  hint(topic: Topic): void
  listen(topic: Topic, heard: () => void): () => void
  /**
   * Says a few words to whoever hears the topic, in their order: in this process at once, elsewhere soon. They are lost where the line is
   * down; the hint of the topic that comes after an outage stands for all of them.
   */
  say(topic: Topic, words: Words): void
  hear(topic: Topic, heard: (words: Words) => void): () => void
  /** Whether hints of other processes arrive at present. */
  readonly connected: boolean
}

const channel = 'kaha'
const wordsChannel = 'kaha_words'
// PostgreSQL takes 7,999 bytes.
const wordsBytesMax = 7_900
const connectMsMax = 5_000
const notify = statement('kernel.notify', `select pg_notify('${channel}', $1)`)
const notifyWords = statement(
  'kernel.notifyWords',
  `select pg_notify('${wordsChannel}', line) from unnest($1::text[]) line`,
)

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
  const hearers = new Map<Topic, Set<(words: Words) => void>>()
  const waiting = new Set<Topic>()
  let saying: string[] = []
  let client: pg.Client | undefined
  let flushTimer: NodeJS.Timeout | undefined
  let reconnectTimer: NodeJS.Timeout | undefined
  let sending: Promise<unknown> = Promise.resolve()
  let closed = false

  const tell = (topic: Topic) => listeners.get(topic)?.forEach((heard) => heard())

  const tellWords = (topic: Topic, words: Words) => hearers.get(topic)?.forEach((heard) => heard(words))

  const flushWords = () => {
    if (saying.length === 0) return
    const lines = packed(saying, self)
    saying = []
    // One statement after the other: words keep their order.
    sending = sending.then(() => db.run(notifyWords, [lines])).catch(onError)
  }

  const flush = () => {
    flushTimer = undefined
    const topics = [...waiting]
    waiting.clear()
    sending = sending.then(() => db.run(notify, [`${self} ${topics.join(' ')}`])).catch(onError)
  }

  const hearWords = (payload: string) => {
    const [from, ...said] = payload.split('\n')
    if (from === self) return
    for (const one of said) {
      const [topic, ...words] = one.split(' ')
      tellWords(topic as Topic, words)
    }
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
    next.on('notification', ({ channel: line, payload }) => {
      if (line === wordsChannel) return hearWords(payload ?? '')
      const [from, ...topics] = (payload ?? '').split(' ')
      if (from !== self) topics.forEach((topic) => tell(topic as Topic))
    })
    try {
      await next.connect()
      await next.query(`listen ${channel}; listen ${wordsChannel}`)
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
    say(topic, words) {
      tellWords(topic, words)
      if (closed) return
      if (saying.length === 0) setImmediate(flushWords)
      saying.push([topic, ...words].join(' '))
    },
    hear(topic, heard) {
      const set = hearers.get(topic) ?? new Set()
      hearers.set(topic, set.add(heard))
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
      flushWords()
      closed = true
      clearTimeout(reconnectTimer)
      await sending
      await client?.end().catch(() => {})
    },
  }
}

/** Lines for one notification each, as many as fit into it, after the name of who says them. */
function packed(lines: readonly string[], self: string): string[] {
  const all: string[] = []
  let one = self
  for (const line of lines) {
    if (Buffer.byteLength(one) + Buffer.byteLength(line) + 1 > wordsBytesMax) {
      all.push(one)
      one = self
    }
    one += `\n${line}`
  }
  return [...all, one]
}
