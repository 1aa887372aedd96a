import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { qrOperations, qrWebhookOperations } from '@kaha/contract'
import { openToken, sealToken, tokenKey } from '@kaha/qrph/token'
import { peer, type Act, type Arrived } from '../test/peer.ts'
import { createKahaQr, createKahaQrWebhooks, KahaConnectionError, KahaError, openNotification } from './index.ts'

const encryptionKey = 'f3Kq9ZtB7mXw2LrN8vYc5HsD1jPe6UaG'
const key = await tokenKey(encryptionKey)
const secretKey = 'sk_test_Zx81Qp0Lm4Ne7Rt2Vy5Wb9Ua'
const wanted = {
  activationCode: 'A9X4-B7P2-Q6Z8-M3L5',
  currency: 'PHP',
  amount: '98.00',
  merchantReferenceNumber: 'ORDER-1',
}
const error = { code: '20000005', error: 'Used before.', referenceNumber: '0198f5a2-9d3b-7c55-8e02-4b7a90c1d2e3' }

async function service(t: TestContext, ...acts: [Act, ...Act[]]) {
  const held = await peer(...acts)
  t.after(() => held[Symbol.asyncDispose]())
  const qr = createKahaQr({ qrUrl: `${held.url}/qr/`, secretKey, encryptionKey, maxRetries: 0 })
  return { qr, held }
}
const sealed = async (inside: object, status = 200): Promise<Act> => ({
  status,
  body: { Token: await sealToken(key, inside) },
})
const refused = (promise: Promise<unknown>): Promise<KahaError> =>
  promise.then(
    () => assert.fail('it was not refused'),
    (failure: unknown) => (assert.ok(failure instanceof KahaError), failure),
  )

test('what is sent is encrypted under the key of the account, and who sends it is told by HTTP Basic', async (t) => {
  const { qr, held } = await service(t, await sealed({ id: 'x' }))
  await qr.create(wanted)
  const { method, url, headers, body } = held.arrived[0] as Arrived
  assert.deepEqual([method, url], ['POST', '/qr/v1/pay/qr'])
  assert.equal(headers.authorization, `Basic ${Buffer.from(`${secretKey}:`).toString('base64')}`)
  assert.equal(headers['x-api-key'], undefined)
  const { Token, ...rest } = JSON.parse(body) as { Token: string }
  assert.deepEqual(rest, {})
  assert.deepEqual(await openToken(key, Token), wanted)
})

test('an answer is what its Token holds', async (t) => {
  const code = { id: 'x', status: 'PAID' }
  const { qr, held } = await service(t, await sealed(code))
  assert.deepEqual(await qr.retrieve('x'), code)
  assert.deepEqual(await qr.findByReference('ORDER 1&'), code)
  assert.deepEqual(
    held.arrived.map(({ url }) => url),
    ['/qr/v1/pay/qr/x', '/qr/v1/pay/qr?merchantReferenceNumber=ORDER+1%26'],
  )
})

test('a refusal is a KahaError with its eight digits, whether it came plain or as a Token', async (t) => {
  // What the service's log knows: the envelope's own UUID is in none.
  const headers = { 'x-correlation-id': '0198f5a2-9d3b-7c55-8e02-000000000001' }
  const body = { Token: await sealToken(key, error) }
  const { qr } = await service(t, { status: 422, body, headers }, { status: 401, body: error, headers })
  for (const status of [422, 401]) {
    const failure = await refused(qr.create(wanted))
    assert.deepEqual(
      [failure.status, failure.code, failure.message, failure.correlationId, failure.operation],
      [status, error.code, error.error, headers['x-correlation-id'], 'createQrCode'],
    )
  }
})

test('an answer that cannot be opened is none of this interface, and the key is named as a cause', async (t) => {
  const Token = await sealToken(await tokenKey('another'), { id: 'x' })
  const sealedOtherwise = [{ body: { Token } }, { body: { Token: 'x' } }, { status: 404, body: { Token } }] as const
  const { qr } = await service(t, ...sealedOtherwise, { body: 'no JSON' })
  for (const status of [200, 200, 404]) {
    const failure = await refused(qr.retrieve('x'))
    assert.deepEqual([failure.status, failure.code], [status, 'UNEXPECTED_ANSWER'])
    assert.match(failure.message, /encryption key/)
  }
  const { code, message } = await refused(qr.retrieve('x'))
  assert.equal(code, 'UNEXPECTED_ANSWER')
  assert.doesNotMatch(message, /encryption key/)
})

test('a creation without an answer is not sent a second time', async (t) => {
  const { qr, held } = await service(t, 'cut')
  await assert.rejects(qr.create(wanted), KahaConnectionError)
  assert.equal(held.arrived.length, 1)
})

