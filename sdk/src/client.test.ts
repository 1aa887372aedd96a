import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import * as contract from '@kaha/contract'
import type { Operation } from '@kaha/contract'
import { peer, refusal, type Peer } from '../test/peer.ts'
import * as payersPage from './checkout.ts'
import {
  createCheckout,
  createKaha,
  createTerminals,
  KahaConnectionError,
  KahaError,
  type CallOptions,
  type CreatePaymentLink,
} from './index.ts'

const apiKey = 'sk_test_0123456789ABCDEFGHIJKLMN'
const id = '0198f5a2-6f10-7a44-8c57-1f0e6a2b9d01'
const kahaOf = ({ url }: Peer) => createKaha({ baseUrl: url, apiKey })

const card = { number: '4242424242424242', exp_month: 12, exp_year: 2040, cvc: '123' }
const confirmation = { payment_method: { type: 'card', card } } as const
const link: CreatePaymentLink = {
  type: 'one_time',
  currency: 'PHP',
  amount: 25000,
  line_items: [{ sku: 'B', name: 'Kapeng barako ☕', unit_price: 12500, quantity: 2 }],
}

const terminalsOf = ({ url }: Peer) => createTerminals({ baseUrl: url, apiKey, apiSecret: 'secret' })

type Call = (kaha: ReturnType<typeof createKaha>, terminals: ReturnType<typeof createTerminals>) => Promise<unknown>
const calls: Readonly<Record<string, Call>> = {
  createWebhookEndpoint: ({ webhooks }) =>
    webhooks.createEndpoint({ url: 'https://shop.example.com/hooks', enabled_events: ['payment.succeeded'] }),
  listWebhookEndpoints: ({ webhooks }) => webhooks.listEndpoints(),
  retrieveWebhookEndpoint: ({ webhooks }) => webhooks.retrieveEndpoint(id),
  updateWebhookEndpoint: ({ webhooks }) => webhooks.updateEndpoint(id, { disabled: true }),
  deleteWebhookEndpoint: ({ webhooks }) => webhooks.deleteEndpoint(id),
  retrieveSigningSecret: ({ webhooks }) => webhooks.retrieveSigningSecret(id),
  rotateSigningSecret: ({ webhooks }) => webhooks.rotateSigningSecret(id),
  listWebhookEvents: ({ webhooks }) => webhooks.listEvents(),
  retrieveWebhookEvent: ({ webhooks }) => webhooks.retrieveEvent(id),
  resendWebhookEvent: ({ webhooks }) => webhooks.resendEvent(id),
  recoverWebhookEndpoint: ({ webhooks }) => webhooks.recoverEndpoint(id, { date_from: '2026-01-15T00:00:00Z' }),
  testWebhookEndpoint: ({ webhooks }) => webhooks.testEndpoint(id, { type: 'payment.expired' }),
  listReportMerchants: ({ reports }) => reports.listMerchants(),
  listReportBranches: ({ reports }) => reports.listBranches(),
  listReportTransactions: ({ reports }) => reports.listTransactions(),
  retrieveReportTransaction: ({ reports }) => reports.retrieveTransaction(id),
  listSettlements: ({ reports }) => reports.listSettlements(),
  retrieveSettlement: ({ reports }) => reports.retrieveSettlement(id),
  createPaymentLink: ({ paymentLinks }) => paymentLinks.create(link),
  listPaymentLinks: ({ paymentLinks }) => paymentLinks.list(),
  retrievePaymentLink: ({ paymentLinks }) => paymentLinks.retrieve(id),
  updatePaymentLink: ({ paymentLinks }) => paymentLinks.update(id, { description: null, max_uses: 5 }),
  cancelPaymentLink: ({ paymentLinks }) => paymentLinks.cancel(id),
  createPaymentIntent: ({ paymentIntents }) => paymentIntents.create({ amount: 100, currency: 'PHP' }),
  retrievePaymentIntent: ({ paymentIntents }) => paymentIntents.retrieve(id),
  confirmPaymentIntent: ({ paymentIntents }) => paymentIntents.confirm(id, confirmation),
  cancelPaymentIntent: ({ paymentIntents }) => paymentIntents.cancel(id),
  createRefund: ({ refunds }) => refunds.create({ payment_intent_id: id, amount: 100 }),
  retrieveRefund: ({ refunds }) => refunds.retrieve(id),
  listTerminals: (_kaha, terminals) => terminals.list(),
  createTerminalPayment: (_kaha, terminals) =>
    terminals.pay(id, { amount: '150.00', currency: 'PHP', paymentMethod: 'CARD' }),
  listTerminalTransactions: (_kaha, terminals) => terminals.listTransactions(),
  retrieveTerminalTransaction: (_kaha, terminals) => terminals.retrieve(id),
  voidTerminalTransaction: (_kaha, terminals) => terminals.void(id),
  cancelTerminalTransaction: (_kaha, terminals) => terminals.cancel(id),
  createTerminalWebhook: (_kaha, terminals) =>
    terminals.webhooks.create({ url: 'https://till.example.com/hook', events: ['payment.completed'] }),
  listTerminalWebhooks: (_kaha, terminals) => terminals.webhooks.list(),
  retrieveTerminalWebhook: (_kaha, terminals) => terminals.webhooks.retrieve(id),
  updateTerminalWebhook: (_kaha, terminals) => terminals.webhooks.update(id, { status: 'disabled' }),
  deleteTerminalWebhook: (_kaha, terminals) => terminals.webhooks.delete(id),
  readSandboxClock: ({ sandbox }) => sandbox.readClock(),
  startVirtualTerminal: ({ sandbox }) => sandbox.startTerminal({ group_id: id, device_id: 'sim-approve' }),
  stopVirtualTerminal: ({ sandbox }) => sandbox.stopTerminal(id),
  readAsBank: ({ sandbox }) => sandbox.readAsBank({ qr_text: '000201' }),
  payAsBank: ({ sandbox }) => sandbox.payAsBank({ qr_text: '000201', outcome: 'SUCCESS' }),
  advanceSandboxClock: ({ sandbox }) => sandbox.advanceClock({ seconds: 60 }),
}

