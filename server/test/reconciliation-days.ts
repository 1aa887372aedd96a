import assert from 'node:assert/strict'
import { KahaError, type Kaha } from '@kaha/sdk'
import { Webhook as Verifier } from 'standardwebhooks'
import { dayOf, midnightAfter } from './conformance/operations.ts'
import { randomFrom } from './faults/random.ts'
import { cardOf, cards, newKey, type Platform } from './platform.ts'
import { readStory, type Journal, type Story, type Webhook } from './reconciliation.ts'

type Mutable<M> = M extends ReadonlyMap<infer K, infer V> ? Map<K, V> : never

interface Till {
  readonly sdk: Kaha
  readonly merchantId: string
  readonly branchId: string
  readonly reference: string
}

/** What merchants and payers of several branches did over three days, and what the platform tells of it in the end. */
export interface Days {
  readonly journal: Journal
  /** Days of which there must be a settlement. */
  readonly days: readonly string[]
  read(): Promise<Story>
}

const hourS = 3_600
const largest = 999_999_999_999
const paidCards = [cards.approved, cards.approved, '5555555555554444', '6200000000000005', cards.slow, cards.noAnswer]
const unpaidCards = [
  cards.declined,
  cards.insufficientFunds,
  cards.error,
  cards.unavailable,
  cards.ineligible,
  '4000000000006728',
]

/**
 * Payments, declines, challenges, refunds in full and in part, expiries and cancels, on two merchants with two branches each, over two
 * midnights in Manila; webhooks that fail at first; then everything comes to rest. Chance begins at `seed`; with `crowds` much happens at once.
 */
export async function threeDays(p: Platform, { seed, crowds }: { seed: number; crowds: boolean }): Promise<Days> {
  const random = randomFrom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const journal = {
    intents: new Map() as Mutable<Journal['intents']>,
    attempts: new Map() as Mutable<Journal['attempts']>,
    refunds: new Map() as Mutable<Journal['refunds']>,
    webhooks: [] as Webhook[],
  }
  const tills = p.seed.merchants.flatMap((merchant) =>
    merchant.branches.map((branch): Till => {
      const { id: merchantId, secret_key: key } = merchant
      return { sdk: p.as(key), merchantId, branchId: branch.id, reference: branch.reference_number }
    }),
  )
  await listen(p, journal.webhooks, random)

  const amount = (): number => one([1, 99, 100, 9_800, 123_456, 1 + below(5_000_000), largest])
  const create = async (till: Till, body: Parameters<Kaha['paymentIntents']['create']>[0]) => {
    const made = await till.sdk.paymentIntents.create(body)
    const { merchantId, branchId } = till
    journal.intents.set(made.id, { merchantId, branchId, amount: made.amount })
    return made
  }
  const ownIntent = (till: Till, minutes = 600) =>
    create(till, {
      amount: amount(),
      currency: 'PHP',
      merchant_branch_reference_number: till.reference,
      expires_at: fromNow(p, minutes * 60),
    })
  /** Undefined: it was refused, and made no attempt. */
  const confirm = async (till: Till, id: string, number: string) => {
    const payment_method = { type: 'card', card: cardOf(number) } as const
    const confirmed = await till.sdk.paymentIntents.confirm(id, { payment_method }).catch(unlessRefused)
    if (confirmed?.payment_attempt_id !== undefined) journal.attempts.set(confirmed.payment_attempt_id, id)
    return confirmed
  }
  const challenge = async (till: Till, made: { id: string; checkout_url: string }, result: string | null) => {
    const confirmed = await confirm(till, made.id, one([cards.challenge, '4000008400001629']))
    if (result === null || confirmed?.next_action === undefined) return
    const body = new URLSearchParams({ result })
    const way = await fetch(confirmed.next_action.url, { method: 'POST', body, redirect: 'manual' })
    for (let back = 1 + below(2); back > 0; back--)
      await fetch(way.headers.get('location') ?? '', { redirect: 'manual' })
  }
  const refund = async (till: Till, intentId: string, part: number | undefined) => {
    const body = { payment_intent_id: intentId, ...(part === undefined ? {} : { amount: part }) }
    const made = await till.sdk.refunds.create(body, { idempotencyKey: newKey() }).catch(unlessRefused)
    if (made !== undefined) journal.refunds.set(made.id, { intentId, amount: made.amount })
  }
  const tillOf = (intentId: string): Till => {
    const till = tills.find(({ branchId }) => branchId === journal.intents.get(intentId)?.branchId)
    assert.ok(till)
    return till
  }

  const ways: readonly ((till: Till) => Promise<unknown>)[] = [
    async (till) => confirm(till, (await ownIntent(till)).id, one(paidCards)),
    async (till) => confirm(till, (await ownIntent(till)).id, one(paidCards)),
    // Refused first, paid then.
    async (till) => {
      const { id } = await ownIntent(till)
      for (const number of [cards.declined, cards.error, one(paidCards)]) await confirm(till, id, number)
    },
    async (till) => challenge(till, await ownIntent(till), one(['passed', 'passed', 'refused', 'unavailable', null])),
    // It expires, with a challenge that nobody has taken, or a decline.
    async (till) => challenge(till, await ownIntent(till, 10), null),
    async (till) => confirm(till, (await ownIntent(till, 10)).id, one(unpaidCards)),
    async (till) => {
      const made = await ownIntent(till)
      await challenge(till, made, null)
      await till.sdk.paymentIntents.cancel(made.id)
    },
    async (till) => payByLink(till, false),
    async (till) => payByLink(till, true),
  ]
  /** More payers than there are uses, and perhaps a merchant who ends the link under them. */
  const payByLink = async (till: Till, ends: boolean): Promise<void> => {
    const price = amount()
    const link = await till.sdk.paymentLinks.create({
      type: 'multi_use',
      max_uses: 2,
      currency: 'PHP',
      amount: price,
      expires_at: fromNow(p, hourS),
      line_items: [{ sku: 'ONE', name: 'One', unit_price: price, quantity: 1 }],
      merchant_branch_reference_number: till.reference,
    })
    const made = await Promise.all([1, 2, 3, 4].map(() => create(till, { payment_link_id: link.id })))
    const paying = made.map((intent, i) => {
      return i === 0 ? challenge(till, intent, ends ? null : 'passed') : confirm(till, intent.id, one(paidCards))
    })
    if (ends) await till.sdk.paymentLinks.cancel(link.id, {}).catch(unlessRefused)
    await Promise.all(paying)
  }
  const giveBack = (): Promise<unknown> => {
    const id = one([...journal.intents.keys()])
    const { amount: paid } = journal.intents.get(id) ?? { amount: 1 }
    const part = one([undefined, paid, Math.ceil(paid / 2), 1, 991, 992, 993, 994])
    // Twice at once now and then: more than was paid never goes back.
    return Promise.all(Array.from({ length: 1 + below(2) }, () => refund(tillOf(id), id, part)))
  }
  /** One payment each that goes back in whole, in part, and not at all. */
  const sureRefunds = async (): Promise<void> => {
    for (const [i, parts] of [[undefined], [4_000, 994], [991, 993, 992]].entries()) {
      const till = tills[i] ?? one(tills)
      const body = { amount: 9_800, currency: 'PHP', merchant_branch_reference_number: till.reference }
      const { id } = await create(till, body)
      await confirm(till, id, cards.approved)
      await p.idle()
      for (const part of parts) await refund(till, id, part)
    }
  }
  const traffic = async (): Promise<void> => {
    if (!crowds) return
    await Promise.all(tills.flatMap((till) => [one(ways)(till), one(ways)(till)]))
    if (journal.intents.size > 0) await Promise.all(Array.from({ length: 6 }, giveBack))
  }
  /** To a time; no further where it has passed, for what came before took time of its own. */
  const until = async (at: Date): Promise<void> =>
    p.kaha.sandboxClock.advanceBy(Math.max(0, at.getTime() - p.kaha.clock.now().getTime()))

  // A whole day lies before the first midnight, whatever the time is.
  await until(midnightAfter(p.kaha.clock.now()))
  const days: string[] = []
  for (let day = 0; day < 2; day += 1) {
    const midnight = midnightAfter(p.kaha.clock.now())
    days.push(dayOf(midnight))
    await Promise.all(ways.map((way, i) => way(tills[i % tills.length] as Till)))
    await sureRefunds()
    await traffic()
    await p.advance(20 * 60)
    await traffic()
    // What is begun now may end tomorrow.
    await until(new Date(midnight.getTime() - 3_000))
    await traffic()
    await until(midnight)
    await traffic()
  }
  await p.advance(72 * hourS)
  const merchants = new Map(tills.map(({ merchantId, sdk }) => [merchantId, sdk]))
  const partner = p.as(p.seed.partner.secret_key)
  return { journal, days, read: () => readStory(partner, (id) => merchants.get(id) ?? partner, journal) }
}

