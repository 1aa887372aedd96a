import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ecommerceStore as store } from '../../src/areas/ecommerce/store.ts'
import type { Principal } from '../../src/identity/principal.ts'
import { isUuid, largestId, smallestId } from '../../src/kernel/ids.ts'
import { platform } from '../platform.ts'
import { until } from '../until.ts'
import { keyFor } from './people.ts'
import { bodyOf, hourMs, refusal, rowsOf, shop, whileHeld, withoutWorker } from './shop.ts'

// Links: their fields, and what a create makes of what it is given. No test here changes what another one reads.
const p = await platform({ after })
const merchant = shop(p)

const always = [
  'id',
  'type',
  'status',
  'merchant_branch_reference_number',
  'currency',
  'amount',
  'line_items',
  'expires_at',
  'url',
  'successful_payment_count',
  'metadata',
  'created_at',
  'updated_at',
]

const mug = { sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }
const redirects = {
  success: 'https://shop.example.com/thanks?order=1#top',
  declined: 'https://shop.example.com/again',
  expired: 'http://localhost:3000/late',
}
const full = {
  type: 'multi_use',
  amount: 25_000,
  line_items: [
    {
      sku: 'BEANS-250',
      name: 'Benguet coffee, 250 g ☕',
      unit_price: 12_000,
      quantity: 2,
      metadata: { roast: 'dark' },
    },
    { sku: 'BAG', name: 'Bag', unit_price: 1_000, quantity: 1 },
    { sku: 'CARD', name: 'Greeting card', unit_price: 0, quantity: 3, metadata: {} },
  ],
  max_uses: 7,
  description: 'Two bags of beans',
  order_reference: 'ORDER-1001',
  redirect_urls: redirects,
  metadata: { cart: '81', '': 'a key may be empty', note: '' },
}

const seconds = (fromNow: number): string => new Date(p.kaha.clock.now().getTime() + fromNow * 1000).toISOString()

test('C4.link.absent: redirect_urls that name no address, and a max_uses of null, are no value', async () => {
  const link = bodyOf(await merchant.createLink({ type: 'multi_use', redirect_urls: {}, max_uses: null }), 201)
  assert.deepEqual(Object.keys(link).toSorted(), always.toSorted())
  assert.deepEqual(bodyOf(await merchant.retrieveLink(link.id), 200), link)
})

test('[C4.link-create.created, C4.link.present, C4.link.absent] a link made of what it must have is ACTIVE and has no other field', async () => {
  const earliest = p.kaha.clock.now()
  const link = bodyOf(await merchant.createLink(), 201)

  assert.deepEqual(Object.keys(link).toSorted(), always.toSorted())
  const { id, url, expires_at, created_at, updated_at, ...rest } = link
  assert.deepEqual(rest, {
    type: 'one_time',
    status: 'ACTIVE',
    merchant_branch_reference_number: p.branch.reference_number,
    currency: 'PHP',
    amount: 9800,
    line_items: [mug],
    successful_payment_count: 0,
    metadata: {},
  })
  assert.ok(isUuid(id))
  assert.ok(new Date(created_at) >= earliest && new Date(created_at) <= p.kaha.clock.now())
  assert.equal(updated_at, created_at)
  assert.ok(expires_at > created_at)
  assert.equal(new URL(url).origin, new URL(p.kaha.addresses.checkout).origin)
  assert.deepEqual(bodyOf(await merchant.retrieveLink(id), 200), link)
})

test('[C4.link.description, C4.link.order-reference, C4.link.redirect-urls, C4.link.max-uses, C4.link.metadata] what was given is shown as it was given, and nothing else is there', async () => {
  const expires_at = seconds(3_600)
  const link = bodyOf(await merchant.createLink({ ...full, expires_at }), 201)

  const given = ['description', 'order_reference', 'redirect_urls', 'max_uses']
  assert.deepEqual(Object.keys(link).toSorted(), [...always, ...given].toSorted())
  for (const [field, value] of Object.entries({ ...full, expires_at })) assert.deepEqual(link[field], value, field)
  assert.deepEqual(bodyOf(await merchant.retrieveLink(link.id), 200), link)
  const listed = bodyOf(await merchant.listLinks({ page_size: '200' }), 200).data
  assert.deepEqual(
    listed.find(({ id }: { id: string }) => id === link.id),
    link,
  )
})

test('C4.link.redirect-urls: of the three addresses those that were given are shown', async () => {
  for (const [name, url] of Object.entries(redirects)) {
    const link = bodyOf(await merchant.createLink({ redirect_urls: { [name]: url } }), 201)
    assert.deepEqual(link.redirect_urls, { [name]: url })
  }
})

test('[C4.link.line-items, C4.link.line-item] line items come back in their order and with their own fields, metadata only where it was given', async () => {
  const link = bodyOf(await merchant.createLink(full), 201)
  assert.deepEqual(link.line_items, full.line_items)
  assert.deepEqual(Object.keys(link.line_items[0]).toSorted(), ['metadata', 'name', 'quantity', 'sku', 'unit_price'])
  assert.deepEqual(Object.keys(link.line_items[1]).toSorted(), ['name', 'quantity', 'sku', 'unit_price'])
})