const declared = Object.values(contract).flatMap((value) => ('success' in Object(value) ? [value as Operation] : []))
// The QR service has a client of its own.
const operations = declared.filter(({ area }) => !area.startsWith('qr'))

test('every operation of the contract can be called', () => {
  assert.deepEqual(Object.keys(calls).toSorted(), operations.map(({ id: name }) => name).toSorted())
})

for (const operation of operations) {
  test(`${operation.id} sends what its operation says and gives back the answer as it came`, async () => {
    const answer = { id, amount: 999_999_999_999, nested: { list: [1, null, '₱'] } }
    await using server = await peer({ body: answer })
    assert.deepEqual(await calls[operation.id]?.(kahaOf(server), terminalsOf(server)), answer)

    const [sent, ...more] = server.arrived
    assert.equal(more.length, 0)
    assert.equal(sent?.method, operation.method)
    assert.equal(sent?.url, operation.path.replace(/\{\w+\}/, id))
    assert.equal(sent?.headers['x-api-key'], apiKey)
    assert.equal(sent?.headers.accept, 'application/json')
    assert.equal(sent?.headers['content-type'], operation.body === undefined ? undefined : 'application/json')
    assert.equal('idempotency-key' in (sent?.headers ?? {}), operation.idempotency !== undefined)
    assert.equal(sent?.body === '', operation.body === undefined)
    assert.equal('x-signature' in (sent?.headers ?? {}), operation.auth === 'signed')
  })
}

test('the controls of a sandbox are asked where they answer, and all else at the base address', async () => {
  await using base = await peer({})
  await using own = await peer({})
  const kaha = createKaha({ baseUrl: base.url, sandboxUrl: `${own.url}/controls/`, apiKey })
  await kaha.sandbox.readClock()
  await kaha.sandbox.stopTerminal('sim-approve')
  await kaha.paymentLinks.retrieve(id)
  assert.deepEqual(
    [own, base].map(({ arrived }) => arrived.map(({ url }) => url)),
    [['/controls/clock', '/controls/terminals/sim-approve'], [`/ecom/v1/payment-links/${id}`]],
  )
})

test('a body arrives as it was given', async () => {
  await using server = await peer({ status: 201 })
  await kahaOf(server).paymentLinks.create({ ...link, metadata: { π: 'ñ' } })
  assert.deepEqual(JSON.parse(server.arrived[0]?.body ?? ''), { ...link, metadata: { π: 'ñ' } })
})

