import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { keyFor } from './people.ts'
import { bodyOf, hourMs, jump, refusal, rowsOf, shop, whileHeld, withoutWorker } from './shop.ts'

// What can be changed of a link, and when. No worker runs.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const newLink = async (fields: object = {}) => bodyOf(await merchant.createLink(fields), 201)
const read = async (id: string) => bodyOf(await merchant.retrieveLink(id), 200)
const intentOf = async (linkId: string) => bodyOf(await merchant.createIntent({ payment_link_id: linkId }), 201)
const fromNow = (ms: number): string => new Date(p.kaha.clock.now().getTime() + ms).toISOString()

const redirects = {
  success: 'https://shop.example.com/thanks',
  declined: 'https://shop.example.com/again',
  expired: 'https://shop.example.com/late',
}
const full = {
  type: 'multi_use',
  max_uses: 5,
  description: 'Two bags of beans',
  order_reference: 'ORDER-1001',
  redirect_urls: redirects,
  metadata: { cart: '81', note: 'x' },
}

test('C4.link-update.ok: an update answers with the whole link, changes what is named and nothing else, and moves updated_at', async () => {
  const made = await newLink(full)
  await jump(p, 1_000)
  const earliest = p.kaha.clock.now().toISOString()
  const changed = bodyOf(await merchant.updateLink(made.id, { description: 'Three bags' }), 200)
  assert.deepEqual(changed, { ...made, description: 'Three bags', updated_at: changed.updated_at })
  assert.ok(changed.updated_at >= earliest)
  assert.deepEqual(await read(made.id), changed)

  await jump(p, 1_000)
  const all = {
    description: 'One bag',
    order_reference: 'ORDER-1002',
    redirect_urls: { success: 'https://shop.example.com/done' },
    max_uses: 9,
    expires_at: fromNow(48 * hourMs),
    metadata: { cart: '82' },
  }
  const again = bodyOf(await merchant.updateLink(made.id, all), 200)
  assert.deepEqual(again, {
    ...made,
    ...all,
    redirect_urls: { ...redirects, ...all.redirect_urls },
    updated_at: again.updated_at,
  })
})

test('C4.link-update.ok: an update that names nothing changes nothing, not even updated_at', async () => {
  const made = await newLink(full)
  await jump(p, 1_000)
  for (const nothing of [{}, { redirect_urls: {} }])
    assert.deepEqual(bodyOf(await merchant.updateLink(made.id, nothing), 200), made)
  assert.deepEqual(await read(made.id), made)
})

test('[C4.link-update.description, C4.link-update.order-reference] description and order_reference are replaced, or removed by null, within the limits of create', async () => {
  const { id } = await newLink()
  for (const [field, charactersMax] of [
    ['description', 255],
    ['order_reference', 100],
  ] as const) {
    const longest = '☕'.repeat(charactersMax)
    assert.equal(bodyOf(await merchant.updateLink(id, { [field]: longest }), 200)[field], longest)
    const code = `INVALID_${field.toUpperCase()}`
    assert.equal(refusal(await merchant.updateLink(id, { [field]: `${longest}x` })), `400 ${code} ${field} max_length`)
    for (const blank of ['', '  '])
      assert.equal(refusal(await merchant.updateLink(id, { [field]: blank })), `400 BAD_REQUEST ${field} non_blank`)
    assert.equal((await read(id))[field], longest)
    assert.ok(!(field in bodyOf(await merchant.updateLink(id, { [field]: null }), 200)))
  }
})

test('C4.link-update.redirect-urls: each of the three is replaced or removed by itself, and must be one that a payer may be sent to', async () => {
  const { id } = await newLink({ redirect_urls: redirects })
  const urlsAfter = async (redirect_urls: object) =>
    bodyOf(await merchant.updateLink(id, { redirect_urls }), 200).redirect_urls
  const moved = 'https://shop.example.com/elsewhere'
  assert.deepEqual(await urlsAfter({ declined: moved }), { ...redirects, declined: moved })
  assert.deepEqual(await urlsAfter({}), { ...redirects, declined: moved })
  assert.deepEqual(await urlsAfter({ success: null }), { declined: moved, expired: redirects.expired })
  for (const bad of ['http://shop.example.com/', 'https://a:b@shop.example.com/', 'ftp://shop.example.com/'])
    assert.match(
      refusal(await merchant.updateLink(id, { redirect_urls: { success: redirects.success, expired: bad } })),
      /^400 INVALID_REDIRECT_URLS redirect_urls\.expired /,
    )
  assert.deepEqual((await read(id)).redirect_urls, { declined: moved, expired: redirects.expired })
  assert.equal(await urlsAfter({ declined: null, expired: null }), undefined)
  assert.deepEqual(await urlsAfter({ expired: redirects.expired }), { expired: redirects.expired })
})

