import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as sdk from './index.ts'

// What callers get wrong to whom no compiler says so.

const baseUrl = 'http://platform.test'
const secretKey = 'sk_test_0123456789ABCDEFGHIJKLMN'
const sent: string[] = []
const page = { data: [], pagination: { has_more: false, next_cursor: null }, webhooks: [] }
const fetch: typeof globalThis.fetch = async (url) => {
  sent.push(url instanceof Request ? url.url : url.toString())
  return Response.json(page)
}

type Method = (...given: readonly unknown[]) => unknown
function methodsOf(name: string, client: object): [string, Method][] {
  return Object.entries(client).flatMap(([key, value]) =>
    typeof value === 'function'
      ? [[`${name}.${key}`, value as Method] as [string, Method]]
      : methodsOf(`${name}.${key}`, value as object),
  )
}
const methods = [
  ...methodsOf('kaha', sdk.createKaha({ baseUrl, apiKey: secretKey, fetch })),
  ...methodsOf('terminals', sdk.createTerminals({ baseUrl, apiKey: 'key', apiSecret: 'secret', fetch })),
  ...methodsOf('qr', sdk.createKahaQr({ qrUrl: baseUrl, secretKey, encryptionKey: 'k'.repeat(32), fetch })),
  ...methodsOf('webhooks', sdk.createKahaQrWebhooks({ webhooksUrl: baseUrl, secretKey, fetch })),
  ...methodsOf('checkout', sdk.createCheckout({ baseUrl, fetch })),
]

/** What is thrown, however; undefined where nothing is. */
const thrownBy = async (work: () => unknown): Promise<unknown> => {
  try {
    const answer = work()
    if (typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer)
      await Array.fromAsync(answer as AsyncIterable<unknown>)
    else await answer
    return undefined
  } catch (error) {
    return error
  }
}
/** Of the language, where something of ours should have looked. */
const isRaw = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof URIError) &&
  !/ (must be|is missing)/.test(error.message) &&
  !(error instanceof sdk.KahaConnectionError)

const wrong = [undefined, null, Number.NaN, 42, true, 'text', '\ud800', [], {}, { cursor: null }, new Date()]

test('no method sends a path or a query of what is undefined, null or an object, and what is wrong is told by its name', async () => {
  assert.ok(methods.length > 60)
  for (const [name, method] of methods) {
    const sets = wrong.flatMap((one) =>
      wrong.flatMap((other) => [
        [one, other],
        ['id', one, other],
      ]),
    )
    for (const given of [[], ...wrong.map((one) => [one]), ...sets]) {
      sent.length = 0
      const error = await thrownBy(() => method(...given))
      assert.ok(!isRaw(error), `${name}(${JSON.stringify(given)}): ${String(error)}`)
      for (const url of sent)
        assert.ok(!/undefined|null|NaN|object|[?&]0=/.test(url), `${name}(${JSON.stringify(given)}) asks ${url}`)
    }
  }
})

test('a body that is none is not sent, and what is named well is', async () => {
  const kaha = sdk.createKaha({ baseUrl, apiKey: secretKey, fetch })
  const terminals = sdk.createTerminals({ baseUrl, apiKey: 'key', apiSecret: 'secret', fetch })
  const create = kaha.paymentIntents.create as Method
  const pay = terminals.pay as Method
  sent.length = 0
  for (const body of [undefined, null, 'text', []]) {
    await assert.rejects(async () => create(body), /^TypeError: body must be an object$/)
    await assert.rejects(async () => pay('T1', body), /^TypeError: body must be an object$/)
  }
  await assert.rejects(async () => (kaha.paymentLinks.list as Method)({ cursor: null }), /cursor must be a text/)
  assert.equal(sent.length, 0)
  const webhooks = sdk.createKahaQrWebhooks({ webhooksUrl: baseUrl, secretKey, fetch })
  await webhooks.delete(7)
  await (webhooks.delete as Method)('8')
  assert.deepEqual(sent, [`${baseUrl}/v1/webhooks/7`, `${baseUrl}/v1/webhooks/8`])
})

