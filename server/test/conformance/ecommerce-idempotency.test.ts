import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createPaymentIntent, createPaymentLink } from '@kaha/contract'
import * as fc from 'fast-check'
import { newKey, platform } from '../platform.ts'
import { call, type Answer } from './call.ts'
import { everybody, keyFor, linkFor } from './people.ts'
import { bodyOf, hourMs, jump, refusal, rowsOf, shop, lockOf, whileHeld, withoutWorker } from './shop.ts'

// One Idempotency-Key makes one thing: the first answer again, or the reason why not.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)
const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)

const isReplay = ({ headers }: Answer): boolean => {
  const told = headers['idempotent-replayed']
  assert.ok(told === undefined || told === 'true')
  return told === 'true'
}
const made = async (on = p): Promise<{ links: number; intents: number }> => {
  const [row] = await rowsOf<{ links: number; intents: number }>(
    on,
    `select (select count(*)::int from ecommerce.links) as links, (select count(*)::int from payments.intents) as intents`,
  )
  return row ?? { links: -1, intents: -1 }
}

/** Both operations that create, so that each rule is shown on both. */
const creates = [
  ['a link', merchant.createLink],
  ['an intent', merchant.createIntent],
] as const

for (const [what, create] of creates) {
  test(`C4.idempotency.required: ${what} is not made without an Idempotency-Key`, async () => {
    const before = await made()
    const refused = '400 INVALID_IDEMPOTENCY_KEY Idempotency-Key required'
    assert.equal(refusal(await create({}, { idempotencyKey: null })), refused)
    assert.deepEqual(await made(), before)
  })

  test(`C4.idempotency.replay: asked twice with one key, ${what} is made once, and the second answer is the first one again`, async () => {
    const before = await made()
    const idempotencyKey = newKey()
    const first = await create({ description: 'Once' }, { idempotencyKey })
    const again = await create({ description: 'Once' }, { idempotencyKey })
    assert.deepEqual([first.status, isReplay(first), again.status, isReplay(again)], [201, false, 201, true])
    assert.deepEqual(again.json, first.json)
    const { links, intents } = await made()
    assert.equal(links + intents, before.links + before.intents + 1)
    // The control: with another key the same request makes another one.
    const other = bodyOf(await create({ description: 'Once' }), 201)
    assert.notEqual(other.id, first.json.id)
  })

  test(`C4.idempotency.mismatch: a key that made ${what} is refused for anything else, valid or not`, async () => {
    const idempotencyKey = newKey()
    bodyOf(await create({}, { idempotencyKey }), 201)
    const before = await made()
    for (const fields of [
      { description: 'Other' },
      { metadata: {} },
      { metadata: { a: '1' } },
      { expires_at: '2020-01-01T00:00:00Z' },
      { merchant_branch_reference_number: 'NOWHERE' },
      { currency: 'USD' },
    ])
      assert.equal(
        refusal(await create(fields, { idempotencyKey })),
        '409 IDEMPOTENCY_MISMATCH',
        JSON.stringify(fields),
      )
    assert.deepEqual(await made(), before)
    assert.ok(isReplay(await create({}, { idempotencyKey })))
  })

  test(`C4.idempotency.errors-free: a request for ${what} that was refused changed nothing and leaves its key free`, async () => {
    const idempotencyKey = newKey()
    const before = await made()
    for (const fields of [
      { metadata: { a: 1 } },
      { currency: 'USD' },
      { expires_at: '2020-01-01T00:00:00Z' },
      { merchant_branch_reference_number: 'NOWHERE' },
    ])
      assert.equal((await create(fields, { idempotencyKey })).status, 400)
    assert.equal((await create({}, { idempotencyKey, key: 'sk_test_000000000000000000000000' })).status, 401)
    assert.deepEqual(await made(), before)
    const right = await create({}, { idempotencyKey })
    assert.deepEqual([right.status, isReplay(right)], [201, false])
  })

  test(`C4.idempotency.entity: entities use the same key without meeting; two keys of one entity meet (${what})`, async () => {
    const all = await everybody(p)
    const idempotencyKey = newKey()
    const asks = [
      [all.merchant, all.branch.reference],
      [all.branch, all.branch.reference],
      [all.partner, all.branch.reference],
      [all.otherMerchant, all.otherMerchantsBranch.reference],
      [all.otherPartnersBranch, all.otherPartnersBranch.reference],
    ] as const
    const ids = new Map<string, string>()
    for (const [{ id, key }, reference] of asks) {
      const answer = await create({ merchant_branch_reference_number: reference }, { idempotencyKey, key })
      assert.deepEqual([answer.status, isReplay(answer)], [201, false])
      ids.set(id, answer.json.id)
    }
    assert.equal(new Set(ids.values()).size, asks.length)
    for (const [entity, reference] of asks) {
      const { secretKey: key } = await keyFor(p, entity)
      const answer = await create({ merchant_branch_reference_number: reference }, { idempotencyKey, key })
      assert.deepEqual([answer.json.id, isReplay(answer)], [ids.get(entity.id), true])
    }
  })
}

