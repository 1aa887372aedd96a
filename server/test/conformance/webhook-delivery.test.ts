import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { statement } from '../../src/kernel/db.ts'
import { isUuid } from '../../src/kernel/ids.ts'
import { cardOf, cards, platform, type Platform } from '../platform.ts'
import type { Received } from '../receiver.ts'
import { everybody } from './people.ts'

// From the payment that causes an event to the receiver that acknowledges it: what is sent, to whom, and when.

const allTypes = ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'] as const
const p = await platform({ after })
const endpoint = await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: [...allTypes] })
const { signing_secret: secret } = await p.sdk.webhooks.retrieveSigningSecret(endpoint.id)

interface Told {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

const byText = (one: unknown, other: unknown): number => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
const bodyOf = ({ body }: Received): Told => JSON.parse(body) as Told
const typesOf = (received: readonly Received[]): string[] => received.map((one) => bodyOf(one).type).toSorted()

/** What the receiver gets while something happens. */
async function receivedDuring({ receiver, idle }: Platform, happening: () => Promise<unknown>): Promise<Received[]> {
  const before = receiver.received.length
  await happening()
  await idle()
  return receiver.received.slice(before)
}

const payloadRules = [
  'A2.payload.envelope',
  'A2.payload.payment-intent-id',
  'A2.payload.payment-link-id',
  'A2.payload.payment-attempt-id',
  'A2.payload.amount',
  'A2.payload.currency',
  'A2.payload.status',
  'A2.payload.order-reference',
  'A2.payload.card-brand',
  'A2.payload.card-last-four',
  'A2.payload.merchant-id',
  'A2.payload.branch-id',
  'A2.payload.merchant-branch-name',
  'A2.payload.metadata',
]
test(`[${payloadRules.join(', ')}, A2.sent.succeeded] a success is told with everything about the payment, and nothing else`, async () => {
  const metadata = { cart: '7781', constructor: 'yes', note: 'ñ 漢字 🧾' }
  const link = await p.link({ order_reference: 'ORDER-77', metadata, description: 'not told' })
  let confirmed: Awaited<ReturnType<typeof p.pay>> | undefined
  const [one, ...others] = await receivedDuring(p, async () => (confirmed = await p.pay({ linkId: link.id })))
  assert.ok(one !== undefined && confirmed !== undefined)
  assert.deepEqual(others, [])
  const { id, created_at: createdAt, ...rest } = bodyOf(one)
  assert.deepEqual(rest, {
    type: 'payment.succeeded',
    data: {
      payment_intent_id: confirmed.id,
      payment_link_id: link.id,
      payment_attempt_id: confirmed.payment_attempt_id,
      amount: 9800,
      currency: 'PHP',
      status: 'SUCCEEDED',
      order_reference: 'ORDER-77',
      card_brand: 'VISA',
      card_last_four: '4242',
      merchant_id: p.merchant.id,
      branch_id: p.branch.id,
      merchant_branch_name: p.branch.name,
      metadata,
    },
  })
  assert.ok(isUuid(id))
  const [listed] = (await p.as(p.branch.secret_key).webhooks.listEvents({ type: 'payment.succeeded' })).data
  assert.deepEqual([listed?.id, listed?.created_at], [id, createdAt])
})

test('[A2.payload.failure-category, A2.sent.declined] a decline is told with its category', async () => {
  const [one] = await receivedDuring(p, () => p.pay({ card: cards.declined }))
  assert.ok(one !== undefined)
  const { type, data } = bodyOf(one)
  const { status, failure_category: category, card_last_four: lastFour } = data
  assert.deepEqual([type, status, category, lastFour], ['payment.declined', 'DECLINED', 'PAYMENT_REJECTED', '0002'])
})

test('[A2.payload.failure-category, A2.sent.failed] a failure is told with its category', async () => {
  const received = await receivedDuring(p, async () => {
    await p.pay({ card: cards.error })
    await p.pay({ card: cards.unavailable })
  })
  const told = received.map((one) => bodyOf(one)).map(({ type, data }) => [type, data.status, data.failure_category])
  assert.deepEqual(told.toSorted(byText), [
    ['payment.failed', 'FAILED', 'PAYMENT_PROCESSING_ERROR'],
    ['payment.failed', 'FAILED', 'PROCESSOR_UNAVAILABLE'],
  ])
})

test('[A2.payload.absent] a field without a value is left out, never null', async () => {
  const [plain] = await receivedDuring(p, () => p.pay())
  assert.ok(plain !== undefined)
  const { data } = bodyOf(plain)
  assert.ok(!('payment_link_id' in data) && !('order_reference' in data) && !('failure_category' in data))
  for (const { body } of p.receiver.received) assert.doesNotMatch(body, /:null/)
})

test('[A2.sent.declined] every attempt that ends is told by an event of its own', async () => {
  const received = await receivedDuring(p, async () => {
    const intent = await p.sdk.paymentIntents.create({
      amount: 500,
      currency: 'PHP',
      merchant_branch_reference_number: p.branch.reference_number,
    })
    for (const number of [cards.declined, cards.error, cards.ineligible, cards.approved]) {
      await p.sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf(number) } })
    }
  })
  assert.deepEqual(typesOf(received), ['payment.declined', 'payment.declined', 'payment.failed', 'payment.succeeded'])
  assert.equal(new Set(received.map((one) => bodyOf(one).data.payment_attempt_id)).size, 4)
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 4)
})