test('a number that JSON does not have, or a time that is none, is told by its name wherever it is, and not sent as null', async () => {
  const kaha = sdk.createKaha({ baseUrl, apiKey: secretKey, fetch })
  const terminals = sdk.createTerminals({ baseUrl, apiKey: 'key', apiSecret: 'secret', fetch })
  const qr = sdk.createKahaQr({ qrUrl: baseUrl, secretKey, encryptionKey: 'k'.repeat(32), fetch })
  const webhooks = sdk.createKahaQrWebhooks({ webhooksUrl: baseUrl, secretKey, fetch })
  const { confirm } = sdk.createCheckout({ baseUrl, fetch })
  const calls: readonly (readonly [name: string, call: (value: unknown) => unknown])[] = [
    ['max_uses', (value) => (kaha.paymentLinks.update as Method)('id', { max_uses: value })],
    [
      'line_items.1.quantity',
      (value) => (kaha.paymentLinks.create as Method)({ line_items: [{}, { quantity: value }] }),
    ],
    ['prices.2', (value) => (kaha.paymentIntents.create as Method)({ metadata: {}, prices: [1, 2, value] })],
    [
      'payment_method.card.exp_year',
      (value) => (confirm as Method)('id', { payment_method: { card: { exp_year: value } } }),
    ],
    ['products.0.price', (value) => (terminals.pay as Method)('T1', { amount: '1.00', products: [{ price: value }] })],
    ['amount', (value) => (qr.create as Method)({ amount: value })],
    ['amount', (value) => (webhooks.simulate as Method)({ amount: value })],
  ]
  sent.length = 0
  for (const [name, call] of calls)
    for (const value of [NaN, Infinity, -Infinity, new Date(NaN)])
      await assert.rejects(async () => call(value), new RegExp(`^TypeError: ${name.replaceAll('.', '\\.')} must be a `))
  assert.deepEqual(sent, [])
  await (kaha.paymentLinks.update as Method)('id', {
    max_uses: null,
    expires_at: new Date(0),
    amount: 1,
    gone: undefined,
  })
  assert.equal(sent.length, 1)
})

test('a text that no header holds as it is, is told by its name', async () => {
  const kaha = sdk.createKaha({ baseUrl, apiKey: secretKey, fetch })
  const webhooks = sdk.createKahaQrWebhooks({ webhooksUrl: baseUrl, secretKey, fetch })
  sent.length = 0
  for (const text of ['order-niño-1', 'заказ-1001', 'order-1001\n', ' order-1001']) {
    const create = kaha.paymentIntents.create({ amount: 9800, currency: 'PHP' }, { idempotencyKey: text })
    await assert.rejects(create, /^TypeError: idempotencyKey must be /)
    const body = {
      webhookUrl: 'https://shop.example/qr',
      actions: ['QRPH_SUCCESS' as const],
      status: 'ENABLED' as const,
    }
    await assert.rejects(webhooks.register(body, { activationCode: text }), /^TypeError: activationCode must be /)
  }
  assert.deepEqual(sent, [])
})

test('a client that is given no options is told so', () => {
  const creates = [sdk.createKaha, sdk.createTerminals, sdk.createKahaQr, sdk.createKahaQrWebhooks, sdk.createCheckout]
  for (const create of creates as unknown as Method[])
    for (const given of [[], [null], [baseUrl]])
      assert.throws(() => create(...given), /^TypeError: options must be an object$/)
})

test('a client whose key is not set is told so as it is made', () => {
  for (const [name, create] of [
    ['apiKey', (key) => (sdk.createKaha as Method)({ baseUrl, apiKey: key })],
    ['apiKey', (key) => (sdk.createTerminals as Method)({ baseUrl, apiKey: key, apiSecret: 's' })],
    ['secretKey', (key) => (sdk.createKahaQr as Method)({ qrUrl: baseUrl, secretKey: key, encryptionKey: 'k' })],
    ['secretKey', (key) => (sdk.createKahaQrWebhooks as Method)({ webhooksUrl: baseUrl, secretKey: key })],
  ] satisfies [string, Method][])
    for (const key of [undefined, null, '', 7])
      assert.throws(() => create(key), new RegExp(`^TypeError: ${name} must be the key exactly as issued`))
})

