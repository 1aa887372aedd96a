import { setTimeout as sleep } from 'node:timers/promises'
import { KahaConnectionError, KahaError, type Kaha as KahaClient } from '@kaha/sdk'

type Intent = Awaited<ReturnType<KahaClient['paymentIntents']['retrieve']>>
export type Receipt = NonNullable<Intent['receipt']>
export type Refund = Awaited<ReturnType<KahaClient['refunds']['retrieve']>>

/** What a crowd of payers was told. Whatever is in here was acknowledged: it must be true for ever. */
export interface Told {
  /** The intent of each Idempotency-Key. */
  readonly intents: ReadonlyMap<string, string>
  /** Receipts by intent. */
  readonly receipts: ReadonlyMap<string, Receipt>
  /** The refund of each Idempotency-Key. */
  readonly refunds: ReadonlyMap<string, Refund>
  /** Answers that no client should ever get. */
  readonly wrongAnswers: readonly string[]
}

export interface Payers {
  readonly told: Told
  /** Payments that came to an end so far. */
  readonly payments: number
  /** Ends the payments that are under way and takes up no more. */
  stop(): Promise<void>
  /** Ends at once: nobody answers any more. */
  giveUp(): Promise<void>
}

export interface PayersOptions {
  readonly count: number
  readonly random: () => number
  /** The client of the server that runs now. */
  readonly client: () => KahaClient
  readonly branchReference: string
}

const approved = '4242424242424242'
const declined = '4000000000000002'
const error = '4000000000000119'
const ineligible = '5200000000000197'
const cardNumbers = [approved, approved, approved, declined, error, ineligible] as const

const amount = 9_800
// All, more than half (two of them are too much), a part, one that is refused, one that takes 20 seconds; all but the first can come twice.
const refundAmounts = [undefined, 5_000, 5_000, 1_200, 1_991, 1_994] as const
const refundedOf = 0.5
const lookMsMax = 2_000
const intentsPerLink = 4
const usesPerLink = 3