test('ping gives the text of the service', async (t) => {
  const { qr, held } = await service(t, { headers: { 'content-type': 'text/plain' }, body: 'Pong!' })
  assert.equal(await qr.ping(), 'Pong!')
  assert.equal(held.arrived[0]?.url, '/qr/ping')
})

test('what is no answer of the service is told as such: another text than Pong!, a list without webhooks', async (t) => {
  const { qr, held } = await service(t, { body: '<html>' }, { body: '"Pong!"' }, { body: 'Pong' }, { body: { a: 1 } })
  const webhooks = createKahaQrWebhooks({ webhooksUrl: `${held.url}/webhooks`, secretKey })
  for (const asked of [qr.ping(), webhooks.ping(), qr.ping()])
    assert.equal((await refused(asked)).code, 'UNEXPECTED_ANSWER')
  const { code, operation } = await refused(webhooks.list())
  assert.deepEqual([code, operation], ['UNEXPECTED_ANSWER', 'listQrWebhooks'])
})

test('every operation of the service can be called', async (t) => {
  const { qr, held } = await service(t, await sealed({}), await sealed({}), await sealed({}), { body: 'Pong!' })
  await qr.create(wanted)
  await qr.findByReference('x')
  await qr.retrieve('x')
  await qr.ping()
  assert.deepEqual(
    held.arrived.map(({ method, url }) => `${method} ${url.replace('/qr/x', '/qr/{id}').replace(/\?.*/, '')}`),
    Object.values(qrOperations).map(({ method, path }) => `${method} ${path}`),
  )
})

test('a key that is none is refused without being told', () => {
  for (const wrong of ['', 'sk test', 'sk_test_\n'])
    assert.throws(
      () => createKahaQr({ qrUrl: 'http://localhost', secretKey: wrong, encryptionKey }),
      /exactly as issued/,
    )
})

test('every operation of the encrypted webhooks can be called, and an activation code goes along as a header', async (t) => {
  const webhook = { id: 7, status: 'ENABLED' }
  const held = await peer(
    { status: 201, body: webhook },
    { body: { webhooks: [webhook] } },
    { body: webhook },
    { status: 204, body: '' },
    { body: { id: 'x' } },
    { body: 'Pong!' },
  )
  t.after(() => held[Symbol.asyncDispose]())
  const webhooks = createKahaQrWebhooks({ webhooksUrl: `${held.url}/webhooks`, secretKey })
  const body = {
    webhookUrl: 'https://shop.example.com/qrph',
    actions: ['QRPH_SUCCESS' as const],
    status: 'ENABLED' as const,
  }
  assert.deepEqual(await webhooks.register(body, { activationCode: 'A9X4-B7P2-Q6Z8-M3L5' }), webhook)
  assert.deepEqual(await webhooks.list(), [webhook])
  assert.deepEqual(await webhooks.update(7, { status: 'DISABLED' }), webhook)
  assert.equal(await webhooks.delete(7), undefined)
  assert.deepEqual(await webhooks.simulate({ useCase: 'SUCCESS' }), { id: 'x' })
  assert.equal(await webhooks.ping(), 'Pong!')
  assert.deepEqual(
    held.arrived.map(({ method, url }) => `${method} ${url.replace('/7', '/{id}')}`),
    Object.values(qrWebhookOperations).map(({ method, path }) => `${method} ${path}`),
  )
  assert.equal(held.arrived[0]?.headers['activation-code'], 'A9X4-B7P2-Q6Z8-M3L5')
  assert.equal(held.arrived[1]?.headers['activation-code'], undefined)
})

test('a notification is opened with the secret key that registered, and anything else is refused', async () => {
  const inside = { action: 'QRPH_SUCCESS', referenceNumber: 'ORDER-1' }
  const data = await sealToken(await tokenKey(secretKey), inside)
  const body = JSON.stringify({ data })
  for (const payload of [body, Buffer.from(body), new TextEncoder().encode(body)])
    assert.deepEqual(await openNotification(payload, secretKey), inside)
  for (const parsed of [{ data }, undefined, null, 7])
    await assert.rejects(openNotification(parsed as never, secretKey), /^TypeError: payload must be the body exactly/)
  for (const payload of [
    Buffer.from([0xff]),
    '',
    '{}',
    '[]',
    'null',
    '{"data":1}',
    JSON.stringify({ data: 'x' }),
    JSON.stringify({ data: await sealToken(key, inside) }),
  ])
    await assert.rejects(openNotification(payload, secretKey), { name: 'TokenError' })
})