test('[A2.signature.id, A2.signature.timestamp, A2.signature.form] the reference verifier of Standard Webhooks takes every delivery, and none that was altered', async () => {
  const before = Math.floor(Date.now() / 1000)
  const [one] = await receivedDuring(p, () => p.pay())
  assert.ok(one !== undefined)
  const headers = one.headers as Record<string, string>
  assert.deepEqual(new Webhook(secret).verify(one.body, headers), bodyOf(one))
  assert.equal(headers['webhook-id'], bodyOf(one).id)
  assert.equal(headers['content-type'], 'application/json')
  assert.match(String(headers['webhook-signature']), /^v1,[A-Za-z0-9+/]{43}=$/)
  const timestamp = String(headers['webhook-timestamp'])
  assert.match(timestamp, /^\d{10}$/)
  assert.ok(before <= Number(timestamp) && Number(timestamp) <= Math.floor(Date.now() / 1000))

  const altered = [
    [one.body.replace('9800', '9801'), headers],
    [one.body, { ...headers, 'webhook-id': `${headers['webhook-id']}0` }],
    [one.body, { ...headers, 'webhook-timestamp': String(Number(timestamp) - 1) }],
  ] as const
  for (const [body, more] of altered) assert.throws(() => new Webhook(secret).verify(body, more))
  const elsewhere = await p.sdk.webhooks.createEndpoint({
    url: `${p.receiver.url}/other`,
    enabled_events: ['payment.failed'],
  })
  const other = await p.sdk.webhooks.retrieveSigningSecret(elsewhere.id)
  assert.throws(() => new Webhook(other.signing_secret).verify(one.body, headers))
})

test('[A2.payload.same-bytes, A2.signature.id, A2.signature.timestamp] every attempt sends the same id and bytes, with a time and signature of its own', async (t) => {
  let wall = Date.now()
  const its = await platform(t, { choices: { wall: () => wall } })
  const made = await its.sdk.webhooks.createEndpoint({ url: its.receiver.url, enabled_events: ['payment.succeeded'] })
  const key = (await its.sdk.webhooks.retrieveSigningSecret(made.id)).signing_secret
  its.receiver.answer = (_request, response) => response.writeHead(its.receiver.received.length < 3 ? 503 : 200).end()
  await its.pay()
  for (const seconds of [6, 360]) {
    wall += 1_000
    await its.advance(seconds)
  }
  const { received } = its.receiver
  assert.equal(received.length, 3)
  assert.equal(new Set(received.map(({ body }) => body)).size, 1)
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1)
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size, 3)
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-signature'])).size, 3)
  for (const { body, headers } of received) new Webhook(key).verify(body, headers as Record<string, string>)
})

