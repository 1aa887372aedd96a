import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  confirmPaymentIntent,
  createPaymentIntent,
  createPaymentLink,
  createRefund,
  ecommerceOperations,
  type Operation,
} from '@kaha/contract'
import { isUuid } from '../../src/kernel/ids.ts'
import { cardOf, newKey, platform } from '../platform.ts'
import { call, type Call } from './call.ts'
import { linkFor } from './people.ts'
import { assertDocumented, bodyOf, refusal, rowsOf, shop, withoutWorker } from './shop.ts'

// What a refusal of area C looks like, and which code a broken rule gets.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)
const key = p.merchant.secret_key
const intentId: string = bodyOf(await merchant.createIntent(), 201).id
const paidId: string = bodyOf(await merchant.createIntent(), 201).id
bodyOf(await merchant.confirm(paidId), 200)

/** An operation with a body, at an intent where it needs one. */
const post = async (operation: Operation, sent: Partial<Call>) => {
  const path = operation.path.replace('{id}', intentId)
  const answer = await call(p.url, { method: 'POST', path, key, headers: { 'idempotency-key': newKey() }, ...sent })
  assertDocumented(operation, answer)
  return answer
}
// Those that may lack one have files of their own.
const withBody = Object.values<Operation>(ecommerceOperations).filter(
  ({ method, body, bodyOptional }) => method === 'POST' && body !== undefined && bodyOptional !== true,
)
const usual: Readonly<Record<string, Record<string, unknown>>> = {
  createPaymentLink: linkFor(p.branch.reference_number),
  createPaymentIntent: { amount: 9800, currency: 'PHP', merchant_branch_reference_number: p.branch.reference_number },
  confirmPaymentIntent: { payment_method: { type: 'card', card: cardOf() } },
  createRefund: { payment_intent_id: paidId, amount: 1 },
}

test('C4.errors.envelope: a refusal without a field has code, message and correlation_id; one with a field has details as well', async () => {
  const without = await merchant.retrieveIntent('01890000-0000-7000-8000-000000000000')
  assert.equal(without.status, 404)
  assert.deepEqual(Object.keys(without.json), ['error'])
  assert.deepEqual(Object.keys(without.json.error).toSorted(), ['code', 'correlation_id', 'message'])
  assert.ok(isUuid(without.json.error.correlation_id))
  assert.equal(without.json.error.correlation_id, without.headers['x-correlation-id'])

  const with1 = await merchant.createLink({ description: 'x'.repeat(256) })
  assert.deepEqual(Object.keys(with1.json.error).toSorted(), ['code', 'correlation_id', 'details', 'message'])
  assert.deepEqual(with1.json.error.details, { field: 'description', rule: 'max_length' })
  const again = await merchant.createLink({ description: 'x'.repeat(256) })
  assert.notEqual(again.json.error.correlation_id, with1.json.error.correlation_id)
})

test('[C4.errors.details, C4.errors.bad-request] a blank description is told as the contract shows it: field description, rule non_blank', async () => {
  for (const description of ['', ' ', '\t\n', '\u00a0']) {
    const answer = await merchant.createIntent({ description })
    assert.equal(refusal(answer), '400 BAD_REQUEST description non_blank')
  }
  assert.equal(
    refusal(await merchant.createLink({ description: 'é'.repeat(256) })),
    '400 INVALID_DESCRIPTION description max_length',
  )
  bodyOf(await merchant.createLink({ description: '𝄞'.repeat(255) }), 201)
})

const brokenBodies: readonly (readonly [says: string, bytes: string | Buffer])[] = [
  ['no body', ''],
  ['half of a body', '{"amount": 98'],
  ['two bodies', '{}{}'],
  ['an array', '[]'],
  ['a text', '"amount"'],
  ['null', 'null'],
  ['a comment', '{} // nothing'],
  ['single quotes', "{'amount': 1}"],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ['NUL in a text', '{"description":"a\\u0000b"}'],
  ['half of a surrogate pair', '{"description":"\\ud83d"}'],
  ['a key of the prototype', '{"__proto__":{"amount":1}}'],
  ['a field that nobody knows', '{"surprise":1}'],
]
for (const operation of withBody) {
  test(`C4.errors.bad-request: ${operation.id} tells of a malformed body, a missing field and an unknown one`, async () => {
    for (const [says, bytes] of brokenBodies) {
      const answer = await post(operation, { bytes })
      assert.deepEqual([answer.status, answer.json.error.code], [400, 'BAD_REQUEST'], says)
    }
    const right = usual[operation.id]
    assert.equal(
      refusal(await post(operation, { body: { ...right, surprise: 1 } })),
      '400 BAD_REQUEST surprise unknown',
    )
    // The control: without the surprise it is taken, by an intent that nobody else needs.
    const path = operation.path.replace('{id}', bodyOf(await merchant.createIntent(), 201).id)
    assert.ok((await post(operation, { path, body: right })).status < 300)
  })
}

