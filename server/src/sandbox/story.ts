import { eventTypes } from '@kaha/contract'
import { inboxUrl } from './inbox.ts'
import type { Seed } from './seed.ts'
import { sendJson } from './story-call.ts'

export interface StoryDependencies {
  /** Whether webhooks may go to the inbox, which is on this machine. */
  readonly inbox: boolean
  /** Where this very process answers. */
  readonly localUrl: string
  readonly seed: Seed
  /** One that the installation takes. */
  readonly currency: string
  readonly idle: () => Promise<void>
}

const testCards = { approved: '4242424242424242', declined: '4000000000009995' }

/** A client of our own API, as a merchant's would be. */
const merchantClient =
  (localUrl: string, secretKey: string) =>
  <Answer>(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<Answer> =>
    sendJson(
      method,
      `${localUrl}${path}`,
      { 'x-api-key': secretKey, ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }) },
      body,
    )

const coffee = [
  { sku: 'BEANS-250', name: 'Benguet coffee beans, 250 g', unit_price: 12500, quantity: 2 },
  { sku: 'ENSAYMADA', name: 'Ensaymada', unit_price: 4500, quantity: 1 },
]
const coffeeTotal = 29_500

/**
 * What a new sandbox has lived through: the first merchant registers the built-in inbox where it may, and a payer whose first card is declined
 * pays a link with the second. Told through the API itself, so that everything in it is real.
 */
export async function tellStory(
  { inbox, localUrl, seed, currency, idle }: StoryDependencies,
  today: Date,
): Promise<void> {
  const [merchant] = seed.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) return
  const call = merchantClient(localUrl, merchant.secret_key)
  if (inbox)
    await call('POST', '/v1/webhook_endpoints', {
      url: inboxUrl(localUrl, merchant.id),
      enabled_events: eventTypes,
      description: 'The inbox of this sandbox',
    })
  const link = await call<{ id: string }>(
    'POST',
    '/ecom/v1/payment-links',
    linkOf('one_time', currency, branch.reference_number),
    'story-link',
  )
  const intent = await call<{ id: string }>(
    'POST',
    '/ecom/v1/payment-intents',
    { payment_link_id: link.id },
    'story-intent',
  )
  for (const number of [testCards.declined, testCards.approved]) {
    const card = {
      number,
      exp_month: 12,
      exp_year: today.getUTCFullYear() + 3,
      cvc: '123',
      name: 'Juana dela Cruz',
    }
    await call('POST', `/ecom/v1/payment-intents/${intent.id}/confirm`, { payment_method: { type: 'card', card } })
  }
  await idle()
}

const linkOf = (type: 'one_time' | 'multi_use', currency: string, branchReference: string) => ({
  type,
  currency,
  amount: coffeeTotal,
  line_items: coffee,
  description: 'Coffee and something sweet',
  order_reference: 'ORDER-1001',
  merchant_branch_reference_number: branchReference,
})

/** A link for a person to pay, one a day. */
export async function linkToTry(
  { localUrl, seed, currency }: Omit<StoryDependencies, 'idle' | 'inbox'>,
  today: Date,
): Promise<string | undefined> {
  const [merchant] = seed.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) return undefined
  const call = merchantClient(localUrl, merchant.secret_key)
  const key = `try-${today.toISOString().slice(0, 10)}`
  const link = await call<{ id: string }>(
    'POST',
    '/ecom/v1/payment-links',
    linkOf('multi_use', currency, branch.reference_number),
    key,
  )
  // The answer that was kept may name another port; the link's own reading names this one.
  const { url } = await call<{ url: string }>('GET', `/ecom/v1/payment-links/${link.id}`)
  return url
}