test('A2.sent.subscribed: an endpoint receives the types in its enabled_events, and no other', async (t) => {
  const its = await platform(t)
  for (const type of allTypes) {
    await its.sdk.webhooks.createEndpoint({ url: `${its.receiver.url}?only=${type}`, enabled_events: [type] })
  }
  await its.sdk.webhooks.createEndpoint({ url: `${its.receiver.url}?all`, enabled_events: [...allTypes] })
  await its.link({ expires_at: new Date(its.kaha.clock.now().getTime() + 60_000).toISOString() })
  for (const card of [cards.approved, cards.declined, cards.error]) await its.pay({ card })
  await its.advance(60)
  const { received } = its.receiver
  for (const type of allTypes) {
    assert.deepEqual(typesOf(received.filter(({ path }) => path.endsWith(`only=${type}`))), [type])
  }
  assert.deepEqual(typesOf(received.filter(({ path }) => path.endsWith('?all'))), [...allTypes].toSorted())
})

test("A2.sent.descendants: endpoints of the branch, its merchant and its partner receive a branch's event, and nobody else's do", async (t) => {
  const its = await platform(t)
  const people = await everybody(its)
  for (const [name, { key }] of Object.entries(people)) {
    await its
      .as(key)
      .webhooks.createEndpoint({ url: `${its.receiver.url}?who=${name}`, enabled_events: ['payment.succeeded'] })
  }
  const reached = (received: readonly Received[]) => received.map(({ path }) => path.split('who=')[1] ?? '').toSorted()
  const paidBy = async (key: string) => {
    const sdk = its.as(key)
    const intent = await sdk.paymentIntents.create({ amount: 100, currency: 'PHP' })
    await sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf() } })
  }
  const first = await receivedDuring(its, () => paidBy(people.branch.key))
  assert.deepEqual(reached(first), ['branch', 'merchant', 'partner'])
  const far = await receivedDuring(its, () => paidBy(people.otherPartnersBranch.key))
  assert.deepEqual(reached(far), ['otherPartner', 'otherPartnersBranch', 'otherPartnersMerchant'])
  // One event, one body, signed for each.
  assert.equal(new Set(first.map(({ body }) => body)).size, 1)
  assert.equal(new Set(first.map(({ headers }) => headers['webhook-signature'])).size, 3)
})

const inAMinute = (its: Platform) => new Date(its.kaha.clock.now().getTime() + 60_000).toISOString()

test('[A2.sent.expired-link, A2.sent.expired-intent, A2.sent.once] an expiry is told once, by whichever process comes by first', async (t) => {
  const its = await platform(t)
  const other = await its.another()
  await its.sdk.webhooks.createEndpoint({ url: its.receiver.url, enabled_events: ['payment.expired'] })
  const link = await its.link({ expires_at: inAMinute(its), order_reference: 'ORDER-1', metadata: { cart: '1' } })
  const intentOf = (fields: object) =>
    its.sdk.paymentIntents.create({
      amount: 700,
      currency: 'PHP',
      merchant_branch_reference_number: its.branch.reference_number,
      expires_at: inAMinute(its),
      ...fields,
    })
  const alone = await intentOf({ order_reference: 'ORDER-2' })
  // Tried and declined: it expires all the same. Through a link: the link tells, and the intent does not.
  const tried = await intentOf({})
  await its.sdk.paymentIntents.confirm(tried.id, { payment_method: { type: 'card', card: cardOf(cards.declined) } })
  await its.sdk.paymentIntents.create({ payment_link_id: link.id })
  // Paid: there is nothing to tell.
  const paidLink = await its.link({ expires_at: inAMinute(its) })
  await its.pay({ linkId: paidLink.id })
  const paid = await intentOf({})
  await its.sdk.paymentIntents.confirm(paid.id, { payment_method: { type: 'card', card: cardOf() } })

  await its.advance(61)
  for (let looked = 0; looked < 3; looked += 1) {
    assert.equal((await its.sdk.paymentLinks.retrieve(link.id)).status, 'EXPIRED')
    assert.equal((await its.sdk.paymentIntents.retrieve(alone.id)).status, 'EXPIRED')
    await its.advance(3_600)
    await other.sandboxClock.idle()
  }
  const told = its.receiver.received.map((one) => bodyOf(one).data)
  const subjects = told.map(({ payment_intent_id: intent, payment_link_id: of }) => String(intent ?? of)).toSorted()
  assert.deepEqual(subjects, [link.id, alone.id, tried.id].toSorted())
  const ofLink = told.find((data) => data.payment_link_id === link.id)
  assert.deepEqual(ofLink, {
    payment_link_id: link.id,
    amount: 9800,
    currency: 'PHP',
    status: 'EXPIRED',
    order_reference: 'ORDER-1',
    merchant_id: its.merchant.id,
    branch_id: its.branch.id,
    merchant_branch_name: its.branch.name,
    metadata: { cart: '1' },
  })
  const { data } = await its.as(its.branch.secret_key).webhooks.listEvents({ type: 'payment.expired' })
  assert.deepEqual(
    data.map(({ status }) => status),
    ['DELIVERED', 'DELIVERED', 'DELIVERED'],
  )
})