test('a client whose settings cannot be is told so as it is made, by their names', () => {
  const creates: readonly Method[] = [
    (given) => sdk.createKaha({ baseUrl, apiKey: secretKey, ...(given as object) }),
    (given) => sdk.createTerminals({ baseUrl, apiKey: 'key', apiSecret: 's', ...(given as object) }),
    (given) => sdk.createKahaQr({ qrUrl: baseUrl, secretKey, encryptionKey: 'k'.repeat(32), ...(given as object) }),
    (given) => sdk.createKahaQrWebhooks({ webhooksUrl: baseUrl, secretKey, ...(given as object) }),
  ]
  // A payer's page sends what it sends once.
  const checkout: Method = (given) => sdk.createCheckout({ baseUrl, ...(given as object) })
  for (const create of [...creates, checkout]) {
    for (const [given, says] of [
      [{ timeoutMs: -1 }, /^RangeError: timeoutMs must be a number from 0 on$/],
      [{ timeoutMs: Number.NaN }, /^RangeError: timeoutMs must be/],
      [{ fetch: 1 }, /^TypeError: fetch must be a function$/],
    ] as const)
      assert.throws(() => create(given), says)
    create({ timeoutMs: undefined, maxRetries: undefined, fetch: undefined })
  }
  for (const create of creates) assert.throws(() => create({ maxRetries: 'often' }), /^RangeError: maxRetries must be/)
})

test('a signal that is none, and a bigint, are told by their names and not taken for a lost connection', async () => {
  sent.length = 0
  const kaha = sdk.createKaha({ baseUrl, apiKey: secretKey, fetch })
  for (const signal of [null, {}, 'now']) {
    const told = /^TypeError: signal must be an AbortSignal$/
    await assert.rejects(async () => (kaha.paymentLinks.list as Method)({}, { signal }), told)
    await assert.rejects(async () => (kaha.reports.exportTransactions as Method)({}, { signal }), told)
  }
  const { pay } = sdk.createTerminals({ baseUrl, apiKey: 'key', apiSecret: 'secret', fetch }) as { pay: Method }
  const body = { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD' }
  for (const signal of [null, {}])
    await assert.rejects(async () => pay('T1', body, { signal }), /^TypeError: signal must be an AbortSignal$/)
  const create = kaha.paymentIntents.create as Method
  await assert.rejects(
    async () => create({ amount: 100n }),
    /^TypeError: amount must not be a bigint, which JSON does not have$/,
  )
  assert.deepEqual(sent, [])
})

test('what may be left out may be undefined', async () => {
  sent.length = 0
  const kaha = sdk.createKaha({ baseUrl, apiKey: secretKey, fetch })
  const none = undefined
  const call = { signal: none, timeoutMs: none, maxRetries: none, idempotencyKey: none }
  await kaha.paymentLinks.list({ page_size: none, status: none }, call)
  await kaha.paymentIntents.create({ amount: 100, currency: 'PHP', description: none }, call)
  assert.deepEqual(sent, [`${baseUrl}/ecom/v1/payment-links`, `${baseUrl}/ecom/v1/payment-intents`])
})

test('a webhook that was parsed before it is verified, or has no headers, is told so', () => {
  const secret = 'whsec_YWJj'
  for (const verify of [sdk.verifyWebhook, sdk.verifyTerminalWebhook] as unknown as Method[]) {
    assert.throws(() => verify({ payload: { id: 'x' }, headers: {}, secret }), /payload must be the body exactly/)
    assert.throws(() => verify({ payload: '{}', secret }), /headers must be an object/)
    assert.throws(() => verify(undefined), /the delivery must be an object/)
  }
})

test('a terminal line is not opened without what it needs', async () => {
  const open = sdk.connectTerminal as Method
  const options = { baseUrl, apiKey: 'key', hear: () => {} }
  for (const [given, says] of [
    [undefined, /options must be an object/],
    [{ ...options, baseUrl: undefined }, /baseUrl must be a text/],
    [{ ...options, apiKey: undefined }, /apiKey must be a text/],
    [{ ...options, hear: undefined }, /hear must be a function/],
  ] as const)
    await assert.rejects(async () => open(given), says)
  assert.throws(() => (sdk.createTerminals as Method)({ baseUrl, apiKey: 'key' }), /apiSecret must be a text/)
})
