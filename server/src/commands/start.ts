import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSandbox, refusedInLive, startKaha, type Kaha, type SandboxKaha } from '../app.ts'
import { hostAndPort, localUrlOf, type Addresses } from '../addresses.ts'
import { unknownSettings, type Config } from '../config.ts'
import { openDataDir } from '../kernel/data-dir.ts'
import { openLogFile } from '../kernel/log-file.ts'
import { logDestination } from '../kernel/log-destination.ts'
import { createLog, type Log } from '../kernel/log.ts'
import type { StoryDependencies } from '../sandbox/story.ts'
import { masterKeyIn } from './data-dir.ts'
import { migrateOrExplain, openDatabase } from './database.ts'
import { untilAskedToStop } from './signals.ts'
import { greet, noSetting, ofProcess, say, version, warn, type Greeting, type Story } from './words.ts'

const stopMsMax = 5_000
const drainMsMax = 4_000

/** Runs the platform until it is asked to stop. Everything opened here is closed in reverse, within five seconds. */
export async function start(
  config: Config,
  options: { empty: boolean; env: Readonly<Record<string, string | undefined>> },
): Promise<void> {
  const asked = untilAskedToStop()
  const ending = new AbortController()
  // A piece of work that does not end must keep neither the program from ending nor its database from being stopped in order.
  const endInTime = async () => {
    const reason = await asked.stopped
    ending.abort()
    setTimeout(() => process.exit(reason === undefined ? 0 : 1), stopMsMax).unref()
  }
  void endInTime()
  // Whoever read what we say may have gone; that is no reason to stop.
  process.stdout.on('error', () => {})
  if (config.mode === 'sandbox') openDataDir(config.dataDir)
  const masterKey = config.masterKey ?? (await masterKeyIn(config.dataDir))
  const logPath = logPathOf(config)
  const log = openLog(config, logPath)
  // Node's own way is a few lines of text among those of the log.
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ err: warning }, 'a warning of Node or of a library'))
  for (const line of [...unknownSettings(options.env).map(noSetting), ...fewFiles()]) {
    if (logPath === undefined) log.warn(line)
    else warn(line)
  }
  await using running = new AsyncDisposableStack()
  const database = running.use(
    await openDatabase(config, {
      log: (line) => log.info(line),
      warn: (line) => log.warn(line),
      onFatal(error) {
        log.fatal(error.message)
        asked.stop(error)
      },
      signal: asked.signal,
    }),
  )
  await migrateOrExplain(database.target, { signal: asked.signal, tell: (line) => log.info(line) })
  let greeted = false
  const kaha = running.use(
    await startKaha({
      config,
      target: database.target,
      masterKey,
      log,
      arrived: ({ type }) => greeted && say(`webhook ${type} arrived at the inbox, signature verified`),
    }),
  )
  tellStart(log, config, kaha)
  if (isSandbox(kaha)) {
    // A stop does not wait for the story, which fails with the platform that it asks.
    const opening = openSandbox(running, kaha, config, options.empty, ending.signal)
    const greeting = await Promise.race([opening, asked.stopped.then(() => undefined)])
    if (greeting !== undefined) greet({ ...greeting, logPath })
  } else {
    say(`Kaha is running in live mode on ${kaha.addresses.base}. ${refusedInLive(config).replace(/^n/, 'N')}.`)
    say(ofProcess(config.roles, kaha.addresses))
  }
  greeted = true

  const reason = await asked.stopped
  log.info('Kaha is stopping')
  if (reason === undefined) say('\nStopping…')
  await Promise.race([kaha[Symbol.asyncDispose](), sleep(drainMsMax, undefined, { ref: false })])
  if (reason !== undefined) throw reason
}

// Deliveries alone may take half of them.
const filesMin = 4_096

/** Where this process may open so few files that it would cut connections, a line that says so; nothing where the system does not tell. */
function fewFiles(): string[] {
  const path = '/proc/self/limits'
  const files = existsSync(path) && /^Max open files\s+(\d+)/m.exec(readFileSync(path, 'utf8'))?.[1]
  if (!files || BigInt(files) >= filesMin) return []
  return [
    `this process may open ${files} files, and cuts connections beyond that without a word: raise \`ulimit -Hn\`, to ${filesMin} at least`,
  ]
}

/** For whoever reads the logs of several processes: which of them this is. */
function tellStart(
  log: Log,
  { mode, roles, metrics }: Config,
  { name, addresses: { base, listening } }: Pick<Kaha, 'name' | 'addresses'>,
): void {
  const ofMetrics = typeof metrics === 'string' ? metrics : hostAndPort(metrics.host, metrics.port)
  log.info({ version: version(), process: name, mode, roles, listening, metrics: ofMetrics, base }, 'Kaha is running')
}