test('C4.idempotency.form: a key has 8 to 64 of the allowed characters, and any other is refused', async () => {
  for (const idempotencyKey of ['A-z_0.9-', 'k'.repeat(64), '--------', '........'])
    assert.equal((await merchant.createLink({}, { idempotencyKey: idempotencyKey })).status, 201, idempotencyKey)
  const before = await made()
  const refused = '400 INVALID_IDEMPOTENCY_KEY Idempotency-Key format'
  for (const idempotencyKey of [
    '',
    'short-7',
    'k'.repeat(65),
    'with spaces',
    'slash/es',
    'plus+plus',
    'quote"quote',
    'ñandúñandú',
    'a,b,c,d,e',
  ]) {
    assert.equal(refusal(await merchant.createLink({}, { idempotencyKey })), refused, idempotencyKey)
    assert.equal(refusal(await merchant.createIntent({}, { idempotencyKey })), refused, idempotencyKey)
  }
  const twice = await call(p.url, {
    method: 'POST',
    path: createPaymentLink.path,
    key: p.merchant.secret_key,
    headers: { 'idempotency-key': [newKey(), newKey()] },
    body: linkFor(p.branch.reference_number),
  })
  assert.equal(refusal(twice), refused)
  assert.deepEqual(await made(), before)
})

test('C4.idempotency.replay: the first answer comes again as it was, whatever has become of the thing and of the time', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const expires_at = new Date(one.kaha.clock.now().getTime() + hourMs).toISOString()
  const [ofLink, ofIntent] = [newKey(), newKey()]
  const link = bodyOf(await own.createLink({ expires_at }, { idempotencyKey: ofLink }), 201)
  const intent = bodyOf(await own.createIntent({ payment_link_id: link.id }, { idempotencyKey: ofIntent }), 201)
  bodyOf(await own.confirmAsPayer(intent.id, intent.client_secret), 200)
  await jump(one, 2 * hourMs)

  // Neither request would be taken any more: the time has passed, and the link is used up.
  const linkAgain = await own.createLink({ expires_at }, { idempotencyKey: ofLink })
  assert.deepEqual([bodyOf(linkAgain, 201), isReplay(linkAgain)], [link, true])
  const intentAgain = await own.createIntent({ payment_link_id: link.id }, { idempotencyKey: ofIntent })
  assert.deepEqual([bodyOf(intentAgain, 201), isReplay(intentAgain)], [intent, true])
  assert.deepEqual(await made(one), { links: 1, intents: 1 })
  // The control: with other keys they are refused.
  assert.equal((await own.createLink({ expires_at })).status, 400)
  assert.equal((await own.createIntent({ payment_link_id: link.id })).status, 422)
})

/** The same value as other JSON text: keys in another order, other blanks, other spellings of numbers and characters. */
function respelled(value: unknown, shuffle: <T>(list: readonly T[]) => T[]): string {
  if (typeof value === 'number') return `${value / 10}e1`
  if (typeof value === 'string')
    return JSON.stringify(value).replaceAll(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
  if (Array.isArray(value)) return `[ ${value.map((one) => respelled(one, shuffle)).join(' ,\n')} ]`
  if (typeof value !== 'object' || value === null) return String(value)
  return `{\t${shuffle(Object.entries(value))
    .map(([key, inner]) => `${respelled(key, shuffle)} : ${respelled(inner, shuffle)}`)
    .join(',')}}`
}

test('C4.idempotency.same: how a body is spelled does not matter; what it says does, and on which path', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const metadata = fc.dictionary(fc.stringMatching(/^[a-zA-Z0-9é ]{1,8}$/), fc.stringMatching(/^[a-zA-Z0-9é ]{0,8}$/), {
    maxKeys: 4,
  })
  const order = fc.infiniteStream(fc.nat())
  await fc.assert(
    fc.asyncProperty(metadata, metadata, order, async (first, second, stream) => {
      const shuffle = <T>(list: readonly T[]): T[] =>
        list
          .map((one) => [stream.next().value ?? 0, one] as const)
          .toSorted(([a], [b]) => a - b)
          .map(([, one]) => one)
      const lines = [
        { sku: 'A', name: 'One', unit_price: 4_000, quantity: 2, metadata: second },
        { sku: 'B', name: 'Two', unit_price: 1_800, quantity: 1 },
      ]
      const body = linkFor(p.branch.reference_number, { metadata: first, line_items: lines })
      const headers = { 'idempotency-key': newKey() }
      const post = (bytes: string) =>
        call(p.url, { method: 'POST', path: createPaymentLink.path, key: p.merchant.secret_key, headers, bytes })
      const first201 = await post(JSON.stringify(body))
      const again = await post(respelled(body, shuffle))
      assert.deepEqual([first201.status, again.status, isReplay(again)], [201, 201, true])
      assert.deepEqual(again.json, first201.json)
      const turned = await post(JSON.stringify({ ...body, line_items: lines.toReversed() }))
      assert.equal(refusal(turned), '409 IDEMPOTENCY_MISMATCH')
    }),
    { seed, numRuns: 25 },
  )
})

