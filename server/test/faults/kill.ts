import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKaha } from '@kaha/sdk'
import { backendsIn, postmasterIn, withDatabase, type Query } from './database-of.ts'
import { eventually } from './eventually.ts'
import { comeToRest, lastWords, startKahaProcess, type KahaProcess } from './kaha-process.ts'
import { findLosses } from './losses.ts'
import { withMutation, type Mutation } from './mutation.ts'
import { startPayers, type Payers } from './payers.ts'
import { randomFrom } from './random.ts'
import { startVerifyingReceiver, type VerifyingReceiver } from './verifying-receiver.ts'

/**
 * Who is killed: the server, PostgreSQL's first process, or one of its connections (which makes it restart all of them). `restart` kills
 * nobody: PostgreSQL is asked to shut down, which it does in order, and is started again.
 */
export const victims = ['server', 'postmaster', 'backend', 'restart'] as const
export type Victim = (typeof victims)[number]

export interface KillOptions {
  readonly victim: Victim
  readonly rounds: number
  readonly seed: number
  readonly say: (line: string) => void
  /** For the control. */
  readonly mutation?: Mutation
  /** Looks at the platform after the check, while it still runs. */
  readonly afterwards?: (query: Query, check: () => Promise<string[]>) => Promise<void>
}

const payersCount = 8
const paymentsBetweenKills = 16
const killDelayMsMax = 250
const progressMsMax = 60_000
// A PostgreSQL that ends within two seconds of its start, five times in a row, is given up.
const restartsInARow = 4
const quickRunMs = 2_500
const failedDeliveries = 0.1
// Retries of an hour have been made by then.
const restSeconds = 3_600
const eventTypes = ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'] as const

/**
 * Kills with signal 9 (or restarts) at random instants while payers pay and a receiver listens, `rounds` times, starts again what does not
 * come back by itself, lets the platform come to rest and resolves to what was lost.
 */
export async function killUnderLoad(options: KillOptions): Promise<string[]> {
  const { victim, rounds, seed, say } = options
  const random = randomFrom(seed)
  await using held = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'kaha-kill-'))
  held.defer(() => rm(folder, { recursive: true, force: true }))
  const start = () => startKahaProcess({ dataDir: join(folder, 'data'), ...withMutation(options.mutation) })
  let kaha = await start()
  held.defer(() => kaha[Symbol.asyncDispose]())
  const receiver = held.use(await startVerifyingReceiver(() => random() < failedDeliveries))
  await register(kaha, receiver)

  const payers = startPayers({
    count: payersCount,
    random,
    client: () => merchant(kaha),
    branchReference: kaha.sandbox.merchants[0]?.branches[0]?.reference_number ?? '',
  })
  held.defer(() => payers.giveUp())
  for (let round = 1; round <= rounds; round += 1) {
    await progress(payers, kaha)
    if (victim === 'restart' && round % restartsInARow === 0) await sleep(quickRunMs)
    await sleep(random() * killDelayMsMax)
    await killNow(victim, kaha, random)
    if (victim === 'server') kaha = await start()
    say(
      `round ${round}: ${victim} ${victim === 'restart' ? 'of PostgreSQL' : 'killed'} after ${payers.payments} payments`,
    )
  }
  await progress(payers, kaha)
  await payers.stop()
  const { target } = postmasterIn(kaha.dataDir)
  await withDatabase(target, leasesRunOut)
  await comeToRest(kaha, restSeconds)
  const check = () =>
    withDatabase(target, (query) =>
      findLosses({ query, told: payers.told, events: eventsOf(kaha), delivered: receiver.seen }),
    )
  const losses = [...(await check()), ...receiver.wrong]
  const { receipts, intents, refunds } = payers.told
  say(
    `${intents.size} intents, ${receipts.size} acknowledged payments, ${refunds.size} refunds, ${receiver.seen.size} events, ` +
      `${sum(receiver.seen.values())} deliveries, ${losses.length} losses (seed ${seed})`,
  )
  const { afterwards } = options
  if (afterwards !== undefined) await withDatabase(target, (query) => afterwards(query, check))
  return losses
}

const merchant = ({ sandbox }: KahaProcess) =>
  createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.merchants[0]?.secret_key ?? '', timeoutMs: 20_000 })

const eventsOf = (kaha: KahaProcess) =>
  merchant(kaha).webhooks.listAllEvents({ branch_id: kaha.sandbox.merchants[0]?.branches[0]?.id ?? '', page_size: 100 })

async function register(kaha: KahaProcess, receiver: VerifyingReceiver): Promise<void> {
  const { webhooks } = merchant(kaha)
  const endpoint = await webhooks.createEndpoint({ url: receiver.url, enabled_events: [...eventTypes] })
  receiver.trust((await webhooks.retrieveSigningSecret(endpoint.id)).signing_secret)
}

/** Resolves when some more payments have come to an end: the platform is at work. */
async function progress(payers: Payers, kaha: KahaProcess): Promise<void> {
  const from = payers.payments
  try {
    const isAtWork = () => {
      if (kaha.hasEnded()) throw new Error('the server ended by itself')
      return payers.payments >= from + paymentsBetweenKills
    }
    await eventually(isAtWork, { waitMsMax: progressMsMax, pollMs: 5, what: 'payments' })
  } catch (error) {
    throw new Error(`nobody could pay any more: ${await lastWords(kaha.logPath)}`, { cause: error })
  }
}

async function killNow(victim: Victim, kaha: KahaProcess, random: () => number): Promise<void> {
  if (victim === 'server') return kaha.kill()
  if (victim === 'postmaster') return signal(postmasterIn(kaha.dataDir).pid)
  // A fast shutdown: transactions are rolled back, connections closed, everything is written.
  if (victim === 'restart') return signal(postmasterIn(kaha.dataDir).pid, 'SIGINT')
  const pids = await backendsIn(kaha.dataDir)
  signal(pids[Math.floor(random() * pids.length)] ?? 0)
}

function signal(pid: number, name: NodeJS.Signals = 'SIGKILL'): void {
  if (pid <= 1) throw new Error('there is no process to kill')
  try {
    process.kill(pid, name)
  } catch (error) {
    // A connection may have ended by itself meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Nobody waits for an answer any more: what the dead had in hand becomes free, as it would in 20 seconds. */
async function leasesRunOut(query: Query): Promise<void> {
  for (const table of ['payments.attempts', 'payments.refunds'])
    await query(`update ${table} set lease_until = clock_timestamp() where lease_until > clock_timestamp()`)
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, one) => total + one, 0)