async function openSandbox(
  running: AsyncDisposableStack,
  kaha: SandboxKaha,
  config: Config,
  empty: boolean,
  ending: AbortSignal,
): Promise<Omit<Greeting, 'logPath'>> {
  const { ensureSeed, takeStory } = await import('../sandbox/seed.ts')
  const { writeSandboxFile } = await import('../sandbox/file.ts')
  const { isHeard, moveInbox } = await import('../sandbox/inbox.ts')
  const { linkToTry } = await import('../sandbox/story.ts')
  const { addresses, db, clock, keyring } = kaha
  const seed = await ensureSeed({ db, clock, keyring })
  const told = {
    inbox: config.webhookTargets === 'any',
    localUrl: kaha.localUrl,
    seed,
    currency: config.currencies[0] ?? 'PHP',
    idle: () => kaha.sandboxClock.idle(),
  }
  if (config.roles.includes('api')) {
    const moved = seed.merchants.map(({ id }) => moveInbox(kaha.delivery, id, kaha.localUrl))
    await orWarn('the new address of the inbox', Promise.all(moved), ending)
  }
  const allHere = config.roles.length === 3
  // Also where it is not played: a later start would play it in a sandbox that is in use.
  const isFirst = (await takeStory(db)) && allHere
  const story = isFirst && !empty ? await playStory(told, kaha, config, ending) : nothingTold
  const link =
    empty || !config.roles.includes('api')
      ? undefined
      : await orWarn('the link to try', linkToTry(told, clock.now()), ending)
  const [first] = seed.merchants
  const inboxHears =
    told.inbox &&
    first !== undefined &&
    (await orWarn('the inbox', isHeard(kaha.delivery, first.id, kaha.localUrl), ending)) === true
  ending.throwIfAborted()
  // Clients look for the API there, and a process without it may share the data directory of one that has it.
  if (config.roles.includes('api')) {
    const all = { ...addresses, metrics: metricsUrl(config, addresses) }
    running.defer(await writeSandboxFile(config.dataDir, all, seed))
  }
  return {
    addresses,
    roles: config.roles,
    seed,
    currency: told.currency,
    link,
    inboxHears,
    story,
    dataDir: config.dataDir,
  }
}

const nothingTold: Story = { order: false, sale: false, drop: false, code: false }

/** Plays the story of a new sandbox; without its first part there is none of the others. */
async function playStory(
  told: StoryDependencies,
  { clock }: SandboxKaha,
  { terminalCurrencies: taken }: Config,
  ending: AbortSignal,
): Promise<Story> {
  const { tellStory } = await import('../sandbox/story.ts')
  const { payByQr } = await import('../sandbox/story-qr.ts')
  const { dropAtTerminal, sellAtTerminal } = await import('../sandbox/story-terminal.ts')
  if (!(await isDone('the story', tellStory(told, clock.now()), ending))) return nothingTold
  const currency = taken.includes(told.currency) ? told.currency : (taken[0] ?? 'PHP')
  const till = { ...told, currency, wall: clock.wall }
  const sale = await isDone('the sale at a terminal', sellAtTerminal(till), ending)
  const dropped = await orWarn('the sale whose terminal drops', dropAtTerminal(till, ending), ending)
  if (dropped !== undefined) void tellEnd(dropped, ending)
  const code = await isDone('the payment by QR Ph', payByQr(told), ending)
  return { order: true, sale, drop: dropped !== undefined, code }
}

/** The end of the story comes 75 s after its beginning; a start does not wait for it. */
async function tellEnd(
  { amount, voided }: { readonly amount: string; voided(): Promise<void> },
  ending: AbortSignal,
): Promise<void> {
  try {
    await voided()
    say(`the terminal that lost its line is back, too late: its approval of ${amount} is VOIDED`)
  } catch (error) {
    if (!ending.aborted) warn(`the end of the story was left out: ${reasonOf(error)}`)
  }
}

/** What only adorns a start does not prevent it; what a stop cuts short is not told of. */
const orWarn = <T>(what: string, telling: Promise<T>, ending: AbortSignal): Promise<T | undefined> =>
  telling.catch((error: unknown) => {
    if (!ending.aborted) warn(`${what} was left out: ${reasonOf(error)}`)
    return undefined
  })

/** Of `fetch failed` the cause tells more, as that it blocks the port. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}

const isDone = async (what: string, telling: Promise<void>, ending: AbortSignal): Promise<boolean> =>
  (await orWarn(
    what,
    telling.then(() => true),
    ending,
  )) === true

function metricsUrl({ metrics }: Config, { base }: Addresses): string {
  if (metrics === 'off') return ''
  return metrics === 'main' ? `${base}/metrics` : `${localUrlOf(metrics.host, metrics.port)}/metrics`
}

/** Where a person reads what we say, the log goes to a file; anywhere else it is what standard error is for. */
const logPathOf = ({ mode, dataDir }: Config): string | undefined =>
  mode === 'live' || !process.stderr.isTTY ? undefined : join(dataDir, 'kaha.log')

function openLog({ logLevel }: Config, path: string | undefined): Log {
  if (path === undefined) return createLog(logLevel)
  return createLog(logLevel, logDestination(openLogFile(path).fd))
}
