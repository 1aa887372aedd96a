import { openSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { startKaha, type Kaha } from '../app.ts'
import type { Addresses } from '../addresses.ts'
import { unknownSettings, type Config } from '../config.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { masterKeyIn } from './data-dir.ts'
import { migrateOrExplain, openDatabase } from './database.ts'
import { untilAskedToStop } from './signals.ts'
import { greet, say } from './words.ts'

const stopMsMax = 5_000

/** Runs the platform until it is asked to stop. Everything opened here is closed in reverse, within five seconds. */
export async function start(
  config: Config,
  options: { empty: boolean; env: Readonly<Record<string, string | undefined>> },
): Promise<void> {
  const asked = untilAskedToStop()
  const log = openLog(config)
  for (const name of unknownSettings(options.env))
    log.warn({ setting: name }, 'there is no such setting; kaha start --help lists them')
  await using running = new AsyncDisposableStack()
  const masterKey = config.masterKey ?? (await masterKeyIn(config.dataDir))
  const database = running.use(
    await openDatabase(config, {
      log: (line) => log.info(line),
      onFatal: (error) => asked.stop(error),
    }),
  )
  await migrateOrExplain(database.target)
  const kaha = running.use(
    await startKaha({
      config,
      target: database.target,
      masterKey,
      log,
      arrived: ({ type }) => say(`webhook ${type} arrived at the inbox, signature verified`),
    }),
  )
  if (config.mode === 'sandbox') await openSandbox(running, kaha, config, options.empty)
  else
    say(
      `Kaha is running in live mode on ${kaha.addresses.base}. No card connector is configured: card payments are refused.`,
    )

  const reason = await asked.stopped
  // A piece of work that does not end must not keep the program from ending; the database recovers what it left.
  setTimeout(() => process.exit(reason === undefined ? 0 : 1), stopMsMax).unref()
  if (reason !== undefined) throw reason
}

async function openSandbox(running: AsyncDisposableStack, kaha: Kaha, config: Config, empty: boolean): Promise<void> {
  const { ensureSeed, takeStory } = await import('../sandbox/seed.ts')
  const { writeSandboxFile } = await import('../sandbox/file.ts')
  const { linkToTry, tellStory } = await import('../sandbox/story.ts')
  const { addresses, db, clock, keyring } = kaha
  const seed = await ensureSeed({ db, clock, keyring })
  const told = { localUrl: kaha.localUrl, seed, idle: () => kaha.sandboxClock.idle() }
  if (!empty && config.roles.includes('api') && config.roles.includes('worker') && (await takeStory(db)))
    await tellStory(told, clock.now())
  const link = empty || !config.roles.includes('api') ? undefined : await linkToTry(told, clock.now())
  const remove = await writeSandboxFile(
    config.dataDir,
    { ...named(addresses), metrics: metricsUrl(config, addresses) },
    seed,
  )
  running.defer(remove)
  greet({ addresses, seed, link, dataDir: config.dataDir })
}

const named = ({ base, terminal, terminalWs, webhooks, qr, checkout, dashboard, sandbox }: Addresses) => ({
  base,
  terminal,
  terminalWs,
  webhooks,
  qr,
  checkout,
  dashboard,
  sandbox,
})

function metricsUrl({ metrics }: Config, { base }: Addresses): string {
  if (metrics === 'off') return ''
  return metrics === 'main' ? `${base}/metrics` : `http://${metrics.host}:${metrics.port}/metrics`
}

/** Where a person reads what we say, the log goes to a file; anywhere else it is what standard error is for. */
function openLog(config: Config): Log {
  if (config.mode === 'live' || !process.stderr.isTTY) return createLog(config.logLevel)
  const file = openSync(join(config.dataDir, 'kaha.log'), 'a', 0o600)
  return createLog(config.logLevel, pino.destination({ fd: file, sync: false }))
}
