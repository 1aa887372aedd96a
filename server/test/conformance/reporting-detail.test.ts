import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openapiDocuments, reportingOperations } from '@kaha/contract'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { createReportingService } from '../../src/areas/reporting/index.ts'
import { transactionStore } from '../../src/areas/reporting/store-transactions.ts'
import { createCursors } from '../../src/kernel/cursor.ts'
import type { Db } from '../../src/kernel/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { cardOf, cards, platform, type Platform } from '../platform.ts'
import { assertRefused, call } from './call.ts'
import { transactionsOf } from './reports.ts'
import { hourMs, jump, rowsOf, withoutWorker } from './shop.ts'

// Area B: one transaction, and how it stands at any moment.

const p = await platform({ after })
const path = '/reports/v1/transactions'
const only = async ({ sdk }: Pick<Platform, 'sdk'>, id: string | undefined) =>
  (await sdk.reports.retrieveTransaction(id ?? '')).data

test('[B3.transaction.ok, B3.transaction.card, B3.transaction.correlation, B3.transaction.amount-details, B3.transaction.receipt, B3.transaction.merchant-details, B3.detail.fields, B3.detail.events, B3.detail.event-amount, X0.time.format.reporting] a captured payment tells all that is known of it', async () => {
  const intent = await p.sdk.paymentIntents.create({
    amount: 12_345,
    currency: 'PHP',
    merchant_branch_reference_number: p.branch.reference_number,
  })
  const confirmed = await call(p.url, {
    method: 'POST',
    path: `/ecom/v1/payment-intents/${intent.id}/confirm`,
    key: p.merchant.secret_key,
    body: { payment_method: { type: 'card', card: cardOf() } },
  })
  const { receipt, payment_attempt_id: id } = confirmed.json
  const answer = await call(p.url, { path: `${path}/${id}`, key: p.branch.secret_key })
  assert.deepEqual(Object.keys(answer.json), ['data'])
  const { created_at: createdAt, updated_at: updatedAt, ...rest } = answer.json.data
  for (const time of [createdAt, updatedAt]) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(rest, {
    id,
    status: 'CAPTURED',
    amount: 12_345,
    currency: 'PHP',
    payment_method: 'CARD_NOT_PRESENT',
    card_brand: 'VISA',
    card_last_four: '4242',
    correlation_id: confirmed.headers['x-correlation-id'],
    amount_details: {
      amount_authorized: 12_345,
      amount_capturable: 0,
      amount_received: 12_345,
      amount_refunded: 0,
      original_amount: 12_345,
      tax_amount: 0,
      final_amount: 12_345,
    },
    receipt: {
      receipt_number: receipt.invoice_number,
      auth_number: receipt.approval_code,
      approval_code: receipt.approval_code,
      reference_number: receipt.reconciliation_id,
    },
    merchant_details: {
      merchant_name: p.merchant.name,
      merchant_id: p.merchant.id,
      partner_name: p.seed.partner.name,
      branch_id: p.branch.id,
      branch_name: p.branch.name,
    },
    partner_name: p.seed.partner.name,
    activation_code: p.branch.activation_code,
    approval_code: receipt.approval_code,
    reference_number: receipt.reconciliation_id,
    settlement_status: 'UNSETTLED',
    settled_at: null,
    events: [
      {
        event_type: 'CREATED',
        created_at: createdAt,
        amount: '12345',
        description: `A payment of intent ${intent.id} was begun.`,
        reason: null,
      },
      {
        event_type: 'CAPTURED',
        created_at: updatedAt,
        amount: '12345',
        description: 'The payment succeeded: the money was received.',
        reason: null,
      },
    ],
  })
})

test('[B3.detail.events] what failed says why', async () => {
  const expected = [
    [cards.declined, 'DECLINED', 'PAYMENT_REJECTED'],
    [cards.ineligible, 'DECLINED', 'CARD_NOT_ELIGIBLE'],
    [cards.error, 'FAILED', 'PAYMENT_PROCESSING_ERROR'],
    [cards.unavailable, 'FAILED', 'PROCESSOR_UNAVAILABLE'],
  ] as const
  for (const [card, status, reason] of expected) {
    const { events, receipt, amount_details: amounts } = await only(p, (await p.pay({ card })).payment_attempt_id)
    assert.deepEqual([events.at(-1)?.event_type, events.at(-1)?.reason, receipt], [status, reason, undefined])
    assert.deepEqual([amounts.amount_authorized, amounts.amount_received], [0, 0])
  }
})

