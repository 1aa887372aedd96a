import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Bus } from './bus.ts'
import { statement, type Queries } from './db.ts'
import type { Log } from './log.ts'
import { startLoop } from './loop.ts'

/** A process that works with the database now. */
export interface ProcessRow {
  readonly name: string
  readonly roles: string
  /** Where it is, as the database sees it; null where it came by a socket of the machine. */
  readonly address: string | null
}

const everyMsUsual = 5_000
const silenceMsUsual = 20_000
// A session's name has 63 bytes, of which the roles take 24 at most.
const hostCharacters = 24

/** What hardly any other process is called: its number, a few digits by chance, and its host. */
export const newProcessName = (): string => `${process.pid}.${randomBytes(2).toString('hex')}@${hostIn(hostname())}`

/** Of a host's name the end of its first part: that is where those of one kind differ. */
export const hostIn = (name: string): string =>
  name
    .replace(/\..*/, '')
    .replaceAll(/[^\w-]/g, '-')
    .slice(-hostCharacters)

/** How a process names its sessions in the database, for `pg_stat_activity` and for `listProcesses`. */
export const sessionNameOf = (roles: readonly string[], name: string): string => `kaha ${roles.join(',')} ${name}`

// Each asks the database for the time once a second. Sessions of a host that is gone may stand there for hours.
const list = statement(
  'kernel.listProcesses',
  `select split_part(application_name, ' ', 3) as name, split_part(application_name, ' ', 2) as roles, host(min(client_addr)) as address
     from pg_stat_activity
    where datname = current_database() and application_name ~ '^kaha [a-z,]+ [^ ]+$'
    group by application_name having max(state_change) > clock_timestamp() - interval '15 seconds' order by 1`,
)

/** The processes that have used the database within 15 s, by name. Sessions that this user of PostgreSQL may not look at are left out. */
export const listProcesses = (on: Queries): Promise<ProcessRow[]> => on.run<ProcessRow>(list, [])

/** What is seen of the others. */
export interface Watched {
  /** How many work with the database and have not been heard for a while. */
  readonly unheard: number
}

/**
 * Says on the bus that this process is there, and looks whether all who work with the database are heard: two lines, as some with a broker and some
 * without, do not break, and nobody would be told of it. While its own line is down a process counts nobody. `silenceMs` is how long one that is there
 * may say nothing.
 */
export function watchProcesses({
  db,
  bus,
  log,
  name,
  everyMs = everyMsUsual,
  silenceMs = silenceMsUsual,
}: {
  readonly db: Queries
  readonly bus: Bus
  readonly log: Log
  readonly name: string
  readonly everyMs?: number
  readonly silenceMs?: number
}): Watched & AsyncDisposable {
  // When each was last heard, or first seen.
  const heardAt = new Map<string, number>()
  const forget = bus.hear('processes', ([one = '']) => heardAt.set(one, performance.now()))
  let unheard: readonly string[] = []
  let lookedAt = performance.now()

  const loop = startLoop('processes', { log }, async () => {
    bus.say('processes', [name])
    const others = bus.connected ? (await listProcesses(db)).map((row) => row.name).filter((one) => one !== name) : []
    const now = performance.now()
    // Whoever was asleep has heard nobody meanwhile.
    if (now - lookedAt > silenceMs) heardAt.clear()
    lookedAt = now
    for (const one of heardAt.keys()) if (!others.includes(one)) heardAt.delete(one)
    for (const one of others) if (!heardAt.has(one)) heardAt.set(one, now)
    const silent = others.filter((one) => now - (heardAt.get(one) ?? now) > silenceMs)
    if (silent.some((one) => !unheard.includes(one)))
      log.warn(
        { processes: silent },
        'processes on this database are not heard: their line is down, as their own logs tell, or their KAHA_NATS_URL is another',
      )
    if (silent.length === 0 && unheard.length > 0) log.info('all processes on this database are heard')
    unheard = silent
    return everyMs
  })
  return {
    get unheard() {
      return unheard.length
    },
    async [Symbol.asyncDispose]() {
      forget()
      await loop[Symbol.asyncDispose]()
    },
  }
}