/** Payers that pay one intent after another, as good clients do: they repeat what can be repeated, and look before they pay again. */
export function startPayers({ count, random, client, branchReference }: PayersOptions): Payers {
  const intents = new Map<string, string>()
  const receipts = new Map<string, Receipt>()
  const refunds = new Map<string, Refund>()
  const wrongAnswers: string[] = []
  const run = random().toString(36).slice(2, 8)
  const stopping = new AbortController()
  const givenUp = new AbortController()
  let payments = 0
  let requests = 0
  let link: { id: Promise<string>; intents: number } | undefined

  const insist = async <T>(call: (sdk: KahaClient) => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await call(client())
      } catch (failure) {
        if (!passes(failure) || givenUp.signal.aborted) throw failure
        await sleep(10 + 40 * random())
      }
    }
  }

  const keyOf = (what: string) => `${what}-${run}-${(requests += 1)}`

  const linkToPay = (): Promise<string> => {
    if (link === undefined || link.intents >= intentsPerLink) {
      const key = keyOf('link')
      const body: Parameters<KahaClient['paymentLinks']['create']>[0] = {
        type: 'multi_use',
        currency: 'PHP',
        amount,
        max_uses: usesPerLink,
        line_items: [{ sku: 'MUG', name: 'Mug', unit_price: amount, quantity: 1 }],
        merchant_branch_reference_number: branchReference,
      }
      link = {
        id: insist((sdk) => sdk.paymentLinks.create(body, { idempotencyKey: key, maxRetries: 0 })).then(({ id }) => id),
        intents: 0,
      }
    }
    link.intents += 1
    return link.id
  }

  const create = async (): Promise<string> => {
    const key = keyOf('intent')
    const own = { amount, currency: 'PHP', merchant_branch_reference_number: branchReference } as const
    const body = random() < 0.4 ? { payment_link_id: await linkToPay() } : own
    const { id } = await insist((sdk) => sdk.paymentIntents.create(body, { idempotencyKey: key, maxRetries: 0 }))
    intents.set(key, id)
    return id
  }

  const note = (intent: Intent) => {
    if (intent.status !== 'SUCCEEDED') return
    if (intent.receipt === undefined) wrongAnswers.push(`the intent ${intent.id} is SUCCEEDED without a receipt`)
    else receipts.set(intent.id, intent.receipt)
  }

  /** How the intent stands once nobody is at work on it; PROCESSING when that takes longer than a payer looks. */
  const look = async (id: string): Promise<Intent> => {
    for (const giveUpAt = performance.now() + lookMsMax; ; await sleep(20)) {
      const intent = await insist((sdk) => sdk.paymentIntents.retrieve(id))
      if (intent.status !== 'PROCESSING' || performance.now() > giveUpAt) return intent
    }
  }

  /** Resolves to the intent, however its payment ended. */
  const pay = async (): Promise<string> => {
    const id = await create()
    const number = cardNumbers[Math.floor(random() * cardNumbers.length)] ?? approved
    const card = { number, exp_month: 12, exp_year: 2060, cvc: '123' }
    for (;;) {
      try {
        note(await client().paymentIntents.confirm(id, { payment_method: { type: 'card', card } }))
        return id
      } catch (failure) {
        if (!passes(failure) && !isRefusal(failure)) throw failure
        const intent = await look(id)
        note(intent)
        if (intent.status !== 'ACTIVE' || isRefusal(failure)) return id
      }
    }
  }

  /** Gives back what an intent has paid, in one or two refunds at once; each is repeated with its key until it is answered. */
  const refund = async (id: string): Promise<void> => {
    const one = async (): Promise<void> => {
      const key = keyOf('refund')
      const part = refundAmounts[Math.floor(random() * refundAmounts.length)]
      const body = { payment_intent_id: id, ...(part === undefined ? {} : { amount: part }) }
      const made = await insist((sdk) => sdk.refunds.create(body, { idempotencyKey: key, maxRetries: 0 }))
      if (made.payment_intent_id !== id || (part !== undefined && made.amount !== part))
        wrongAnswers.push(`the refund ${made.id} is another than was asked for`)
      refunds.set(key, made)
    }
    await Promise.all(random() < 0.4 ? [one(), one()].map(unlessTooMuch) : [one()])
  }

  const payer = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const unlessRefused = (failure: unknown) => {
        if (!isRefusal(failure)) wrongAnswers.push(String(failure))
      }
      const id = await pay().catch(unlessRefused)
      payments += 1
      if (id !== undefined && receipts.has(id) && random() < refundedOf) await refund(id).catch(unlessRefused)
    }
  }

  const ended = Promise.all(Array.from({ length: count }, payer))
  return {
    told: { intents, receipts, refunds, wrongAnswers },
    get payments() {
      return payments
    },
    async stop() {
      stopping.abort()
      await ended
    },
    async giveUp() {
      stopping.abort()
      givenUp.abort()
      await ended
    },
  }
}

/** Nobody may know whether it happened, and it may be asked again. */
const passes = (failure: unknown): boolean =>
  failure instanceof KahaConnectionError ||
  (failure instanceof KahaError && (failure.status === 503 || failure.code === 'IDEMPOTENCY_IN_PROGRESS'))

/** Of two refunds at once the second may be more than the first has left. */
const unlessTooMuch = (made: Promise<void>): Promise<void> =>
  made.catch((failure: unknown) => {
    if (!(failure instanceof KahaError && failure.code === 'AMOUNT_EXCEEDS_REMAINING')) throw failure
  })

/** Refusals that a payer may meet whose earlier try went through unheard, or whose link others have used up. */
const isRefusal = (failure: unknown): boolean =>
  failure instanceof KahaError && ['INTENT_PROCESSING', 'INVALID_STATE', 'LINK_FULLY_RESERVED'].includes(failure.code)
