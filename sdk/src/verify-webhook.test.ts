import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook, WebhookVerificationError, type Delivered, type WebhookRefusal } from './index.ts'

interface Vector {
  readonly secret: string
  readonly id: string
  readonly timestamp: number
  readonly body: string
  readonly signature: string
}

const file = new URL('../../server/test/vectors/webhook-signatures.json', import.meta.url)
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: Vector[] }

const secret = 'whsec_Elt3C0NPjI92xSY1bnYl7BEceyIb1azDjZa4XrMmcRQ='
const other = `whsec_${randomBytes(32).toString('base64')}`
const id = '0198f5a2-7c1e-7d3a-9b1f-2a6f0c9d4e11'
const at = 1_768_473_000
const now = new Date(at * 1_000)
const event = {
  id,
  type: 'payment.succeeded',
  created_at: '2026-01-15T10:30:00.000Z',
  data: { amount: 25000, note: 'ñ ☕ ₱' },
}
const body = JSON.stringify(event)

/** Made by hand, so that no verifier vouches for itself. */
const signed = (key: string, parts: { id?: string; at?: number | string; body?: string | Uint8Array } = {}): string => {
  const hmac = createHmac('sha256', Buffer.from(key.replace('whsec_', ''), 'base64'))
  hmac.update(`${parts.id ?? id}.${parts.at ?? at}.`).update(parts.body ?? body)
  return `v1,${hmac.digest('base64')}`
}

const headers = (over: Record<string, string | undefined> = {}) => ({
  'webhook-id': id,
  'webhook-timestamp': String(at),
  'webhook-signature': signed(secret),
  ...over,
})

const verify = (over: Partial<Delivered> = {}) =>
  verifyWebhook({ payload: body, headers: headers(), secret, now, ...over })

const refuses = (reason: WebhookRefusal, over: Partial<Delivered>): void =>
  assert.throws(
    () => verify(over),
    (error) => error instanceof WebhookVerificationError && error.reason === reason,
    `${reason}: ${inspect(over)}`,
  )

test('the signatures of the published vectors are accepted, and what they sign is given back', () => {
  for (const vector of cases) {
    const delivered = {
      payload: vector.body,
      headers: {
        'webhook-id': vector.id,
        'webhook-timestamp': String(vector.timestamp),
        'webhook-signature': vector.signature,
      },
      secret: vector.secret,
      now: new Date(vector.timestamp * 1_000),
    }
    const { id: eventId, data } = JSON.parse(vector.body) as { id?: string; data?: unknown }
    if (eventId === undefined) {
      // Signed rightly, and yet no event of ours.
      assert.throws(() => verifyWebhook(delivered), { name: 'WebhookVerificationError', reason: 'payload' })
      assert.throws(() => verifyWebhook({ ...delivered, payload: `${vector.body} ` }), { reason: 'signature' })
    } else {
      assert.deepEqual(verifyWebhook(delivered), { id: eventId, type: 'payment.succeeded', data })
    }
  }
  assert.equal(cases.length, 2)
})

test('what the reference library signs is accepted, whatever the text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), fc.string({ unit: 'grapheme' }), (bytes, note) => {
      const key = `whsec_${Buffer.from(bytes).toString('base64')}`
      const payload = JSON.stringify({ ...event, data: { note } })
      const signature = new Webhook(key).sign(id, now, payload)
      const found = verify({ payload, headers: headers({ 'webhook-signature': signature }), secret: key })
      assert.deepEqual(found.data, { note })
    }),
  )
})

test('the reference library refuses and accepts the same deliveries as we do', () => {
  const wall = Math.floor(Date.now() / 1_000)
  const list = (...texts: string[]): string => texts.join(' ')
  const good = signed(secret, { at: wall })
  const lists = [
    good,
    list('v1,AAAA', good),
    list(good, signed(other, { at: wall })),
    list('v2,xyz', 'v1', '', good),
    signed(other, { at: wall }),
    good.replace('v1', 'v2'),
    good.slice(0, -1),
    good.slice(3),
    'v1,',
    'v1',
    ',',
    ' ',
  ]
  const outcomes = lists.map((text) => {
    const given = headers({ 'webhook-timestamp': String(wall), 'webhook-signature': text })
    const passes = (check: () => unknown): boolean => {
      try {
        return check() !== undefined
      } catch {
        return false
      }
    }
    const ours = passes(() => verifyWebhook({ payload: body, headers: given, secret }))
    assert.equal(
      ours,
      passes(() => new Webhook(secret).verify(body, given as Record<string, string>)),
      text,
    )
    return ours
  })
  assert.deepEqual(
    outcomes,
    lists.map((_text, index) => index < 4),
  )
})