test('[B3.status.refunded, B3.detail.events, B3.transaction.amount-details] refunds are in the status, the amounts and the events, to the centavo', async () => {
  const { id, payment_attempt_id: transaction } = await p.pay({ amount: 1_000 })
  for (const [amount, status, refunded] of [
    [1, 'PARTIALLY_REFUNDED', 1],
    [899, 'PARTIALLY_REFUNDED', 900],
    [100, 'REFUNDED', 1_000],
  ] as const) {
    const refund = await p.sdk.refunds.create({ payment_intent_id: id, amount })
    await p.idle()
    const detail = await only(p, transaction)
    assert.deepEqual(
      detail.events.slice(-2).map(({ description }) => description),
      [`Refund ${refund.id} was asked for.`, `Refund ${refund.id} was made.`],
    )
    assert.deepEqual([detail.status, detail.amount_details.amount_refunded], [status, refunded])
    assert.deepEqual([detail.amount, detail.amount_details.amount_received], [1_000, 1_000])
    assert.deepEqual([detail.events.at(-1)?.event_type, detail.events.at(-1)?.amount], ['REFUNDED', String(amount)])
    assert.equal((await p.sdk.reports.listTransactions({ status: [status] })).data[0]?.id, transaction)
  }
})

test('[B3.detail.events] of a story that is longer than is told, the end is told, oldest first', async () => {
  const { id, payment_attempt_id: transaction } = await p.pay({ amount: 1_000 })
  for (const amount of [1, 2, 3]) {
    await p.sdk.refunds.create({ payment_intent_id: id, amount })
    await p.idle()
  }
  const { events } = await only(p, transaction)
  assert.deepEqual(
    events.map(({ event_type, amount }) => `${event_type} ${amount}`),
    [
      'CREATED 1000',
      'CAPTURED 1000',
      ...[1, 2, 3].flatMap((amount) => [`REFUND_REQUESTED ${amount}`, `REFUNDED ${amount}`]),
    ],
  )
  const caller = { level: 'merchant', entityId: p.merchant.id, partnerId: '', merchantId: p.merchant.id } as const
  const last = await transactionStore.findTransaction(p.kaha.db, caller, transaction ?? '', 3)
  assert.deepEqual(
    last?.history.map(({ amount }) => amount),
    [2n, 3n, 3n],
  )
})

test('[B3.detail.events] a payment that ends while it is read is told as it stood, with what had happened to it by then', async () => {
  const id = newId(p.kaha.clock.now())
  await rowsOf(p, `select payments.open_transaction($1, $2, $3, $4, 1000, 'PHP', 'QR_PH', null, kernel.now(), null)`, [
    id,
    p.seed.partner.id,
    p.merchant.id,
    p.branch.id,
  ])
  const run: Db['run'] = async (statement, values) => {
    const found = await p.kaha.db.run(statement, values)
    await rowsOf(p, `select payments.end_transaction($1, 'CAPTURED', '1', kernel.now())`, [id])
    return found as never
  }
  const { clock, keyring } = p.kaha
  const service = createReportingService({ db: { run } as Db, clock, cursors: createCursors(keyring) })
  const principal = await p.kaha.identity.authenticate(p.seed.partner.secret_key)
  for (const [status, types] of [
    ['PENDING', ['CREATED']],
    ['CAPTURED', ['CREATED', 'CAPTURED']],
  ] as const) {
    const { row, history } = await service.retrieveTransaction(principal, id)
    assert.deepEqual([row.status, history.map(({ type }) => type)], [status, types])
  }
})

test('[B3.transaction.unknown] an id of nothing is 404, one that is no uuid 400', async () => {
  const ask = (id: string) => call(p.url, { path: `${path}/${id}`, key: p.merchant.secret_key })
  assertRefused(path, await ask('01a1fcef-9ed7-78da-86e8-e01924f01831'), 404, 'NOT_FOUND')
  for (const id of ['x', '1']) assertRefused(path, await ask(id), 400, 'BAD_REQUEST')
})

