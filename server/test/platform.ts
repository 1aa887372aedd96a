import { randomBytes, randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { createKaha, type Kaha as KahaClient } from '@kaha/sdk'
import { isSandbox, startKaha, type Choices, type SandboxKaha } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { DbTarget } from '../src/kernel/db.ts'
import { createLog } from '../src/kernel/log.ts'
import { createSandboxClock } from '../src/sandbox/clock.ts'
import { ensureSeed, type Seed, type SeededBranch, type SeededMerchant } from '../src/sandbox/seed.ts'
import { freshDatabase } from './cluster.ts'
import { startReceiver, type Receiver } from './receiver.ts'

export const cards = {
  approved: '4242424242424242',
  declined: '4000000000000002',
  insufficientFunds: '4000000000009995',
  error: '4000000000000119',
  unavailable: '5500000000000194',
  ineligible: '5200000000000197',
  challenge: '4000002500003155',
  slow: '4000000000000259',
  noAnswer: '4000000000004954',
} as const

/** A whole platform for one test: the server as in production, on a database of its own, and people to use it. */
export interface Platform {
  readonly kaha: SandboxKaha
  readonly target: DbTarget
  readonly masterKey: Buffer
  readonly seed: Seed
  readonly merchant: SeededMerchant
  readonly branch: SeededBranch
  /** The first merchant's client. */
  readonly sdk: KahaClient
  /** A client with any key. */
  as(secretKey: string): KahaClient
  readonly receiver: Receiver
  readonly url: string
  /** Everything that was logged. */
  readonly logged: string[]
  /** Resolves when nothing is due and nothing is in flight. */
  idle(): Promise<void>
  advance(seconds: number): Promise<void>
  /** Makes a link. */
  link(fields?: Record<string, unknown>): Promise<{ id: string; url: string; amount: number }>
  /** Makes an intent of its own and confirms it; resolves when the platform is idle. */
  pay(fields?: { card?: string; amount?: number; linkId?: string }): ReturnType<KahaClient['paymentIntents']['confirm']>
  /** A second process on the same database. */
  another(settings?: Record<string, string>, choices?: Choices): Promise<SandboxKaha>
}

export interface PlatformOptions {
  readonly settings?: Readonly<Record<string, string>>
  readonly choices?: Choices
  readonly database?: DbTarget
}

export const cardOf = (number: string = cards.approved) => ({
  number,
  exp_month: 12,
  exp_year: 2060,
  cvc: /^3[47]/.test(number) ? '1234' : '123',
})
export const newKey = (): string => randomUUID()

function capture(into: string[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      into.push(chunk.toString())
      done()
    },
  })
}

export async function platform(
  t: { after(close: () => Promise<void>): void },
  options: PlatformOptions = {},
): Promise<Platform> {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const target = options.database ?? held.use(await freshDatabase()).target
  const logged: string[] = []
  const masterKey = randomBytes(32)
  const start = async (settings: Readonly<Record<string, string>>, choices: Choices | undefined) => {
    const kaha = await startKaha({
      config: readConfig({ KAHA_PORT: '0', KAHA_RATE_LIMIT: '0', ...settings }),
      target,
      masterKey,
      log: createLog('info', capture(logged)),
      choices: { leaveMs: 0, ...choices },
    })
    if (isSandbox(kaha)) return kaha
    // A live platform has no such clock; its tests still wait for it to come to rest.
    const { db, bus, clock, delivery } = kaha
    const ensurePartitions = (around: Date) => delivery.ensurePartitions(around)
    return { ...kaha, sandboxClock: createSandboxClock({ db, bus, clock, ensurePartitions }) }
  }

  const receiver = held.use(await startReceiver())
  const kaha = held.use(await start(options.settings ?? {}, options.choices))
  const seed = await ensureSeed(kaha)
  const [merchant] = seed.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) throw new Error('the seed has no merchant')
  const as = (apiKey: string) => createKaha({ baseUrl: kaha.localUrl, apiKey })
  const sdk = as(merchant.secret_key)

  const idle = () => kaha.sandboxClock.idle()
  return {
    kaha,
    target,
    masterKey,
    seed,
    merchant,
    branch,
    sdk,
    as,
    receiver,
    url: kaha.localUrl,
    logged,
    idle,
    advance: (seconds) => kaha.sandboxClock.advanceBy(seconds * 1000),
    link: (fields = {}) =>
      sdk.paymentLinks.create({
        type: 'one_time',
        currency: 'PHP',
        amount: 9800,
        line_items: [{ sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }],
        merchant_branch_reference_number: branch.reference_number,
        ...fields,
      }),
    async pay({ card = cards.approved, amount = 9800, linkId } = {}) {
      const intent = await sdk.paymentIntents.create(
        linkId === undefined
          ? { amount, currency: 'PHP', merchant_branch_reference_number: branch.reference_number }
          : { payment_link_id: linkId },
      )
      const confirmed = await sdk.paymentIntents.confirm(intent.id, {
        payment_method: { type: 'card', card: cardOf(card) },
      })
      await idle()
      return confirmed
    },
    async another(settings = {}, choices) {
      return held.use(await start(settings, choices))
    },
  }
}
