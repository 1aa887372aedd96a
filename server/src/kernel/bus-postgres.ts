import pg from 'pg'
import { busOver, hintLine, type Bus, type BusOptions, type Kind, type Line, type Topic } from './bus.ts'
import { connectionConfig, statement, type Db, type DbTarget } from './db.ts'
import { createTurns } from './turns.ts'

const channels: Readonly<Record<Kind, string>> = { hints: 'kaha', words: 'kaha_words' }

// Nobody needs to find what was said after a crash: it is not waited for the disk.
const unsynced = `set_config('synchronous_commit', 'off', true)`
const notify: Readonly<Record<Kind, ReturnType<typeof statement>>> = {
  hints: statement(
    'kernel.notify',
    `select ${unsynced}, pg_notify('${channels.hints}', line) from unnest($1::text[]) line`,
  ),
  words: statement(
    'kernel.notifyWords',
    `select ${unsynced}, pg_notify('${channels.words}', line) from unnest($1::text[]) line`,
  ),
}

/**
 * One hint by whoever has no bus, such as a command. Processes that hear each other over NATS do not hear it, and look by themselves within a
 * second.
 */
export const hintOnce = (db: Db, topic: Topic): Promise<unknown> => db.run(notify.hints, [[hintLine('once', [topic])]])

export interface PostgresBusOptions extends BusOptions {
  readonly db: Db
  readonly target: DbTarget
  /** For the connection, and then for the first answer on it. */
  readonly connectMsMax?: number
  /** How often PostgreSQL is asked whether the line is still there. */
  readonly pingMs?: number
}

/** A bus by LISTEN, on a connection of its own, and NOTIFY, outside of any transaction. */
export const postgresBus = (options: PostgresBusOptions): Promise<Bus> => busOver(postgresLine(options), options)

function postgresLine({ db, target, connectMsMax = 5_000, pingMs = 5_000 }: PostgresBusOptions): Line {
  // One statement after the other: words keep their order.
  const inTurn = createTurns()
  return {
    send: (kind, payloads) => inTurn(() => db.run(notify[kind], [payloads])),

    async open(heard) {
      const client = new pg.Client({ ...connectionConfig(target), connectionTimeoutMillis: connectMsMax })
      let pings: NodeJS.Timeout | undefined
      let cut = (_error: Error) => {}
      const broken = new Promise<Error>((resolve) => {
        cut = (error) => {
          clearInterval(pings)
          // A goodbye would wait for whoever does not answer.
          client.connection.stream.destroy()
          resolve(error)
        }
        client.on('error', cut)
        client.on('end', () => cut(new Error('PostgreSQL closed the line for hints')))
      })
      client.on('notification', ({ channel, payload = '' }) =>
        heard(channel === channels.words ? 'words' : 'hints', payload),
      )
      try {
        await client.connect()
        // A pooler takes a connection though it has none to the database.
        const listen = { text: `listen ${channels.hints}; listen ${channels.words}`, query_timeout: connectMsMax }
        await client.query(listen)
      } catch (error) {
        cut(error as Error)
        throw error
      }
      let unanswered = false
      pings = setInterval(() => {
        if (unanswered) return cut(new Error('PostgreSQL does not answer on the line for hints'))
        unanswered = true
        client.query('select').then(() => (unanswered = false), cut)
      }, pingMs)
      return {
        broken,
        async close() {
          clearInterval(pings)
          await client.end().catch(() => {})
        },
      }
    },
  }
}
