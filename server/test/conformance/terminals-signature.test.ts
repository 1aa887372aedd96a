import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { platform } from '../platform.ts'
import { result, sale, shopOf, signedCall, signedHeaders } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused, call, type Answer } from './call.ts'

const frozen = Date.now()
const p = await platform({ after }, { choices: { wall: () => frozen } })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const terminal = await shop.connect()

const path = '/terminal/v1/terminals'
const ask = (headers: Record<string, string>, to = path) => call(p.url, { path: to, headers })
const right = (more: Partial<Parameters<typeof signedHeaders>[1]> = {}) =>
  signedHeaders(shop.desktop, { path, at: frozen, ...more })
const without = (name: string) => Object.fromEntries(Object.entries(right()).filter(([one]) => one !== name))

test('[D5.signature.headers, D5.errors.unauthorized, D5.errors.invalid-signature] a request needs its key, its time and its signature', async () => {
  assert.equal((await ask(right())).status, 200)
  assertRefused(path, await ask(without('x-api-key')), 401, 'UNAUTHORIZED')
  assertRefused(path, await ask(without('x-timestamp')), 401, 'TIMESTAMP_EXPIRED')
  assertRefused(path, await ask(without('x-signature')), 401, 'INVALID_SIGNATURE')
  assertRefused(path, await ask({ ...right(), 'x-api-key': `tk_${'0'.repeat(32)}` }), 401, 'UNAUTHORIZED')
  assertRefused(path, await ask({ ...right(), 'x-api-key': p.merchant.secret_key }), 401, 'UNAUTHORIZED')
})

test('[D5.signature.window, X0.clocks.system.signature-window] five minutes either way are taken, and a second more is not', async () => {
  for (const ms of [-300_000, 300_000, 0]) assert.equal((await ask(right({ at: frozen + ms }))).status, 200)
  for (const ms of [-301_000, 301_000, -300_001, 300_001])
    assertRefused(path, await ask(right({ at: frozen + ms })), 401, 'TIMESTAMP_EXPIRED')
})

test('[D5.signature.path-as-sent, D5.signature.path-prefix, D5.signature.query] the path as sent is signed, or the path after the prefix, without the query', async () => {
  assert.equal((await ask(right({ path: '/v1/terminals' }))).status, 200)
  assert.equal((await ask(right(), path)).status, 200)
  const list = '/terminal/v1/transactions?pageSize=1'
  assert.equal((await ask(right({ path: list }), list)).status, 200)
  assert.equal((await ask(right({ path: list }), '/terminal/v1/transactions?pageSize=2')).status, 200)
  // A request line may have the whole address; its path is the path.
  assert.equal((await ask(right(), `${p.url}${path}`)).status, 200)
  assertRefused(path, await ask(right({ path: `${p.url}${path}` }), path), 401, 'INVALID_SIGNATURE')
  for (const other of ['/terminal/v1/transactions', '/v1/terminals/', '/terminals', `${path}%20`]) {
    const answer = await ask(right({ path: other }))
    assertRefused(path, answer, 401, 'INVALID_SIGNATURE')
    // What was to be signed is told.
    assert.ok(answer.text.includes('GET, /v1/terminals, ') && answer.text.includes(hash('sha256', '')), answer.text)
  }
  const wrong = { ...shop.desktop, api_secret: `${shop.desktop.api_secret.slice(0, -1)}!` }
  assertRefused(path, await ask(signedHeaders(wrong, { path, at: frozen })), 401, 'INVALID_SIGNATURE')
})

test('[D5.signature.exact-body, D5.signature.empty-body] the hash is over the bytes as sent: one altered byte is refused', async () => {
  const to = `/terminal/v1/terminals/${shop.first.device_id}/payments`
  const bytes = `{ "amount": 150.00,\n "currency": "PHP", "paymentMethod": "CARD", "metadata": {"note": "kape ☕ ñ ₱"} }`
  const headers = signedHeaders(shop.desktop, { method: 'POST', path: to, bytes, at: frozen })
  const send = (body: string): Promise<Answer> => call(p.url, { method: 'POST', path: to, headers, bytes: body })
  for (const altered of [bytes.replace('150', '151'), `${bytes} `, bytes.replace('☕', '☔'), 'no JSON', ''])
    assertRefused(to, await send(altered), 401, 'INVALID_SIGNATURE')
  const paying = send(bytes)
  const { transactionId } = await terminal.next('payment')
  terminal.send(result(transactionId))
  const answer = await paying
  assert.deepEqual([answer.status, answer.json.metadata], [200, { note: 'kape ☕ ñ ₱' }])
})