test('[C4.idempotency.operation, C4.idempotency.same] two operations use the same key without meeting, even with one and the same body', async () => {
  const idempotencyKey = newKey()
  const link = await merchant.createLink({}, { idempotencyKey })
  const intent = await merchant.createIntent({}, { idempotencyKey })
  assert.deepEqual([link.status, isReplay(link), intent.status, isReplay(intent)], [201, false, 201, false])
  assert.notEqual(link.json.id, intent.json.id)
  assert.ok(isReplay(await merchant.createLink({}, { idempotencyKey })))
  assert.ok(isReplay(await merchant.createIntent({}, { idempotencyKey })))
})

test('C4.idempotency.in-progress: while the first request still runs the same key is told to wait, and afterwards gets its answer', async () => {
  const idempotencyKey = newKey()
  const create = () => merchant.createIntent({}, { idempotencyKey })
  const before = await made()
  // The control is the second request: with another key it gets as far as the first one.
  const other = () => merchant.createIntent({})
  const [first, beside] = await whileHeld(p, lockOf('payments.intents'), [create, other], async () => {
    for (const fields of [{}, { amount: 1 }]) {
      const told = await merchant.createIntent(fields, { idempotencyKey })
      assert.deepEqual([refusal(told), told.headers['retry-after']], ['409 IDEMPOTENCY_IN_PROGRESS', '1'])
    }
  })
  bodyOf(beside, 201)
  const intent = bodyOf(first, 201)
  const again = await create()
  assert.deepEqual([bodyOf(again, 201), isReplay(again)], [intent, true])
  assert.equal((await made()).intents, before.intents + 2)
})

test('C4.idempotency.in-progress: twenty identical creates at once, at two processes, make one link, and whoever repeats gets it', async (t) => {
  const one = await platform(t, withoutWorker)
  const second = await one.another(withoutWorker.settings)
  const desks = [shop(one), shop({ ...one, url: second.localUrl })] as const
  for (const [at, name] of (['createLink', 'createIntent'] as const).entries()) {
    const idempotencyKey = newKey()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => desks[i % 2 === 0 ? 0 : 1][name]({}, { idempotencyKey })),
    )
    const made201 = answers.filter(({ status }) => status === 201)
    assert.equal(made201.filter((answer) => !isReplay(answer)).length, 1)
    assert.equal(new Set(made201.map(({ text }) => text)).size, 1)
    for (const answer of answers.filter(({ status }) => status !== 201))
      assert.equal(refusal(answer), '409 IDEMPOTENCY_IN_PROGRESS')
    assert.deepEqual(await made(one), { links: 1, intents: at })
    const repeated = await desks[1][name]({}, { idempotencyKey })
    assert.deepEqual([repeated.json.id, isReplay(repeated)], [made201[0]?.json.id, true])
  }
  // A client that repeats by itself sees nothing of it.
  const idempotencyKey = newKey()
  const body = linkFor(one.branch.reference_number)
  const links = await Promise.all(
    Array.from({ length: 20 }, () => one.sdk.paymentLinks.create(body, { idempotencyKey })),
  )
  assert.equal(new Set(links.map(({ id }) => id)).size, 1)
})

test('C4.idempotency.lease: a key whose request died in the middle is free again', async () => {
  const idempotencyKey = newKey()
  const create = () => merchant.createIntent({}, { idempotencyKey })
  const before = await made()
  const [died] = await whileHeld(p, lockOf('payments.intents'), [create], async (backends) => {
    assert.equal(refusal(await create()), '409 IDEMPOTENCY_IN_PROGRESS')
    // What the database sees of a process that died: its connection is gone, and what it held a moment after its client has heard.
    await rowsOf(p, 'select pg_terminate_backend(pid, 5000) from unnest($1::int[]) pid', [backends])
  })
  assert.equal(refusal(died), '503 UNAVAILABLE')
  assert.equal(died?.headers['retry-after'], '1')
  assert.deepEqual(await made(), before)
  const again = await create()
  assert.deepEqual([again.status, isReplay(again)], [201, false])
  assert.equal((await made()).intents, before.intents + 1)
})