test('C4.errors.bad-request: what is missing, unknown or blank is named by its whole path', async () => {
  const line = { sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }
  for (const [operation, fields, refused] of [
    [createPaymentLink, { line_items: [{ ...line, sku: undefined }] }, 'line_items.0.sku required'],
    [createPaymentLink, { line_items: [{ ...line, colour: 'red' }] }, 'line_items.0.colour unknown'],
    [createPaymentLink, { line_items: [{ ...line, name: ' ' }] }, 'line_items.0.name non_blank'],
    [
      createPaymentLink,
      { redirect_urls: { cancelled: 'https://shop.example.com' } },
      'redirect_urls.cancelled unknown',
    ],
    [createPaymentIntent, { order_reference: ' ' }, 'order_reference non_blank'],
    [createPaymentIntent, { client_secret: 'cs_x' }, 'client_secret unknown'],
    [createRefund, { payment_intent_id: undefined }, 'payment_intent_id required'],
    [createRefund, { reason: ' ' }, 'reason non_blank'],
    [createRefund, { currency: 'PHP' }, 'currency unknown'],
    [confirmPaymentIntent, { amount: 1 }, 'amount unknown'],
  ] as const)
    assert.equal(
      refusal(await post(operation, { body: { ...usual[operation.id], ...fields } })),
      `400 BAD_REQUEST ${refused}`,
    )
})

type FieldCase = readonly [operation: Operation, field: string, values: readonly unknown[], code: string]
const created = [createPaymentLink, createPaymentIntent] as const
const fieldCases: readonly FieldCase[] = [
  [createPaymentLink, 'type', ['x', 1, null, ['one_time']], 'INVALID_TYPE'],
  ...created.flatMap((operation): FieldCase[] => [
    [operation, 'currency', ['php', 'P', 1, null], 'INVALID_CURRENCY'],
    [operation, 'amount', [0, -1, 1.5, '1', null, true, 1e12, 1e300], 'INVALID_AMOUNT'],
    [operation, 'description', [1, null, ['a'], 'x'.repeat(256)], 'INVALID_DESCRIPTION'],
    [operation, 'order_reference', [1, null, {}, 'x'.repeat(101)], 'INVALID_ORDER_REFERENCE'],
    [operation, 'metadata', [null, [], 'a', 1, { a: 1 }, { a: null }, { a: {} }], 'INVALID_METADATA'],
    [
      operation,
      'redirect_urls',
      [null, 'https://shop.example.com', { success: 1 }, { success: 'shop' }],
      'INVALID_REDIRECT_URLS',
    ],
    [
      operation,
      'expires_at',
      [1, null, 'soon', '2060-13-01T00:00:00Z', '2060-01-01', '2060-01-01T00:00:00'],
      'INVALID_EXPIRES_AT',
    ],
    [
      operation,
      'merchant_branch_reference_number',
      [1, null, 'NOWHERE', 'x'.repeat(101)],
      'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
    ],
  ]),
  [createPaymentLink, 'line_items', [null, {}, 'x', [], [1]], 'INVALID_LINE_ITEMS'],
  [createPaymentLink, 'max_uses', [0, -1, 1.5, '1', 1_000_001], 'INVALID_MAX_USES'],
  [createRefund, 'payment_intent_id', [1, null, 'mug'], 'INVALID_PAYMENT_INTENT_ID'],
  [createRefund, 'amount', [0, -1, 1.5, '1', null, true, 1e12, 1e300], 'INVALID_AMOUNT'],
  [createRefund, 'reason', [1, null, {}, 'x'.repeat(501)], 'INVALID_REASON'],
  [createPaymentIntent, 'payment_link_id', [1, null, 'mug'], 'INVALID_PAYMENT_LINK_ID'],
  [confirmPaymentIntent, 'client_secret', [1, null], 'INVALID_CLIENT_SECRET'],
  [
    confirmPaymentIntent,
    'payment_method',
    [1, null, 'card', { type: 'cash', card: cardOf() }],
    'INVALID_PAYMENT_METHOD',
  ],
]
for (const [operation, field, values, code] of fieldCases) {
  test(`C4.errors.field: ${operation.id} tells of a wrong ${field} as ${code}`, async () => {
    for (const value of values) {
      const body = {
        ...usual[operation.id],
        type: operation === createPaymentLink ? 'multi_use' : undefined,
        [field]: value,
      }
      const answer = await post(operation, { body })
      const { code: told, details } = answer.json.error
      assert.deepEqual([answer.status, told], [400, code], JSON.stringify(value))
      assert.equal(details.field.split('.')[0], field)
    }
  })
}