test('[C4.link.id, C4.link.created-at] links have ids of their own, and their ids stand in the order of their creation', async () => {
  const made: { id: string; created_at: string }[] = []
  for (let i = 0; i < 3; i++) {
    const link = bodyOf(await merchant.createLink(), 201)
    made.push(link)
    // The next one is of a later millisecond.
    while (p.kaha.clock.now().toISOString() <= link.created_at) await new Promise(setImmediate)
  }
  const ids = made.map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, 3)
  assert.ok(ids.every((id) => isUuid(id)))
})

test('C4.link.url: the address of a link opens its checkout page, which shows the amount to whoever has it', async () => {
  const { url } = bodyOf(await merchant.createLink({ description: 'A mug from Cebu' }), 201)
  const page = await fetch(url)
  assert.equal(page.status, 200)
  const text = await page.text()
  assert.match(text, /A mug from Cebu/)
  assert.match(text, /98\.00/)
  const unknown = await fetch(url.slice(0, -1) + (url.endsWith('A') ? 'B' : 'A'))
  assert.equal(unknown.status, 404)
})

test('[C4.link.type, C4.link.currency, C4.link.amount] a link has one of two types, its currency, and its amount as an integer', async () => {
  for (const type of ['one_time', 'multi_use']) {
    const link = bodyOf(await merchant.createLink({ type }), 201)
    assert.deepEqual([link.type, link.currency, link.amount], [type, 'PHP', 9800])
  }
})

test('C4.link-create.max-uses-multi: a one_time link takes a max_uses of null, which is none', async () => {
  const link = bodyOf(await merchant.createLink({ max_uses: null }), 201)
  assert.ok(!('max_uses' in link))
})

test('C4.link-create.max-uses-unlimited: a multi_use link without max_uses, and with null, takes one payment after the other', async () => {
  for (const fields of [{ type: 'multi_use' }, { type: 'multi_use', max_uses: null }]) {
    const { id } = bodyOf(await merchant.createLink(fields), 201)
    for (let payments = 1; payments <= 3; payments++) {
      const intent = bodyOf(await merchant.createIntent({ payment_link_id: id }), 201)
      assert.equal(bodyOf(await merchant.confirm(intent.id), 200).status, 'SUCCEEDED')
      const link = bodyOf(await merchant.retrieveLink(id), 200)
      assert.deepEqual([link.status, link.successful_payment_count, 'max_uses' in link], ['ACTIVE', payments, false])
    }
  }
})

test('[C4.link-create.expires-default, C4.link.expires-at] without expires_at a link lives for 24 hours; a given time is shown as it is', async () => {
  const link = bodyOf(await merchant.createLink(), 201)
  assert.equal(Date.parse(link.expires_at) - Date.parse(link.created_at), 24 * hourMs)

  const soon = seconds(60)
  assert.equal(bodyOf(await merchant.createLink({ expires_at: soon }), 201).expires_at, soon)
  // The same instant, told in Manila's time.
  const manila = new Date(Date.parse(soon) + 8 * hourMs).toISOString().replace('Z', '+08:00')
  assert.equal(bodyOf(await merchant.createLink({ expires_at: manila }), 201).expires_at, soon)
})

test('[C4.link-create.branch-required, C4.link.branch] a merchant and a partner must say which branch, one of theirs', async () => {
  const [ours, theirs] = p.seed.merchants
  const foreign = theirs?.branches[0]?.reference_number ?? ''
  const other = ours?.branches[1]?.reference_number ?? ''
  const none = { merchant_branch_reference_number: undefined }
  const field = 'merchant_branch_reference_number'

  for (const key of [p.merchant.secret_key, p.seed.partner.secret_key]) {
    assert.equal(refusal(await merchant.createLink(none, { key })), `400 BAD_REQUEST ${field} required`)
    const unknown = await merchant.createLink({ [field]: 'NOWHERE' }, { key })
    assert.equal(refusal(unknown), `400 INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER ${field} known_branch`)
    assert.equal(bodyOf(await merchant.createLink({ [field]: other }, { key }), 201)[field], other)
  }
  const refused = await merchant.createLink({ [field]: foreign })
  assert.equal(refusal(refused), `400 INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER ${field} known_branch`)
  const partner = await merchant.createLink({ [field]: foreign }, { key: p.seed.partner.secret_key })
  assert.equal(bodyOf(partner, 201)[field], foreign)
})

test('C4.link-create.branch-own: a link of a branch belongs to that branch, named or not, and cannot be made for another', async () => {
  const field = 'merchant_branch_reference_number'
  const key = p.branch.secret_key
  const [, other] = p.merchant.branches
  const own = bodyOf(await merchant.createLink({ [field]: undefined }, { key }), 201)
  assert.equal(own[field], p.branch.reference_number)
  assert.equal(bodyOf(await merchant.createLink({}, { key }), 201)[field], p.branch.reference_number)
  const refused = await merchant.createLink({ [field]: other?.reference_number }, { key })
  assert.equal(refusal(refused), `400 INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER ${field} known_branch`)

  const elsewhere = await keyFor(p, { id: other?.id ?? '', level: 'branch' })
  assert.equal((await merchant.retrieveLink(own.id, { key: elsewhere.secretKey })).status, 404)
})