test('a delivery is accepted 300 seconds before and after its time, and not 301', () => {
  const later = (seconds: number) => ({ now: new Date((at + seconds) * 1_000) })
  assert.deepEqual(verify(later(300)), event)
  assert.deepEqual(verify(later(-300)), event)
  assert.deepEqual(verify({ now: new Date((at + 301) * 1_000 - 1) }), event)
  refuses('timestamp', later(301))
  refuses('timestamp', later(-301))
})

test('the tolerance is a setting, and one that is no number tolerates nothing', () => {
  const later = new Date((at + 5) * 1_000)
  assert.deepEqual(verify({ toleranceSeconds: 5, now: later }), event)
  refuses('timestamp', { toleranceSeconds: 4, now: later })
  assert.deepEqual(verify({ toleranceSeconds: 0 }), event)
  refuses('timestamp', { toleranceSeconds: Number.NaN })
  refuses('timestamp', { now: new Date(Number.NaN) })
})

test('without a time of the caller the clock of the machine decides', () => {
  const { now: _now, ...delivered } = { payload: body, headers: headers(), secret, now }
  assert.throws(() => verifyWebhook(delivered), { reason: 'timestamp' })
})

test('a body with one changed, missing or added byte is refused', () => {
  const bytes = Buffer.from(body)
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (place, change) => {
      const payload = Uint8Array.from(bytes, (byte, index) => (index === place ? byte ^ change : byte))
      refuses('signature', { payload })
    }),
  )
  refuses('signature', { payload: bytes.subarray(1) })
  refuses('signature', { payload: `${body}\n` })
  refuses('signature', { payload: JSON.stringify(JSON.parse(body), null, 2) })
  refuses('signature', { payload: '' })
})

test('another id or another time than the signed one is refused', () => {
  refuses('signature', { headers: headers({ 'webhook-id': `${id}x` }) })
  refuses('signature', { headers: headers({ 'webhook-timestamp': String(at + 1) }) })
})

test('another secret is refused, and of several secrets each is accepted', () => {
  refuses('signature', { secret: other })
  refuses('signature', { secret: [other] })
  assert.deepEqual(verify({ secret: [other, secret] }), event)
  assert.deepEqual(verify({ secret: [secret, other] }), event)
})

test('of several signatures each is accepted, in any place', () => {
  const old = signed(other)
  for (const text of [`${old} ${signed(secret)}`, `${signed(secret)} ${old}`, `v1a,AAAA ${old} ${signed(secret)}`]) {
    assert.deepEqual(verify({ headers: headers({ 'webhook-signature': text }) }), event)
  }
})

test('a list of signatures in which none is whole is refused', () => {
  const good = signed(secret)
  const wrong = [
    'v1,',
    'v1',
    ',',
    ' ',
    '  ',
    good.toUpperCase(),
    good.slice(3),
    `v1, ${good.slice(3)}`,
    `${good},`,
    `${good}=`,
    good.replace(/=+$/, ''),
    good.replace('v1', 'v2'),
    `v1,${good}`,
    `\t${good}`,
    'v1,'.repeat(5_000),
    ' '.repeat(10_000),
  ]
  for (const text of wrong) refuses('signature', { headers: headers({ 'webhook-signature': text }) })
})

test('each of the three headers is needed, and no header may come twice', () => {
  for (const name of Object.keys(headers())) {
    refuses('headers', { headers: headers({ [name]: undefined }) })
    refuses('headers', { headers: headers({ [name]: '' }) })
    const value = headers()[name as 'webhook-id']
    refuses('headers', { headers: { ...headers(), [name]: [value, value] } })
    refuses('headers', { headers: { ...headers(), [name.toUpperCase()]: value } })
  }
  refuses('headers', { headers: {} })
  refuses('headers', { headers: new Headers() })
})