/** Each merchant hears of everything, by a receiver that verifies, and that fails now and then. */
async function listen(p: Platform, webhooks: Webhook[], random: () => number): Promise<void> {
  const verifiers = new Map<string, Verifier>()
  for (const { id, secret_key: key } of p.seed.merchants) {
    const { webhooks: area } = p.as(key)
    const endpoint = await area.createEndpoint({
      url: `${p.receiver.url}/${id}`,
      enabled_events: ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'],
    })
    verifiers.set(id, new Verifier((await area.retrieveSigningSecret(endpoint.id)).signing_secret))
  }
  const failed = new Set<string>()
  p.receiver.answer = ({ path, headers, body }, response) => {
    p.receiver.received.length = 0
    verifiers.get(path.split('/').at(-1) ?? '')?.verify(body, headers as Record<string, string>)
    const { id, type, data } = JSON.parse(body) as Webhook
    if (random() < 0.1 && !failed.has(id)) {
      failed.add(id)
      return response.writeHead(500).end()
    }
    if (!webhooks.some((other) => other.id === id)) webhooks.push({ id, type, data })
    return response.writeHead(204).end()
  }
}

const fromNow = (p: Platform, seconds: number): string =>
  new Date(p.kaha.clock.now().getTime() + seconds * 1_000).toISOString()

/** Refused as it may be: others were first, or there is nothing left. */
function unlessRefused(failure: unknown): undefined {
  const codes = ['INVALID_STATE', 'LINK_FULLY_RESERVED', 'INTENT_PROCESSING', 'AMOUNT_EXCEEDS_REMAINING']
  if (failure instanceof KahaError && codes.includes(failure.code)) return undefined
  throw failure
}
