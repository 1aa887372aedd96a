import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { QueryConfig } from 'pg'
import { cards, newKey } from '../platform.ts'
import type { Answer, Call } from './call.ts'
import { commonProvocations, refusesAsShown, saying, type Provoke } from './example-refusals.ts'
import { exampleShop, idIn } from './example-shop.ts'
import { requestOf, type ShownOperation } from './examples.ts'
import { lockOf, rowsOf, shop, whileHeld, withoutWorker } from './shop.ts'

// The refusals that the OpenAPI document of area C shows, each brought about and given.
const { p, key, operations, ask, confirm, newLink, newIntent, paidIntent, subjectOf } = await exampleShop(
  { after },
  withoutWorker,
)
const merchant = shop(p)
const unknownId = '01890000-0000-7000-8000-000000000000'

/** What an operation is asked about instead. */
const about = async (shown: ShownOperation, id: string): Promise<Call> =>
  requestOf(shown, new Map([[idIn(shown), id]]), { key })
const ofOther =
  (make: () => Promise<string>): Provoke =>
  async (_right, { shown }) =>
    about(shown, await make())
const unknown: Provoke = (right, refusal) =>
  refusal.shown.id === 'createPaymentIntent'
    ? saying({ payment_link_id: unknownId })(right, refusal)
    : about(refusal.shown, unknownId)

const consumedLink = async () => {
  const id = await newLink()
  const intent = await merchant.newIntent({ payment_link_id: id })
  await merchant.confirm(intent.id)
  return id
}
const cancelledLink = async () => {
  const id = await newLink()
  await merchant.cancelLink(id)
  return id
}
const processingIntent = async () => {
  const id = await newIntent()
  await confirm(id, 'slow')
  return id
}

/** Another request under a key that has had one. */
const mismatch: Provoke = async (right, { shown }) => {
  const named = newKey()
  const first = await right()
  assert.ok((await ask(first, named)).status < 300)
  const fields = shown.id === 'createRefund' ? { reason: 'Another' } : { description: 'Another' }
  // What is cancelled is told by its id, which is another one.
  const other = shown.path.endsWith('/cancel')
    ? await right()
    : { ...first, body: { ...Object(first.body), ...fields } }
  return { ...other, headers: { 'idempotency-key': named } }
}

const tables: Readonly<Record<string, string>> = {
  cancelPaymentLink: 'ecommerce.links',
  cancelPaymentIntent: 'payments.intents',
}
/** What a request under a key waits for once it holds that key. */
const held = async (shown: ShownOperation, request: Call, named: string): Promise<string | QueryConfig> => {
  const table = tables[shown.id]
  if (table !== undefined) return lockOf(table)
  assert.equal((await ask(request, named)).status, 201)
  // It makes room for another answer, which finds it locked.
  await rowsOf(p, 'update ecommerce.idempotency set expires_at = kernel.now() where key = $1', [named])
  return { text: 'select 1 from ecommerce.idempotency where key = $1 for update', values: [named] }
}
const inProgress: Provoke = async (right, { shown }) => {
  const named = newKey()
  const request = await right()
  const hold = await held(shown, request, named)
  const second: Answer[] = []
  const [first] = await whileHeld(p, hold, [() => ask(request, named)], async () => {
    second.push(await ask(request, named))
  })
  assert.ok(first !== undefined && first.status < 300, first?.text)
  const [answer] = second
  assert.ok(answer)
  return answer
}

const long = (characters: number) => 'x'.repeat(characters)
const provocations: Readonly<Record<string, Provoke>> = {
  ...commonProvocations(p),
  '400 INVALID_ID': ofOther(async () => 'mug'),
  '400 INVALID_TYPE': saying({ type: 'x' }),
  '400 INVALID_CURRENCY': saying({ currency: 'php' }),
  '400 INVALID_AMOUNT': saying({ amount: 0 }),
  '400 INVALID_LINE_ITEMS': saying({ line_items: [] }),
  '400 INVALID_EXPIRES_AT': saying({ expires_at: 'soon' }),
  '400 INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER': saying({ merchant_branch_reference_number: 'NOWHERE' }),
  '400 INVALID_DESCRIPTION': saying({ description: long(256) }),
  '400 INVALID_ORDER_REFERENCE': saying({ order_reference: long(101) }),
  '400 INVALID_REDIRECT_URLS': saying({ redirect_urls: { success: 'ftp://shop.example.com/thanks' } }),
  '400 INVALID_MAX_USES': saying({ max_uses: 0 }),
  '400 INVALID_METADATA': saying({ metadata: { team: 1 } }),
  '400 INVALID_PAYMENT_LINK_ID': saying({ payment_link_id: 'mug' }),
  '400 INVALID_PAYMENT_INTENT_ID': saying({ payment_intent_id: 'mug' }),
  '400 INVALID_REASON': saying({ reason: long(501) }),
  '400 INVALID_CLIENT_SECRET': saying({ client_secret: 1 }),
  '400 INVALID_PAYMENT_METHOD': saying({ payment_method: { type: 'cash' } }),
  '400 INVALID_CARD': saying({
    payment_method: { type: 'card', card: { number: '4242424242424241', exp_month: 12, exp_year: 2040, cvc: '123' } },
  }),
  '400 INVALID_IDEMPOTENCY_KEY': async (right) => ({ ...(await right()), headers: { 'idempotency-key': 'short' } }),
  '400 INVALID_CURSOR': saying({ cursor: 'mug' }),
  '400 INVALID_PAGE_SIZE': saying({ page_size: 0 }),
  '400 INVALID_STATUS': saying({ status: 'PAID' }),
  '400 INVALID_DATE_RANGE': saying({ date_from: '2026-01-16T00:00:00Z', date_to: '2026-01-15T00:00:00Z' }),
  '404 NOT_FOUND': unknown,
  '409 IDEMPOTENCY_MISMATCH': mismatch,
  '409 IDEMPOTENCY_IN_PROGRESS': inProgress,
  '409 INTENT_PROCESSING': ofOther(processingIntent),
  '409 INVALID_STATE': ofOther(paidIntent),
  '409 LINK_FULLY_RESERVED': ofOther(async () => {
    const payment_link_id = await newLink()
    const [first, second] = [
      await merchant.newIntent({ payment_link_id }),
      await merchant.newIntent({ payment_link_id }),
    ]
    await confirm(first.id, 'slow')
    return second.id as string
  }),
  '409 ATTEMPT_LIMIT_REACHED': ofOther(async () => {
    const id = await newIntent()
    for (let attempts = 0; attempts < 20; attempts += 1) await merchant.confirm(id, cards.declined)
    return id
  }),
  '422 INVALID_STATE': async (right, { shown }) => {
    if (shown.id === 'createPaymentIntent') {
      return { ...(await right()), body: { payment_link_id: await cancelledLink() } }
    }
    const ended = shown.id === 'cancelPaymentLink' ? consumedLink : cancelledLink
    return about(shown, await (shown.id === 'createRefund' ? newIntent() : ended()))
  },
  '422 AMOUNT_EXCEEDS_REMAINING': async (right) => {
    const request = await right()
    assert.equal((await ask(request)).status, 201)
    return { ...request, body: { ...Object(request.body), amount: 5000 } }
  },
}

refusesAsShown(operations, provocations, {
  right: async (shown) => requestOf(shown, await subjectOf(shown), { key }),
  ask,
})