test('a time that is not whole seconds in decimal is refused, also with a signature over it', () => {
  for (const text of [`${at}.0`, `0${at}`, ` ${at}`, `+${at}`, `${at}abc`, '1e9', '0x10', '-1', `${at}000000`]) {
    const signature = signed(secret, { at: text })
    refuses('timestamp', { headers: headers({ 'webhook-timestamp': text, 'webhook-signature': signature }) })
  }
})

test('an id with a dot is refused: what is signed as id and as time could be read in two ways', () => {
  const given = headers({ 'webhook-id': 'a.b', 'webhook-signature': signed(secret, { id: 'a.b' }) })
  refuses('headers', { headers: given })
})

test('a signed body that is no event is refused', () => {
  const bad = [
    '',
    'x',
    '[]',
    'null',
    '"text"',
    '7',
    '{}',
    '{"id":"1","type":"t"}',
    '{"id":"1","type":"t","data":null}',
    '{"id":1,"type":"t","data":{}}',
  ]
  const latin = Buffer.from('{"id":"1","type":"t","data":{"note":"\xf1"}}', 'latin1')
  const bytes = [latin, Uint8Array.of(0xff), Buffer.concat([Buffer.from(body), Buffer.of(0xc3)])]
  for (const payload of [...bad, ...bytes]) {
    refuses('payload', { payload, headers: headers({ 'webhook-signature': signed(secret, { body: payload }) }) })
  }
})

test('a type or a field that this version does not know comes through', () => {
  const payload = JSON.stringify({ ...event, type: 'payment.teleported', more: true })
  const given = headers({ 'webhook-signature': signed(secret, { body: payload }) })
  assert.deepEqual(verify({ payload, headers: given }), { ...event, type: 'payment.teleported', more: true })
})

test('text and bytes of a body are the same', () => {
  for (const payload of [body, Buffer.from(body), new Uint8Array(Buffer.from(body))]) {
    assert.deepEqual(verify({ payload }), event)
  }
})

test('headers are found in a Headers object, in any case, and as Node has them', async () => {
  const upper = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]))
  const listed = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name, [value]]))
  for (const given of [new Headers(headers()), upper, listed, { ...headers(), get: 'a header called get' }]) {
    assert.deepEqual(verify({ headers: given as Delivered['headers'] }), event)
  }

  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sent = fetch(url, { method: 'POST', headers: headers(), body })
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, { end(): void }]
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  assert.deepEqual(verify({ headers: request.headers, payload: Buffer.concat(chunks) }), event)
  assert.deepEqual(verify({ headers: request.headersDistinct, payload: Buffer.concat(chunks) }), event)
  response.end()
  await (await sent).arrayBuffer()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

test('a secret is taken with or without its prefix and its padding', () => {
  const bare = secret.slice('whsec_'.length)
  for (const one of [bare, bare.replace('=', ''), secret.replace('=', '')]) {
    assert.deepEqual(verify({ secret: one }), event)
  }
})

test('what is no signing secret is an error of the receiver, not of the delivery, and is not repeated', () => {
  const wrong = [
    '',
    'whsec_',
    'whsec_!hunter2!',
    'hunter2-hunter2',
    'whsec_hunter2',
    'sk_test_hunter2',
    `${secret}\n`,
    [] as string[],
    [secret, ''],
    'null',
    'whsec_AAAA',
    `whsec_${Buffer.alloc(23).toString('base64')}`,
    `whsec_${Buffer.alloc(65).toString('base64')}`,
    ...[null, true, 12345678, [null], ['AAAA']].map((one) => one as unknown as string),
  ]
  for (const one of wrong) {
    assert.throws(
      () => verify({ secret: one }),
      (error) => error instanceof TypeError && !/hunter2|Elt3/.test(inspect(error)),
      inspect(one),
    )
  }
})

test('a refusal tells nothing of the secret or of the signature that would have passed', () => {
  const good = signed(secret).slice(3)
  const refusals: Partial<Delivered>[] = [
    { payload: `${body} ` },
    { headers: {} },
    { now: new Date(0) },
    { headers: headers({ 'webhook-signature': 'v1,AAAA' }) },
  ]
  for (const over of refusals) {
    assert.throws(
      () => verify(over),
      (error) => {
        const printed = inspect(error, { depth: 9, showHidden: true })
        return !printed.includes(secret.slice(6)) && !printed.includes(good)
      },
    )
  }
})