test('[C4.link-retrieve.ok, C4.link-retrieve.unknown] a link is retrieved by its id, and an id of no link is not found', async () => {
  const link = bodyOf(await merchant.createLink(full), 201)
  assert.deepEqual(bodyOf(await merchant.retrieveLink(link.id), 200), link)
  assert.deepEqual(bodyOf(await merchant.retrieveLink(link.id.toUpperCase()), 200), link)
  const intent = bodyOf(await merchant.createIntent(), 201)
  for (const id of ['01890000-0000-7000-8000-000000000000', intent.id])
    assert.equal(refusal(await merchant.retrieveLink(id)), '404 NOT_FOUND')
  assert.equal(refusal(await merchant.retrieveLink('mug')), '400 INVALID_ID id format')
})

test('C4.link-create.currency: a currency that the installation was set up for is taken, beside the others and in no other installation', async (t) => {
  const both = await platform(t, { settings: { KAHA_CURRENCIES: 'PHP,JPY' } })
  const abroad = shop(both)
  for (const currency of ['PHP', 'JPY'])
    assert.equal(bodyOf(await abroad.createLink({ currency }), 201).currency, currency)
  assert.equal(refusal(await abroad.createLink({ currency: 'USD' })), '400 INVALID_CURRENCY currency one_of')
  assert.equal(refusal(await merchant.createLink({ currency: 'JPY' })), '400 INVALID_CURRENCY currency one_of')
})

test('[C4.intent-create.link-inherits, C4.intent-create.currency] a link in a currency that is offered no more is paid as before, on its page and by an intent', async (t) => {
  const before = await platform(t, { settings: { KAHA_CURRENCIES: 'PHP,JPY' } })
  const { id, url } = bodyOf(await shop(before).createLink({ currency: 'JPY' }), 201)
  const { localUrl } = await before.another({ KAHA_CURRENCIES: 'PHP' })
  const since = shop({ ...before, url: localUrl })
  assert.equal(refusal(await since.createIntent({ currency: 'JPY' })), '400 INVALID_CURRENCY currency one_of')
  assert.match(await (await fetch(url.replace(before.url, localUrl))).text(), /name="number"/)
  const intent = bodyOf(await since.createIntent({ payment_link_id: id }), 201)
  assert.deepEqual([intent.currency, bodyOf(await since.confirm(intent.id), 200).status], ['JPY', 'SUCCEEDED'])
})

test('[C4.link-state.expired, C4.link.updated-at] a link that expires while it is read is shown whole as before its end or as after it', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id, expires_at: expires, url } = await own.newLink()
  const principal = { level: 'merchant', entityId: one.merchant.id } as Principal
  const { db } = one.kaha
  const at = new Date(expires)
  const before = await store.readLink(db, id)
  assert.ok(before)
  // Whoever asks for the time once more is told that the end has come meanwhile.
  await rowsOf(one, 'create sequence public.asked')
  await rowsOf(
    one,
    `create or replace function kernel.now() returns timestamptz language sql stable return
       timestamptz '${expires}' + (nextval('public.asked') - 2) * interval '1 ms'`,
  )
  const list = { before: largestId, from: smallestId, statuses: ['ACTIVE'], branchReference: null, rowsMax: 5 }
  for (const read of [
    () => store.findLink(db, principal, id),
    () => store.readLink(db, id),
    () => store.findLinkByToken(db, url.split('/').at(-1) ?? ''),
    async () => (await store.listLinks(db, principal, list)).rows[0],
    () => store.updateLink(db, before, before.created_at),
  ]) {
    await rowsOf(one, 'alter sequence public.asked restart')
    const link = await read()
    assert.ok(link)
    assert.deepEqual([link.state, link.updated_at < at], ['ACTIVE', true])
  }
})

test('a link that expires while a change, and an intent of it, wait for its lock has expired for both', async () => {
  const { id } = await merchant.newLink()
  await rowsOf(p, `update ecommerce.links set expires_at = kernel.now() + interval '3 seconds' where id = $1`, [id])
  const requests = [() => merchant.updateLink(id, {}), () => merchant.createIntent({ payment_link_id: id })]
  const isOver = 'select from ecommerce.links where id = $1 and expires_at <= kernel.now()'
  const hold = { text: 'select from ecommerce.links where id = $1 for update', values: [id] }
  const waited = await whileHeld(p, hold, requests, () =>
    until('its end', async () => (await rowsOf(p, isOver, [id])).length > 0),
  )
  const late = await Promise.all(requests.map((request) => request()))
  assert.deepEqual(waited.map(refusal), late.map(refusal))
  assert.deepEqual(
    late.map(({ status }) => status >= 400),
    [true, true],
  )
})