test('[B3.status.expired.ecommerce, B3.status.challenge-over, B3.status.expiry-exact] with no sweeper about, an open challenge is DECLINED or EXPIRED from its deadline on, in every list, order and page', async (t) => {
  const its = await platform(t, withoutWorker)
  const start = its.kaha.clock.now().getTime()
  const begin = async (amount: number, expiresMs?: number) => {
    const intent = await its.sdk.paymentIntents.create({
      amount,
      currency: 'PHP',
      merchant_branch_reference_number: its.branch.reference_number,
      ...(expiresMs === undefined ? {} : { expires_at: new Date(start + expiresMs).toISOString() }),
    })
    await its.sdk.paymentIntents.confirm(intent.id, {
      payment_method: { type: 'card', card: cardOf(cards.challenge) },
    })
    return its.sdk.paymentIntents.retrieve(intent.id)
  }
  const open = await begin(3)
  const declines = await begin(2)
  const expires = await begin(1, 10 * 60_000)
  assert.deepEqual((await its.sdk.reports.listTransactions({ status: ['PENDING'] })).data.length, 3)
  await jump(its, 11 * 60_000)
  const after11 = await only(its, expires.payment_attempt_id)
  assert.deepEqual([after11.status, after11.updated_at], ['EXPIRED', new Date(start + 10 * 60_000).toISOString()])
  assert.deepEqual(after11.events.map((one) => [one.event_type, one.created_at]).at(-1), [
    'EXPIRED',
    after11.updated_at,
  ])
  assert.deepEqual((await only(its, open.payment_attempt_id)).status, 'PENDING')
  await jump(its, 5 * 60_000)
  const declined = await only(its, declines.payment_attempt_id)
  assert.deepEqual([declined.status, declined.events.at(-1)?.reason], ['DECLINED', 'VERIFICATION_REJECTED'])
  const { walk, listed } = transactionsOf(its)
  assert.deepEqual(await listed('status=PENDING'), [])
  assert.equal((await listed('status=DECLINED')).length, 2)
  assert.equal((await listed('status=EXPIRED')).length, 1)
  assert.equal((await listed('status=EXPIRED', its.merchant.branches[1]?.secret_key)).length, 0)
  for (const sort of ['created_at', 'updated_at', 'amount']) {
    const whole = await listed(`sort_by=${sort}&sort_order=asc`)
    assert.deepEqual(await walk(`sort_by=${sort}&sort_order=asc`, 1), whole)
    assert.deepEqual((await walk(`sort_by=${sort}`, 2)).toReversed(), whole)
    const values = whole.map((row) => row[sort] as string | number)
    assert.deepEqual(
      values,
      values.toSorted((one, other) => (one < other ? -1 : 1)),
    )
  }
  // What a sweeper stores afterwards changes nothing of it.
  const before = await listed('sort_by=updated_at')
  await using worker = await its.another({ KAHA_ROLES: 'worker' })
  await worker.sandboxClock.idle()
  assert.deepEqual(await listed('sort_by=updated_at'), before)
  assert.deepEqual(await only(its, expires.payment_attempt_id), after11)
})

test('[B3.status.cancelled.ecommerce] an open challenge is CANCELLED when its intent is cancelled, or its link used up', async () => {
  const link = await p.link()
  const intents = [await p.sdk.paymentIntents.create({ payment_link_id: link.id })]
  intents.push(
    await p.sdk.paymentIntents.create({
      amount: 5,
      currency: 'PHP',
      merchant_branch_reference_number: p.branch.reference_number,
    }),
  )
  const attempts: (string | undefined)[] = []
  for (const { id } of intents) {
    await p.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card: cardOf(cards.challenge) } })
    attempts.push((await p.sdk.paymentIntents.retrieve(id)).payment_attempt_id)
  }
  await p.pay({ linkId: link.id })
  await p.sdk.paymentIntents.cancel(intents[1]?.id ?? '')
  for (const id of attempts) {
    const { status, events } = await only(p, id)
    assert.deepEqual([status, events.at(-1)?.event_type], ['CANCELLED', 'CANCELLED'])
  }
})

test('[B3.document.version] the description of area B is of version 1.0.0, and every answer is as it says', async () => {
  const { reporting } = openapiDocuments()
  assert.equal(reporting.info['version'], '1.0.0')
  assert.ok(Object.keys(reporting.paths).every((one) => one.startsWith('/reports/v1/')))
  assert.equal((await call(p.url, { path: '/docs/openapi/reporting.json' })).json.info.title, reporting.info['title'])
  const ajv = new Ajv({ strict: true, allErrors: true })
  addFormats.default(ajv)
  await p.kaha.sandboxClock.advance(new Date(p.kaha.clock.now().getTime() + 24 * hourMs))
  const [batch] = (await p.sdk.reports.listSettlements()).data
  const [row] = (await p.sdk.reports.listTransactions()).data
  for (const { id, path: pattern, success } of Object.values(reportingOperations)) {
    const where = pattern.replace('{id}', row?.id ?? '').replace('{batch_number}', batch?.batch_number ?? '')
    const answer = await call(p.url, { path: where, key: p.seed.partner.secret_key })
    const validate = ajv.compile(success[200].schema)
    assert.ok(validate(answer.json), `${id}: ${JSON.stringify(validate.errors)} in ${answer.text}`)
  }
})
