import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { assertRefused, call } from '../../test/conformance/call.ts'
import { platform } from '../../test/platform.ts'
import { keyOfSecret, sign } from '../delivery/signature.ts'
import { inboxUrl, moveInbox } from './inbox.ts'

const p = await platform({ after })
const path = `/sandbox/inbox/${p.merchant.id}`
const send = (host: string) => call(p.url, { method: 'POST', path, headers: { host }, body: {} })

test('the inbox answers to the names of this machine alone, and believes nothing without a signature', async () => {
  const { port } = new URL(p.url)
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.nip.io'])
    assertRefused(path, await send(host), 421, 'MISDIRECTED_REQUEST')
  for (const host of [`127.0.0.1:${port}`, 'localhost', '[::1]']) assert.equal((await send(host)).status, 401, host)
})

test('the inbox takes what comes for its endpoint, however many newer ones the merchant has', async () => {
  await p.sdk.webhooks.createEndpoint({ url: `${p.url}${path}`, enabled_events: ['payment.succeeded'] })
  for (let others = 0; others < 100; others += 1)
    await p.sdk.webhooks.createEndpoint({ url: `${p.url}/${others}`, enabled_events: ['payment.expired'] })
  await p.pay()
  const { data } = await p.sdk.webhooks.listEvents({ branch_id: p.branch.id })
  assert.deepEqual(
    data.map(({ status }) => status),
    ['DELIVERED'],
  )
})

test('what is signed and is no event of a known type is 400, and nothing is told of it', async () => {
  const { id } = await p.sdk.webhooks.createEndpoint({
    url: `https://x.example${path}`,
    enabled_events: ['payment.succeeded'],
  })
  const { signing_secret: secret } = await p.sdk.webhooks.retrieveSigningSecret(id)
  const post = (body: string) => {
    const message = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1000), body }
    const headers = {
      'webhook-id': message.id,
      'webhook-timestamp': String(message.timestamp),
      'webhook-signature': sign([keyOfSecret(secret)], message),
    }
    return call(p.url, { method: 'POST', path, headers, bytes: body })
  }
  for (const body of ['hello', 'null', '5', '[]', '{}', '{"type":"\\u001b[2Jpayment.succeeded"}', '{"type":"other"}'])
    assertRefused(path, await post(body), 400, 'BAD_REQUEST')
  assert.equal((await post('{"type":"payment.succeeded"}')).status, 204)
})

test('the inbox follows a process to another port, and stays where somebody put it on purpose', async (t) => {
  const its = await platform(t)
  const { sdk, merchant, kaha } = its
  const to = 'http://127.0.0.1:1'
  const move = () => moveInbox(kaha.delivery, merchant.id, to)
  await move()
  assert.deepEqual((await sdk.webhooks.listEndpoints()).data, [])

  const enabled_events: ['payment.succeeded'] = ['payment.succeeded']
  const other = await sdk.webhooks.createEndpoint({ url: `${its.url}/hook`, enabled_events })
  const made = await sdk.webhooks.createEndpoint({ url: inboxUrl(its.url, merchant.id), enabled_events })
  await move()
  await move()
  const moved = await sdk.webhooks.retrieveEndpoint(made.id)
  assert.equal(moved.url, inboxUrl(to, merchant.id))
  assert.deepEqual({ ...moved, url: '', updated_at: '' }, { ...made, url: '', updated_at: '' })
  assert.deepEqual(await sdk.webhooks.retrieveEndpoint(other.id), other)

  const tunnel = inboxUrl('https://tunnel.example', merchant.id)
  const { id } = await sdk.webhooks.createEndpoint({ url: tunnel, enabled_events })
  await move()
  assert.equal((await sdk.webhooks.retrieveEndpoint(id)).url, tunnel)
})