test('C4.link-update.max-uses: max_uses of a multi_use link is raised, lowered and lifted; a one_time link takes null, which is none', async () => {
  const { id } = await newLink({ type: 'multi_use', max_uses: 2 })
  for (const max_uses of [1_000_000, 1, 3])
    assert.equal(bodyOf(await merchant.updateLink(id, { max_uses }), 200).max_uses, max_uses)
  for (const max_uses of [0, -1, 1_000_001])
    assert.match(refusal(await merchant.updateLink(id, { max_uses })), /^400 INVALID_MAX_USES max_uses m/)
  assert.ok(!('max_uses' in bodyOf(await merchant.updateLink(id, { max_uses: null }), 200)))

  const once = await newLink()
  for (const max_uses of [1, 5])
    assert.equal(
      refusal(await merchant.updateLink(once.id, { max_uses })),
      '400 INVALID_MAX_USES max_uses multi_use_only',
    )
  assert.deepEqual(await read(once.id), once)
  const again = bodyOf(await merchant.updateLink(once.id, { max_uses: null, description: 'One bag' }), 200)
  assert.deepEqual(again, { ...once, description: 'One bag', updated_at: again.updated_at })
})

test('[C4.link-update.max-uses, C4.link-state.consumed-multi-use] the new limit is the one that uses the link up', async () => {
  const { id } = await newLink({ type: 'multi_use', max_uses: 5 })
  bodyOf(await merchant.confirm((await intentOf(id)).id), 200)
  bodyOf(await merchant.updateLink(id, { max_uses: 2 }), 200)
  bodyOf(await merchant.confirm((await intentOf(id)).id), 200)
  assert.equal((await read(id)).status, 'CONSUMED')
})

test('C4.link-update.max-uses-taken: max_uses must leave a use beyond what has succeeded and what is being processed', async () => {
  const { id } = await newLink({ type: 'multi_use', max_uses: 2 })
  bodyOf(await merchant.confirm((await intentOf(id)).id), 200)
  bodyOf(await merchant.confirm((await intentOf(id)).id, cards.noAnswer), 202)
  const before = await read(id)
  for (const max_uses of [1, 2])
    assert.equal(
      refusal(await merchant.updateLink(id, { max_uses, description: 'not this either' })),
      '400 INVALID_MAX_USES max_uses greater_than_taken',
    )
  assert.deepEqual(await read(id), before)
  // All uses are taken, and anything else can be changed.
  assert.equal(bodyOf(await merchant.updateLink(id, { description: 'x' }), 200).max_uses, 2)
  const waiting = await intentOf(id)
  assert.equal(refusal(await merchant.confirm(waiting.id)), '409 LINK_FULLY_RESERVED')
  assert.equal(bodyOf(await merchant.updateLink(id, { max_uses: 3 }), 200).max_uses, 3)
  assert.equal(bodyOf(await merchant.confirm(waiting.id), 200).status, 'SUCCEEDED')
})

test('C4.link-update.max-uses-lock: an update waits for the payment that is taking a use, and counts it', async () => {
  const { id } = await newLink({ type: 'multi_use', max_uses: 9 })
  const take = `update ecommerce.links set reserved_count = 3 where id = '${id}'`
  const [answer] = await whileHeld(p, take, [() => merchant.updateLink(id, { max_uses: 3 })], async () => {})
  assert.equal(refusal(answer), '400 INVALID_MAX_USES max_uses greater_than_taken')
  await rowsOf(p, 'update ecommerce.links set reserved_count = 0 where id = $1', [id])
  // The control: with nothing taken meanwhile the same update goes through.
  const look = `select from ecommerce.links where id = '${id}' for update`
  const [again] = await whileHeld(p, look, [() => merchant.updateLink(id, { max_uses: 3 })], async () => {})
  assert.equal(bodyOf(again, 200).max_uses, 3)
})

test('C4.link-update.max-uses-lock: however many pay while max_uses goes up and down, no more succeed than it allows', async () => {
  const { id } = await newLink({ type: 'multi_use', max_uses: 12 })
  const intents = await Promise.all(Array.from({ length: 16 }, () => intentOf(id)))
  const changes = [10, 4, 8, 6, 3, 7].map((max_uses) => merchant.updateLink(id, { max_uses }))
  const answers = await Promise.all(intents.map((intent) => merchant.confirm(intent.id)))
  for (const change of await Promise.all(changes))
    assert.match(refusal(change), /^(200|400 INVALID_MAX_USES max_uses greater_than_taken|422 INVALID_STATE)/)
  const paid = answers.filter(({ status, json }) => status === 200 && json.status === 'SUCCEEDED').length
  const { max_uses, successful_payment_count: count, status } = await read(id)
  assert.equal(count, paid)
  assert.ok(paid <= max_uses)
  assert.equal(status, paid === max_uses ? 'CONSUMED' : 'ACTIVE')
})

test('C4.link-update.expires-later: expires_at moves later and never earlier', async () => {
  const made = await newLink({ expires_at: fromNow(2 * hourMs) })
  for (const expires_at of [made.expires_at, fromNow(hourMs), fromNow(-hourMs)])
    assert.equal(refusal(await merchant.updateLink(made.id, { expires_at })), '400 INVALID_EXPIRES_AT expires_at later')
  assert.deepEqual(await read(made.id), made)
  const expires_at = fromNow(4 * hourMs)
  assert.equal(bodyOf(await merchant.updateLink(made.id, { expires_at }), 200).expires_at, expires_at)
})