test('C4.confirm.order: a card or its method that is missing, or has a field of another type, is told after the client_secret and the state of the intent', async () => {
  const { id, client_secret: secret } = bodyOf(await merchant.createIntent(), 201)
  const confirm = async (method: unknown, client_secret: string) =>
    refusal(await merchant.confirmBy(method, id, { client_secret }))
  assert.equal(await confirm({ type: 'card' }, secret), '400 BAD_REQUEST payment_method.card required')
  const wrongCards = [{ exp_month: '12' }, { exp_month: 6.5 }, { number: 42 }, { cvc: null }, { surprise: 1 }]
  const wrong = [
    undefined,
    null,
    { type: 'cash' },
    { type: 'card' },
    { type: 'card', card: 'none' },
    { type: 'card', card: {} },
    { type: 'qrph', card: cardOf() },
    ...wrongCards.map((card) => ({ type: 'card', card: { ...cardOf(), ...card } })),
  ]
  for (const method of wrong) {
    assert.equal(await confirm(method, 'another'), '401 UNAUTHORIZED')
    assert.match(await confirm(method, secret), /^400 (INVALID_CARD|INVALID_PAYMENT_METHOD|BAD_REQUEST) payment_method/)
  }
  bodyOf(await merchant.confirm(id), 200)
  for (const method of wrong) {
    assert.equal(await confirm(method, 'another'), '401 UNAUTHORIZED')
    assert.equal(await confirm(method, secret), '409 INVALID_STATE')
    assert.equal(refusal(await merchant.confirmBy(method, id)), '409 INVALID_STATE')
  }
})

test('C4.errors.unauthorized: without a key, or with one that is not known, every operation of area C answers 401', async () => {
  for (const operation of Object.values(ecommerceOperations)) {
    for (const wrong of [
      undefined,
      '',
      'sk_test_',
      `${key}x`,
      key.slice(0, -1),
      key.toUpperCase(),
      'sk_live_aaaaaaaaaaaaaaaaaaaaaaaa',
    ]) {
      const answer = await call(p.url, {
        method: operation.method,
        path: operation.path.replace('{id}', intentId),
        ...(wrong === undefined ? {} : { key: wrong }),
        ...(operation.method === 'POST' ? { body: usual[operation.id] } : {}),
      })
      assert.equal(refusal(answer), '401 UNAUTHORIZED', `${operation.id} with ${wrong}`)
      assertDocumented(operation, answer)
    }
  }
})

test('C4.errors.internal: a defect of ours is a 500 that tells nothing of its cause, and the log tells it under the correlation id', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id } = bodyOf(await own.createIntent(), 201)
  await rowsOf(one, 'alter table ecommerce.links rename column order_reference to secret_column')
  await rowsOf(one, 'alter table payments.intents rename column order_reference to secret_column')
  for (const answer of [
    await own.createLink(),
    await own.listLinks(),
    await own.retrieveLink(id),
    await own.createIntent(),
    await own.retrieveIntent(id),
    await own.confirm(id),
  ]) {
    assert.equal(refusal(answer), '500 INTERNAL_ERROR')
    assert.doesNotMatch(answer.text, /column|select|order_reference|secret|postgres|\.ts|stack|42703/i)
    const lines = one.logged.filter((line) => line.includes(answer.json.error.correlation_id))
    assert.ok(
      lines.some((line) => line.includes('order_reference')),
      'the log does not tell the cause',
    )
  }
})