test('[D5.signature.replay, D5.signature.replay-committed] the same signed payment again joins or replays the first, and charges once', async () => {
  const body = { ...sale, metadata: { once: true } }
  const pay = () =>
    signedCall(
      p.url,
      shop.desktop,
      { method: 'POST', path: `/v1/terminals/${shop.first.device_id}/payments`, body },
      frozen - 5,
    )
  const both = [pay(), pay()]
  const { transactionId } = await terminal.next('payment')
  const third = pay()
  terminal.send(result(transactionId))
  const answers = [...(await Promise.all(both)), await third, await pay()]
  for (const answer of answers) assert.deepEqual([answer.status, answer.json.transactionId], [200, transactionId])
  await terminal.settled()
  assert.equal(terminal.received.filter(({ action }) => action === 'payment').length, 2)
  const used = statement(
    'test.used',
    `select count(*)::int as n, min(expires_at) as kept_until from terminals.used_signatures where signature is not null`,
  )
  const [row] = await p.kaha.db.run<{ n: number; kept_until: Date }>(used, [])
  assert.equal(row?.n, 2)
  // A body may take half a minute after its headers were in time, and another process's clock may be ahead.
  assert.ok(row.kept_until.getTime() >= frozen - 5 + 6 * 60_000, row.kept_until.toISOString())
})

test('[D5.signature.exact-body] the body of a GET is signed as it was sent, like any other', async () => {
  const body = Buffer.from('{ "page": 1 }')
  const signedOver = (bytes: string) => signedHeaders(shop.desktop, { path, bytes, at: frozen })
  const sent = (headers: Record<string, string>, bytes: Buffer | string) => call(p.url, { path, headers, bytes })
  assert.equal((await sent(signedOver(body.toString()), body)).status, 200)
  for (const bytes of ['', '{"page":1}'])
    assertRefused(path, await sent(signedOver(bytes), body), 401, 'INVALID_SIGNATURE')
  for (const bytesMore of [1, 1024 * 1024]) {
    const large = ' '.repeat(256 * 1024 + bytesMore)
    assertRefused(path, await sent(signedOver(large), large), 400, 'INVALID_REQUEST')
    // By the same connection.
    assert.equal((await sent(signedOver(''), '')).status, 200)
  }
})

test('[D5.handshake.device, D5.signature.path-as-sent] a device id may have spaces, which a path has in percent-encoding', async () => {
  const spaced = await shop.connect({ ...shop.second, device_id: 'TERM 001' })
  const order = { method: 'POST', path: '/v1/terminals/TERM%20001/payments', body: sale }
  const paying = shop.ask(order, frozen)
  spaced.send(result((await spaced.next('payment')).transactionId))
  assert.equal((await paying).status, 200)
  await spaced.close()
})

test('signatures that count no more go as fast as they came', async () => {
  const all = statement(
    'test.signatures',
    `select count(*)::int as n from terminals.used_signatures where expires_at < '2020-01-01'`,
  )
  const many = statement(
    'test.manySignatures',
    `insert into terminals.used_signatures (key_id, signature, transaction_id, expires_at)
     select gen_random_uuid(), decode(md5(n::text) || md5(n::text), 'hex'), t.id, '2019-01-01'
       from generate_series(1, 12000) n, (select id from terminals.transactions limit 1) t`,
  )
  await p.kaha.db.run(many, [])
  // A thousand in each turn, which would take a minute with the pause of a turn that leaves none.
  await until('that they are gone', async () => (await p.kaha.db.run<{ n: number }>(all, []))[0]?.n === 0)
})

test('D5.signature.constant-time: a signature is compared by crypto.timingSafeEqual', async () => {
  // That the time is constant is no test's to measure here; that no other comparison is there, is.
  const { readFile } = await import('node:fs/promises')
  const source = await readFile(new URL('../../src/areas/terminals/signature.ts', import.meta.url), 'utf8')
  assert.match(source, /timingSafeEqual\(expected, given\)/)
  assert.doesNotMatch(source, /given\.equals|=== given/)
})

test('[D5.keys.group-header, D5.list.role] a key has a role and a group, and a request that names another is refused, once it is signed rightly', async () => {
  const headers = right()
  for (const groupId of [shop.groupId, shop.groupId.toUpperCase()])
    assert.equal((await ask({ ...headers, 'x-group-id': groupId })).status, 200)
  const other = p.seed.merchants[1]?.terminal_group.id ?? ''
  assertRefused(path, await ask({ ...headers, 'x-group-id': other }), 403, 'GROUP_MISMATCH')
  assertRefused(path, await ask({ ...headers, 'x-group-id': 'none' }), 403, 'GROUP_MISMATCH')
  assertRefused(path, await ask(signedHeaders(shop.first, { path, at: frozen })), 403, 'GROUP_MISMATCH')
  // Who does not prove the key is told nothing of it.
  for (const { api_key } of [shop.first, shop.desktop]) {
    const wrong = signedHeaders({ api_key, api_secret: 'none' }, { path, at: frozen })
    assertRefused(path, await ask({ ...wrong, 'x-group-id': other }), 401, 'INVALID_SIGNATURE')
  }
})