test('C4.link-update.expires-later: a link that was given more time stays ACTIVE, while the intents that it had keep their own time', async () => {
  const { id } = await newLink({ expires_at: fromNow(hourMs) })
  const early = await intentOf(id)
  bodyOf(await merchant.updateLink(id, { expires_at: fromNow(3 * hourMs) }), 200)
  await jump(p, 2 * hourMs)
  assert.equal((await read(id)).status, 'ACTIVE')
  assert.equal(bodyOf(await merchant.retrieveIntent(early.id), 200).status, 'EXPIRED')
  assert.equal(bodyOf(await merchant.confirm((await intentOf(id)).id), 200).status, 'SUCCEEDED')
})

test('C4.link-update.metadata: an update replaces the whole of metadata, within the limits of create', async () => {
  const { id } = await newLink({ metadata: { cart: '81', note: 'x' } })
  assert.deepEqual(bodyOf(await merchant.updateLink(id, { metadata: { order: '7' } }), 200).metadata, { order: '7' })
  for (const metadata of [null, { a: 1 }, { ['k'.repeat(41)]: 'v' }, { k: 'v'.repeat(501) }])
    assert.match(refusal(await merchant.updateLink(id, { metadata })), /^400 INVALID_METADATA metadata/)
  assert.deepEqual((await read(id)).metadata, { order: '7' })
  assert.deepEqual(bodyOf(await merchant.updateLink(id, { metadata: {} }), 200).metadata, {})
})

test('C4.link-update.ok: intents that a link had before keep what they were made with', async () => {
  const { id } = await newLink({ order_reference: 'ORDER-1' })
  const early = await intentOf(id)
  bodyOf(await merchant.updateLink(id, { order_reference: 'ORDER-2' }), 200)
  assert.equal(bodyOf(await merchant.retrieveIntent(early.id), 200).order_reference, 'ORDER-1')
  assert.equal((await intentOf(id)).order_reference, 'ORDER-2')
})

test('C4.link-update.fixed: type, currency, amount, line_items and the branch of a link cannot be named', async () => {
  const made = await newLink({ type: 'multi_use' })
  const others = { token: 'x', status: 'CANCELLED', successful_payment_count: 0, id: made.id, url: made.url }
  for (const field of ['type', 'currency', 'amount', 'line_items', 'merchant_branch_reference_number'])
    assert.equal(
      refusal(await merchant.updateLink(made.id, { description: 'x', [field]: made[field] })),
      `400 BAD_REQUEST ${field} unknown`,
    )
  for (const [field, value] of Object.entries(others))
    assert.equal(refusal(await merchant.updateLink(made.id, { [field]: value })), `400 BAD_REQUEST ${field} unknown`)
  assert.deepEqual(await read(made.id), made)
})

test('C4.link-update.not-active: a link that is used up, cancelled or expired takes no update, and it is EXPIRED before anybody has stored that', async () => {
  const [consumed, cancelled, expired] = [
    await newLink(),
    await newLink(),
    await newLink({ expires_at: fromNow(hourMs) }),
  ]
  bodyOf(await merchant.confirm((await intentOf(consumed.id)).id), 200)
  bodyOf(await merchant.cancelLink(cancelled.id), 200)
  await jump(p, hourMs)
  for (const { id } of [consumed, cancelled, expired]) {
    const before = await read(id)
    for (const body of [{}, { description: 'x' }, { expires_at: fromNow(48 * hourMs) }])
      assert.equal(refusal(await merchant.updateLink(id, body)), '422 INVALID_STATE')
    assert.deepEqual(await read(id), before)
  }
})

test('C4.link-update.not-active: an update that waited while the link was being cancelled finds it CANCELLED', async () => {
  const { id } = await newLink()
  const cancel = `update ecommerce.links set state = 'CANCELLED', cancelled_at = kernel.now() where id = '${id}'`
  const [answer] = await whileHeld(p, cancel, [() => merchant.updateLink(id, { description: 'x' })], async () => {})
  assert.equal(refusal(answer), '422 INVALID_STATE')
})

test('C4.link-retrieve.unknown: an update or a cancel of no link, and of a link of somebody else, is 404', async () => {
  const { id } = await newLink()
  const [, other] = p.seed.merchants
  assert.ok(other)
  const { secretKey: key } = await keyFor(p, { id: other.id, level: 'merchant' })
  for (const answer of [
    await merchant.updateLink('01890000-0000-7000-8000-000000000000', {}),
    await merchant.updateLink(id, { description: 'x' }, { key }),
    await merchant.cancelLink('01890000-0000-7000-8000-000000000000'),
    await merchant.cancelLink(id, {}, { key }),
  ])
    assert.equal(refusal(answer), '404 NOT_FOUND')
  assert.equal((await read(id)).status, 'ACTIVE')
})