test('C4.idempotency.day: a key is remembered for 24 hours, to the moment, and then makes something new', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const [ofLink, ofIntent, ofShort] = [newKey(), newKey(), newKey()]
  const expires_at = new Date(one.kaha.clock.now().getTime() + 23 * hourMs).toISOString()
  const link = bodyOf(await own.createLink({}, { idempotencyKey: ofLink }), 201)
  const intent = bodyOf(await own.createIntent({}, { idempotencyKey: ofIntent }), 201)
  bodyOf(await own.createLink({ expires_at }, { idempotencyKey: ofShort }), 201)
  await jump(one, 24 * hourMs - 60_000)
  assert.equal((await own.createLink({}, { idempotencyKey: ofLink })).json.id, link.id)
  assert.equal((await own.createIntent({}, { idempotencyKey: ofIntent })).json.id, intent.id)
  assert.ok(isReplay(await own.createLink({ expires_at }, { idempotencyKey: ofShort })))

  await jump(one, 60_000)

  const [newLink, newIntent] = [
    await own.createLink({}, { idempotencyKey: ofLink }),
    await own.createIntent({}, { idempotencyKey: ofIntent }),
  ]
  assert.deepEqual([newLink.status, isReplay(newLink), newIntent.status, isReplay(newIntent)], [201, false, 201, false])
  assert.notEqual(newLink.json.id, link.id)
  assert.notEqual(newIntent.json.id, intent.id)
  // The old answer is not given any more, even where nobody has dropped it and the request is refused.
  assert.equal((await own.createLink({ expires_at }, { idempotencyKey: ofShort })).status, 400)
  assert.equal((await own.createLink({ description: 'Other' }, { idempotencyKey: ofShort })).status, 201)
})

test('C4.idempotency.area: in area A the header changes nothing', async () => {
  const headers = { 'idempotency-key': newKey() }
  const post = (url: string, more = headers) =>
    call(p.url, {
      method: 'POST',
      path: '/v1/webhook_endpoints',
      key: p.merchant.secret_key,
      headers: more,
      body: { url, enabled_events: ['payment.succeeded'] },
    })
  const [one, other] = [await post('https://shop.example.com/one'), await post('https://shop.example.com/other')]
  assert.deepEqual([one.status, other.status], [201, 201])
  assert.notEqual(one.json.id, other.json.id)
  const again = await post('https://shop.example.com/one')
  assert.equal(again.json.error.code, 'CONFLICT')
  assert.equal((await post('https://shop.example.com/third', { 'idempotency-key': '!' })).status, 201)
  for (const answer of [one, other, again]) assert.ok(!isReplay(answer))
})

test('C4.idempotency.sealed: what is kept of an answer is not to be read in the database, and opens only where it was put', async () => {
  const [idempotencyKey, other] = [newKey(), newKey()]
  const { client_secret, id } = bodyOf(
    await merchant.createIntent({ order_reference: 'SEALED-ORDER' }, { idempotencyKey }),
    201,
  )
  bodyOf(await merchant.createIntent({ order_reference: 'SEALED-ORDER' }, { idempotencyKey: other }), 201)
  const [row] = await rowsOf<{ response: Buffer }>(p, 'select response from ecommerce.idempotency where key = $1', [
    idempotencyKey,
  ])
  assert.ok(row && row.response.length > 100)
  for (const encoding of ['latin1', 'base64', 'hex'] as const) {
    const kept = row.response.toString(encoding)
    for (const secret of [client_secret, id, 'SEALED-ORDER'])
      assert.ok(!kept.includes(Buffer.from(secret).toString(encoding).replace(/=+$/, '')) && !kept.includes(secret))
  }
  assert.ok(isReplay(await merchant.createIntent({ order_reference: 'SEALED-ORDER' }, { idempotencyKey })))
  await rowsOf(p, 'update ecommerce.idempotency set response = $2 where key = $1', [other, row.response])
  const moved = await merchant.send(
    createPaymentIntent,
    {
      body: {
        amount: 9800,
        currency: 'PHP',
        merchant_branch_reference_number: p.branch.reference_number,
        order_reference: 'SEALED-ORDER',
      },
    },
    { idempotencyKey: other },
  )
  assert.equal(refusal(moved), '500 INTERNAL_ERROR')
})
