import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Between } from '../nats.ts'
import { signedCall, type Keys } from '../till.ts'
import type { Answer } from '../conformance/call.ts'
import { startCardTerminal, type CardTerminalOptions } from './card-terminal.ts'
import { withDatabase } from './database-of.ts'
import { eventually } from './eventually.ts'
import { comeToRest, lastWords, type KahaProcess } from './kaha-process.ts'
import type { Mutation } from './mutation.ts'
import { oneInstallation } from './one-installation.ts'
import { randomFrom } from './random.ts'
import { moneyFaults, type Told } from './terminal-losses.ts'

export interface TerminalKillOptions {
  readonly between: Between
  readonly rounds: number
  readonly seed: number
  readonly say: (line: string) => void
  /** For the control. */
  readonly mutation?: Mutation
  readonly terminals?: Pick<CardTerminalOptions, 'approvedShare' | 'workMsMax' | 'backMsMin'>
}

const paymentsBetweenKills = 8
const killDelayMsMax = 250
const progressMsMax = 60_000
const voidedShare = 0.2
const againMs = 25
// Every terminal has been asked by then what it must be asked.
const restSeconds = 300
const roles = 'api,gateway,worker'

/**
 * Two processes on one database, tills that pay at either and terminals that hang on either. Kills one of the two with signal 9 while a
 * terminal of its own is in mid-payment, `rounds` times, and starts another in its place. Resolves to what should not be, a sentence each.
 */
export async function killBetweenTerminals(options: TerminalKillOptions): Promise<string[]> {
  const { between, rounds, seed, say, mutation } = options
  const manner = options.terminals ?? { approvedShare: 0.8, workMsMax: 300, backMsMin: 0 }
  const random = randomFrom(seed)
  await using held = new AsyncDisposableStack()
  const settings = await between.settings({ after: (close) => held.defer(close) })
  const { target, start } = await oneInstallation(held, mutation, settings)
  const running: KahaProcess[] = await Promise.all([start(roles), start(roles)])
  const addresses = () => running.map(({ sandbox }) => sandbox.base_url)

  const pairs = (running[0]?.sandbox.merchants ?? []).flatMap(({ terminal_group: { desktop, terminals } }) =>
    terminals.map((keys) => ({ desktop, keys })),
  )
  const terminals = pairs.map(({ keys }) => held.use(startCardTerminal(keys, { addresses, random, ...manner })))
  const tills = startTills({
    pairs: pairs.map(({ desktop, keys }) => ({ desktop, deviceId: keys.device_id })),
    addresses,
    random,
  })
  held.defer(() => tills.stop())

  for (let round = 1; round <= rounds; round += 1) {
    await progress(tills, running)
    await sleep(random() * killDelayMsMax)
    const busy = await eventually(() => terminals.find(({ worksAt }) => worksAt !== undefined)?.worksAt, {
      pollMs: 1,
      what: 'a terminal at work',
    })
    const victim = running.findIndex(({ sandbox }) => sandbox.base_url === busy)
    const killed = running.splice(victim, 1)
    await Promise.all(killed.map((one) => one.kill()))
    say(`round ${round}: the process of a terminal at work killed after ${tills.payments} payments`)
    // The other one carries on alone.
    await progress(tills, running)
    if (round < rounds) running.push(await start(roles))
  }
  await tills.stop()
  const [kaha] = running
  if (kaha === undefined) throw new Error('nobody runs')
  await comeToRest(kaha, restSeconds)
  const { told, wrongAnswers } = tills
  const faults = [...wrongAnswers, ...(await withDatabase(target, (query) => moneyFaults({ query, told, terminals })))]
  const counts = Object.entries(Object.groupBy(told.values(), (one) => one))
  say(
    `told: ${counts.map(([what, all]) => `${all?.length ?? 0} ${what}`).join(', ')}; ${faults.length} faults (seed ${seed})`,
  )
  return faults
}

interface Tills {
  readonly told: ReadonlyMap<string, Told>
  /** Answers that no till should get. */
  readonly wrongAnswers: readonly string[]
  /** Payments that came to an end so far. */
  readonly payments: number
  /** Ends what is under way and begins nothing more. */
  stop(): Promise<void>
}

/** A till for each terminal, which pays there again and again as a good client does: it repeats what it got no answer to, at either process. */
function startTills(options: {
  readonly pairs: readonly { readonly desktop: Keys; readonly deviceId: string }[]
  readonly addresses: () => readonly string[]
  readonly random: () => number
}): Tills {
  const { pairs, addresses, random } = options
  const told = new Map<string, Told>()
  const wrongAnswers: string[] = []
  const stopping = new AbortController()
  let payments = 0

  /** Asks until there is an answer that says something: the same request cannot have two outcomes. */
  const insist = async (desktop: Keys, path: string, body: unknown): Promise<Answer> => {
    for (;;) {
      const all = addresses()
      const url = all[Math.floor(random() * all.length)]
      const answer =
        url === undefined
          ? undefined
          : await signedCall(url, desktop, { method: 'POST', path, body }).catch(() => undefined)
      if (answer !== undefined && answer.json?.error?.code !== 'UNAVAILABLE') return answer
      await sleep(againMs)
    }
  }

  const pay = async (desktop: Keys, deviceId: string): Promise<void> => {
    const transactionId = randomUUID()
    const body = { amount: '150.00', currency: 'PHP', paymentMethod: 'CARD', transactionId }
    const answer = await insist(desktop, `/v1/terminals/${deviceId}/payments`, body)
    const outcome = toldBy(answer)
    if (outcome === undefined) return void wrongAnswers.push(`a till was told ${answer.status} ${answer.text}`)
    told.set(transactionId, outcome)
    if (outcome === 'never begun') return sleep(againMs)
    payments += 1
    if (outcome !== 'paid' || random() >= voidedShare) return
    told.set(transactionId, 'paid, void unknown')
    const { json } = await insist(desktop, `/v1/transactions/${transactionId}/void`, {})
    if (json?.success === true) told.set(transactionId, 'voided')
  }

  const till = async (desktop: Keys, deviceId: string) => {
    while (!stopping.signal.aborted) await pay(desktop, deviceId)
  }
  const ended = Promise.all(pairs.map(({ desktop, deviceId }) => till(desktop, deviceId)))
  return {
    told,
    wrongAnswers,
    get payments() {
      return payments
    },
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

function toldBy({ status, json }: Answer): Told | undefined {
  const code: unknown = json?.error?.code
  if (status === 200 && json.status === 'SUCCESS') return 'paid'
  if (status === 200 && ['FAILED', 'CANCELLED'].includes(json.status as string)) return 'not paid'
  if (status === 502 || status === 504) return 'not paid'
  if (['TERMINAL_OFFLINE', 'TERMINAL_NOT_FOUND', 'PAYMENT_IN_PROGRESS'].includes(String(code))) return 'never begun'
  return undefined
}

/** Resolves when some more payments have come to an end. */
async function progress(tills: Tills, running: readonly KahaProcess[]): Promise<void> {
  const from = tills.payments
  try {
    const isAtWork = () => {
      if (running.some((kaha) => kaha.hasEnded())) throw new Error('a process ended by itself')
      return tills.payments >= from + paymentsBetweenKills
    }
    await eventually(isAtWork, { waitMsMax: progressMsMax, pollMs: 5, what: 'payments' })
  } catch (error) {
    const words = await Promise.all(running.map(({ logPath }) => lastWords(logPath)))
    throw new Error(`nobody could pay any more: ${words.join('\n')}`, { cause: error })
  }
}