test('a resend names its endpoint where one is given, and sends an empty object where none is', async () => {
  await using server = await peer({ status: 202 }, { status: 202 })
  const { webhooks } = kahaOf(server)
  await webhooks.resendEvent(id)
  await webhooks.resendEvent(id, { endpoint_id: id })
  assert.deepEqual(
    server.arrived.map(({ body }) => JSON.parse(body) as unknown),
    [{}, { endpoint_id: id }],
  )
})

test('a cancel of a link sends its reason, or an empty object; a cancel takes an Idempotency-Key of your own', async () => {
  await using server = await peer({}, {}, {})
  const { paymentLinks, paymentIntents } = kahaOf(server)
  await paymentLinks.cancel(id)
  await paymentLinks.cancel(id, { reason: 'Sold out.' }, { idempotencyKey: 'order-1001' })
  await paymentIntents.cancel(id, { idempotencyKey: 'order-1001' })
  assert.deepEqual(
    server.arrived.map(({ body }) => body),
    ['{}', '{"reason":"Sold out."}', ''],
  )
  assert.deepEqual(
    server.arrived.slice(1).map(({ headers }) => headers['idempotency-key']),
    ['order-1001', 'order-1001'],
  )
})

test('a create that its signal ends once it was sent tells the key that was made for it, and has the reason as its cause', async () => {
  const reason = new Error('the shopper left')
  const left = async (idempotencyKey?: string) => {
    const leaving = new AbortController()
    await using server = await peer(() => leaving.abort(reason))
    const refunding = kahaOf(server).refunds.create(
      { payment_intent_id: id, amount: 100 },
      { signal: leaving.signal, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) },
    )
    const thrown = await refunding.catch((error: unknown) => error)
    return { thrown, sent: server.arrived.map(({ headers }) => headers['idempotency-key']) }
  }
  const { thrown, sent } = await left()
  assert.ok(thrown instanceof KahaConnectionError)
  assert.deepEqual([thrown.reason, [thrown.idempotencyKey], thrown.cause], ['ABORTED', sent, reason])
  assert.equal((await left('order-1001')).thrown, reason, 'whoever gave the key has it')
  await using server = await peer(refusal(503, 'UNAVAILABLE', { 'retry-after': '50' }))
  const waiting = new AbortController()
  const asked = kahaOf(server).refunds.create({ payment_intent_id: id }, { signal: waiting.signal })
  while (server.arrived.length === 0) await setImmediate()
  setTimeout(() => waiting.abort(reason), 50)
  await assert.rejects(asked, { reason: 'ABORTED', idempotencyKey: server.arrived[0]?.headers['idempotency-key'] })
  await assert.rejects(
    kahaOf(server).refunds.create({ payment_intent_id: id }, { signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
    'nothing was sent',
  )
})

test('an update sends what is given and nothing else, null included; a rotation sends its overlap, or an empty object', async () => {
  await using server = await peer({}, {}, {}, {})
  const { webhooks } = kahaOf(server)
  const change = { description: null, metadata: { team: 'orders' } }
  await webhooks.updateEndpoint(id, change)
  await webhooks.updateEndpoint(id, {})
  await webhooks.rotateSigningSecret(id)
  await webhooks.rotateSigningSecret(id, { overlap_seconds: 0 })
  assert.deepEqual(
    server.arrived.map(({ body }) => JSON.parse(body) as unknown),
    [change, {}, {}, { overlap_seconds: 0 }],
  )
})

test('an address with a path and slashes at its end is kept', async () => {
  await using server = await peer({})
  await createKaha({ baseUrl: `${server.url}/pay//`, apiKey }).paymentLinks.retrieve(id)
  assert.equal(server.arrived[0]?.url, `/pay/ecom/v1/payment-links/${id}`)
})

test('an id with the signs of an address in it stays one segment', async () => {
  await using server = await peer({})
  await kahaOf(server).paymentLinks.retrieve('a/b?c=d#e%20 ñ')
  assert.equal(server.arrived[0]?.url, '/ecom/v1/payment-links/a%2Fb%3Fc%3Dd%23e%2520%20%C3%B1')
})

test('an id that would lead to another path is refused before anything is sent', async () => {
  await using server = await peer({})
  for (const wrong of ['', '.', '..', undefined as never]) {
    await assert.rejects(kahaOf(server).paymentLinks.retrieve(wrong), TypeError)
  }
  assert.equal(server.arrived.length, 0)
})

test('lists are joined by commas, signs of an address are encoded, and what is undefined is left out', async () => {
  await using server = await peer({})
  await kahaOf(server).paymentLinks.list({
    status: ['ACTIVE', 'EXPIRED'],
    merchant_branch_reference_number: 'Makati & Sons+1',
    date_from: '2026-01-15T10:30:00.000+08:00',
    page_size: 200,
    ...({ cursor: undefined } as object),
  })
  const { pathname, search, searchParams } = new URL(server.arrived[0]?.url ?? '', server.url)
  assert.equal(pathname, '/ecom/v1/payment-links')
  assert.deepEqual(
    [...searchParams],
    [
      ['status', 'ACTIVE,EXPIRED'],
      ['merchant_branch_reference_number', 'Makati & Sons+1'],
      ['date_from', '2026-01-15T10:30:00.000+08:00'],
      ['page_size', '200'],
    ],
  )
  assert.match(search, /date_from=2026-01-15T10%3A30%3A00.000%2B08%3A00/)
})

test('a payer confirms with the client_secret and without any key', async () => {
  await using server = await peer({ body: { id, status: 'SUCCEEDED' } })
  const checkout = createCheckout({ baseUrl: server.url })
  const intent = await checkout.confirm(id, { ...confirmation, client_secret: 'cs_1' })
  assert.equal(intent.status, 'SUCCEEDED')
  assert.equal('x-api-key' in (server.arrived[0]?.headers ?? {}), false)
  assert.deepEqual(JSON.parse(server.arrived[0]?.body ?? ''), { ...confirmation, client_secret: 'cs_1' })
})

test("a payer's page tells what a confirm throws by the errors of its own module, which are those of the client", async () => {
  await using server = await peer('cut', refusal(401, 'UNAUTHORIZED'))
  const confirm = () => createCheckout({ baseUrl: server.url }).confirm(id, { ...confirmation, client_secret: 'cs_1' })
  await assert.rejects(confirm(), payersPage.KahaConnectionError)
  await assert.rejects(confirm(), payersPage.KahaError)
  assert.deepEqual([payersPage.KahaConnectionError, payersPage.KahaError], [KahaConnectionError, KahaError])
})

test('a fetch of your own is used instead of the global one', async () => {
  const seen: string[] = []
  const fetch = async (input: unknown): Promise<Response> => {
    seen.push(String(input))
    return Response.json({ id })
  }
  await createKaha({ baseUrl: 'http://localhost:1', apiKey, fetch }).paymentIntents.retrieve(id)
  assert.deepEqual(seen, [`http://localhost:1/ecom/v1/payment-intents/${id}`])
})

// Lists.

const page = (from: number, to: number, next: string | null) => ({
  body: {
    data: Array.from({ length: to - from }, (_none, index) => ({ id: String(from + index) })),
    pagination: { page_size: 2, has_more: next !== null, next_cursor: next },
  },
})

test('iterating over a list gives every item of every page, with the same filters on each', async () => {
  await using server = await peer(page(0, 2, 'c+1'), page(2, 4, 'c/2'), page(4, 5, null))
  const ids: string[] = []
  for await (const one of kahaOf(server).paymentLinks.listAll({ status: ['ACTIVE'], page_size: 2 })) ids.push(one.id)
  assert.deepEqual(ids, ['0', '1', '2', '3', '4'])
  assert.deepEqual(
    server.arrived.map(({ url }) => Object.fromEntries(new URL(url, server.url).searchParams)),
    [
      { status: 'ACTIVE', page_size: '2' },
      { status: 'ACTIVE', page_size: '2', cursor: 'c+1' },
      { status: 'ACTIVE', page_size: '2', cursor: 'c/2' },
    ],
  )
})

test('iterating begins at a cursor that is given, and reads no further page than it needs', async () => {
  await using server = await peer(page(2, 4, 'next'))
  for await (const one of kahaOf(server).webhooks.listAllEvents({ cursor: 'from' })) {
    assert.equal(one.id, '2')
    break
  }
  assert.deepEqual(
    server.arrived.map(({ url }) => url),
    ['/v1/webhook_events?cursor=from'],
  )
})

test('nothing is read before the first item is asked for, and an empty list has none', async () => {
  await using server = await peer(page(0, 0, null))
  const endpoints = kahaOf(server).webhooks.listAllEndpoints()
  assert.equal(server.arrived.length, 0)
  for await (const one of endpoints) assert.fail(one.id)
  assert.equal(server.arrived.length, 1)
})

test('a list whose cursor does not move on ends with an error and not never', async () => {
  await using server = await peer(page(0, 1, 'same'))
  const read = async (): Promise<void> => {
    for await (const one of kahaOf(server).paymentLinks.listAll()) assert.ok(one)
  }
  await assert.rejects(read(), /same cursor twice/)
})

test('a list that has more and gives no cursor for it ends with an error, neither without one nor never', async () => {
  for (const next_cursor of [undefined, null, '', 7]) {
    const lost = { body: { data: [{ id: '1' }], pagination: { page_size: 2, has_more: true, next_cursor } } }
    await using server = await peer(page(0, 1, 'c1'), lost, page(0, 1, 'c1'), lost, page(2, 3, null))
    const ids: string[] = []
    const read = async (): Promise<void> => {
      for await (const one of kahaOf(server).paymentLinks.listAll()) ids.push(one.id)
    }
    await assert.rejects(read(), /the list has more, and gave no cursor/)
    assert.deepEqual(ids, ['0', '1'])
  }
})

test('a list that has no items or no pagination is an UNEXPECTED_ANSWER', async () => {
  for (const body of [{ data: [] }, { data: [], pagination: null }, { pagination: { has_more: false } }, {}]) {
    await using server = await peer({ body })
    const read = async (): Promise<void> => {
      for await (const one of kahaOf(server).paymentLinks.listAll()) assert.fail(one.id)
    }
    await assert.rejects(read(), { name: 'KahaError', code: 'UNEXPECTED_ANSWER', operation: 'listPaymentLinks' })
  }
})

test('an error in the middle of a list reaches who iterates', async () => {
  await using server = await peer(page(0, 1, 'stale'), {
    status: 400,
    body: { error: { code: 'INVALID_CURSOR', message: '' } },
  })
  const read = async (): Promise<void> => {
    for await (const one of kahaOf(server).paymentLinks.listAll()) assert.ok(one)
  }
  await assert.rejects(read(), (error) => error instanceof KahaError && error.code === 'INVALID_CURSOR')
})

test('an export comes as the bytes that were sent, and whoever leaves it ends the connection', async () => {
  const csv = { 'content-type': 'text/csv; charset=utf-8' }
  let ended = (): void => {}
  const left = new Promise<void>((resolve) => (ended = resolve))
  await using server = await peer({ headers: csv, body: 'id\r\nñ\r\n' }, (response) => {
    response.on('close', ended)
    response.writeHead(200, csv).write('id\r\n')
  })
  const { reports } = kahaOf(server)
  assert.equal(await new Response(await reports.exportTransactions({ status: ['CAPTURED'] })).text(), 'id\r\nñ\r\n')
  assert.equal(server.arrived[0]?.url, '/reports/v1/transactions?status=CAPTURED')
  assert.equal(server.arrived[0]?.headers.accept, 'text/csv')
  const reader = (await reports.exportTransactions()).getReader()
  assert.equal(new TextDecoder().decode((await reader.read()).value), 'id\r\n')
  await reader.cancel()
  await left
})

test('an export that is refused throws what the answer says, and one that breaks off fails', async () => {
  const refused = { status: 400, body: { error: { code: 'BAD_REQUEST', message: 'cursor: is not one of this list.' } } }
  await using server = await peer(refused, (response) => {
    response.writeHead(200, { 'content-type': 'text/csv' }).write('id\r\n', () => response.destroy())
  })
  const { reports } = kahaOf(server)
  await assert.rejects(reports.exportTransactions({ cursor: 'x' }), { code: 'BAD_REQUEST', status: 400 })
  const read = async (options?: CallOptions) => new Response(await reports.exportTransactions({}, options)).text()
  await assert.rejects(read(), { name: 'KahaConnectionError', operation: 'listReportTransactions' })
})

test('an export whose signal ends it in the middle fails with the reason of the signal', async () => {
  const controller = new AbortController()
  await using server = await peer((response) => {
    response.writeHead(200, { 'content-type': 'text/csv' }).write('id\r\n')
  })
  const reader = (await kahaOf(server).reports.exportTransactions({}, { signal: controller.signal })).getReader()
  await reader.read()
  controller.abort(new Error('enough'))
  await assert.rejects(reader.read(), /^Error: enough$/)
})