test('A2.sent.once: a payment that is confirmed ten times at once is told once', async () => {
  const intent = await p.sdk.paymentIntents.create({
    amount: 500,
    currency: 'PHP',
    merchant_branch_reference_number: p.branch.reference_number,
  })
  const confirm = () => p.sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf() } })
  const received = await receivedDuring(p, () => Promise.allSettled(Array.from({ length: 10 }, confirm)))
  assert.deepEqual(typesOf(received), ['payment.succeeded'])
})

test('A2.sent.same-transaction: where the event cannot be written the payment does not change, and both come about together later', async (t) => {
  const its = await platform(t, { settings: { KAHA_ROLES: 'api' } })
  const run = (name: string, text: string) => its.kaha.db.run<{ state: string }>(statement(`test.${name}`, text), [])
  await run(
    'refuse',
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise 'no room'; end $$`,
  )
  await run(
    'trigger',
    'create trigger refuse before insert on delivery.events for each row execute function public.refuse()',
  )
  const intent = await its.sdk.paymentIntents.create({
    amount: 500,
    currency: 'PHP',
    merchant_branch_reference_number: its.branch.reference_number,
  })
  const confirm = its.sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf() } })
  await assert.rejects(confirm, { status: 500, code: 'INTERNAL_ERROR' })
  assert.equal((await its.sdk.paymentIntents.retrieve(intent.id)).status, 'PROCESSING')
  assert.deepEqual(await run('none', `select status as state from payments.transactions where status <> 'PENDING'`), [])

  await run('drop', 'drop trigger refuse on delivery.events')
  // The call that failed leaves its lease behind, which runs out in earnest.
  await run('late', 'update payments.attempts set lease_until = clock_timestamp()')
  const worker = await its.another({ KAHA_ROLES: 'worker' })
  await worker.sandboxClock.advance(new Date(worker.clock.now().getTime() + 60_000))
  assert.equal((await its.sdk.paymentIntents.retrieve(intent.id)).status, 'SUCCEEDED')
  const { data } = await its.as(its.branch.secret_key).webhooks.listEvents()
  assert.deepEqual(
    data.map(({ type, status }) => [type, status]),
    [['payment.succeeded', 'NOT_SUBSCRIBED']],
  )
})

test('A2.sent.same-transaction: the event is there, PENDING, as soon as the payment has changed', async (t) => {
  const its = await platform(t, { settings: { KAHA_ROLES: 'api' } })
  const intent = await its.sdk.paymentIntents.create({
    amount: 500,
    currency: 'PHP',
    merchant_branch_reference_number: its.branch.reference_number,
  })
  await its.sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf() } })
  const { data } = await its.as(its.branch.secret_key).webhooks.listEvents()
  assert.deepEqual(
    data.map(({ type, status }) => [type, status]),
    [['payment.succeeded', 'PENDING']],
  )
})
