import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isUuid } from '../../src/kernel/ids.ts'
import { cards, platform } from '../platform.ts'
import { everybody } from './people.ts'
import { bodyOf, hourMs, jump, refusal, rowsOf, shop, withoutWorker } from './shop.ts'

// Intents: how they are made and read. What becomes of them when they are paid stands in ecommerce-confirm and ecommerce-machine.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const always = ['id', 'amount', 'currency', 'status', 'updated_at']
const branch = 'merchant_branch_reference_number'
const inFuture = (ms: number): string => new Date(p.kaha.clock.now().getTime() + ms).toISOString()
const countOfIntents = async (): Promise<number> => {
  const [row] = await rowsOf<{ count: number }>(p, 'select count(*)::int as count from payments.intents')
  return row?.count ?? 0
}
const expiryOf = async (id: string): Promise<{ expires: string; created: string }> => {
  const [row] = await rowsOf<{ expires_at: Date; created_at: Date }>(
    p,
    'select expires_at, created_at from payments.intents where id = $1',
    [id],
  )
  assert.ok(row)
  return { expires: row.expires_at.toISOString(), created: row.created_at.toISOString() }
}
const linkOf = async (fields: object = {}) => bodyOf(await merchant.createLink(fields), 201)

test('[C4.intent-create.created, C4.intent-create.client-secret, C4.intent-create.checkout-url] a new intent is ACTIVE, and only its maker is told client_secret and checkout_url', async () => {
  const intent = bodyOf(await merchant.createIntent(), 201)
  assert.deepEqual(Object.keys(intent).toSorted(), [...always, 'checkout_url', 'client_secret'].toSorted())
  const { amount, currency, status } = intent
  assert.deepEqual({ amount, currency, status }, { amount: 9800, currency: 'PHP', status: 'ACTIVE' })
  assert.match(intent.client_secret, /^cs_[A-Za-z0-9_-]{43}$/)

  const page = await fetch(intent.checkout_url)
  assert.equal(page.status, 200)
  assert.match(await page.text(), /98\.00/)
  assert.ok(!intent.checkout_url.includes(intent.id))
  const other = bodyOf(await merchant.createIntent(), 201)
  assert.notEqual(other.client_secret, intent.client_secret)
  assert.notEqual(other.checkout_url, intent.checkout_url)
})

test('[C4.intent-retrieve.ok, C4.intent-retrieve.no-client-secret, C4.intent.payment-attempt-id, C4.intent.receipt] an intent that nobody has paid yet is read with its five fields and no other', async () => {
  const { client_secret, checkout_url, ...intent } = bodyOf(await merchant.createIntent(), 201)
  const read = await merchant.retrieveIntent(intent.id)
  assert.deepEqual(bodyOf(read, 200), intent)
  assert.deepEqual(Object.keys(intent).toSorted(), always.toSorted())
  assert.ok(!read.text.includes(client_secret) && !read.text.includes(checkout_url))
})

test('C4.intent-retrieve.no-client-secret: in every state that an intent can have, reading it shows no secret', async () => {
  for (const card of [cards.approved, cards.declined, cards.error, cards.challenge, cards.noAnswer]) {
    const { id, client_secret } = bodyOf(await merchant.createIntent(), 201)
    const confirmed = await merchant.confirm(id, card)
    for (const answer of [confirmed, await merchant.retrieveIntent(id)]) {
      assert.ok(!answer.text.includes(client_secret) && !answer.text.includes('client_secret'), card)
    }
  }
})

test('[C4.intent.id, C4.intent.amount, C4.intent.currency, C4.intent.updated-at] an intent shows its UUIDv7, what it is of, and since when it stands so', async () => {
  const before = p.kaha.clock.now().toISOString()
  const intent = bodyOf(await merchant.createIntent({ amount: 123_456_789_012 }), 201)
  assert.ok(isUuid(intent.id))
  assert.equal(intent.id[14], '7')
  assert.deepEqual([intent.amount, intent.currency], [123_456_789_012, 'PHP'])
  assert.ok(intent.updated_at >= before && intent.updated_at <= p.kaha.clock.now().toISOString())
  await jump(p, 1_000)
  assert.equal(bodyOf(await merchant.retrieveIntent(intent.id), 200).updated_at, intent.updated_at)
})

test('[C4.intent-create.optional, C4.intent.order-reference] everything but amount, currency and branch may be left out; the order reference alone is shown', async () => {
  const given = {
    order_reference: 'ORDER-1002',
    description: 'A mug',
    metadata: { cart: '82' },
    expires_at: inFuture(hourMs),
    redirect_urls: { success: 'https://shop.example.com/thanks' },
  }
  const full = bodyOf(await merchant.createIntent(given), 201)
  assert.equal(full.order_reference, 'ORDER-1002')
  assert.deepEqual(
    Object.keys(full).toSorted(),
    [...always, 'checkout_url', 'client_secret', 'order_reference'].toSorted(),
  )
  assert.equal(bodyOf(await merchant.retrieveIntent(full.id), 200).order_reference, 'ORDER-1002')
  for (const left of Object.keys(given)) {
    const intent = bodyOf(await merchant.createIntent({ ...given, [left]: undefined }), 201)
    assert.equal(intent.status, 'ACTIVE')
    assert.equal('order_reference' in intent, left !== 'order_reference')
  }
})

type Case = readonly [rule: string, says: string, fields: object, refused: string]
const cases: readonly Case[] = [
  ['C4.intent-create.amount-min', 'an amount of 0', { amount: 0 }, '400 INVALID_AMOUNT amount minimum'],
  ['C4.intent-create.amount-min', 'a negative amount', { amount: -1 }, '400 INVALID_AMOUNT amount minimum'],
  ['C4.intent-create.amount-min', 'an amount with decimals', { amount: 98.5 }, '400 INVALID_AMOUNT amount type'],
  ['C4.intent-create.amount-min', 'an amount as text', { amount: '9800' }, '400 INVALID_AMOUNT amount type'],
  ['C4.intent-create.amount-min', 'no amount', { amount: undefined }, '400 BAD_REQUEST amount required'],
  ['C4.intent-create.currency', 'no currency', { currency: undefined }, '400 BAD_REQUEST currency required'],
  [
    'C4.intent-create.currency',
    'a currency that is not set up',
    { currency: 'EUR' },
    '400 INVALID_CURRENCY currency one_of',
  ],
  [
    'C4.intent-create.currency',
    'a currency that does not exist',
    { currency: 'XXL' },
    '400 INVALID_CURRENCY currency one_of',
  ],
  [
    'C4.intent-create.order-reference-length',
    'an order reference of 101 characters',
    { order_reference: '𝄞'.repeat(101) },
    '400 INVALID_ORDER_REFERENCE order_reference max_length',
  ],
  [
    'C4.intent-create.metadata-limits',
    '51 metadata keys',
    { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, ''])) },
    '400 INVALID_METADATA metadata max_keys',
  ],
  [
    'C4.intent-create.metadata-limits',
    'a metadata key of 41 characters',
    { metadata: { ['k'.repeat(41)]: '' } },
    '400 INVALID_METADATA metadata max_key_length',
  ],
  [
    'C4.intent-create.metadata-limits',
    'a metadata value of 501 characters',
    { metadata: { k: 'v'.repeat(501) } },
    '400 INVALID_METADATA metadata.k max_length',
  ],
  [
    'C4.intent-create.metadata-limits',
    'a number in metadata',
    { metadata: { k: 1 } },
    '400 INVALID_METADATA metadata.k type',
  ],
  [
    'C4.intent-create.redirect-urls',
    'a redirect to http',
    { redirect_urls: { success: 'http://shop.example.com' } },
    '400 INVALID_REDIRECT_URLS redirect_urls.success https',
  ],
  [
    'C4.intent-create.redirect-urls',
    'a redirect with a password in it',
    { redirect_urls: { expired: 'https://user:pass@shop.example.com' } },
    '400 INVALID_REDIRECT_URLS redirect_urls.expired no_user_information',
  ],
  [
    'C4.intent-create.expires-default',
    'an expiry that has passed',
    { expires_at: new Date(Date.now() - 1000).toISOString() },
    '400 INVALID_EXPIRES_AT expires_at future',
  ],
]
for (const [rule, says, fields, refused] of cases) {
  test(`${rule}: an intent with ${says} is refused and not made`, async () => {
    const before = await countOfIntents()
    assert.equal(refusal(await merchant.createIntent(fields)), refused)
    assert.equal(await countOfIntents(), before)
  })
}

test('[C4.intent-create.amount-min, C4.intent-create.order-reference-length, C4.intent-create.metadata-limits] what is just within the limits is taken', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}`.padStart(40, 'k'), 'v'.repeat(500)]))
  for (const fields of [{ amount: 1 }, { amount: 999_999_999_999 }, { order_reference: '𝄞'.repeat(100) }, { metadata }])
    bodyOf(await merchant.createIntent(fields), 201)
})

test('C4.intent-create.branch: partner and merchant name a branch of theirs, a branch needs not', async () => {
  const [, elsewhere] = p.seed.merchants
  const foreign = elsewhere?.branches[0]?.reference_number
  for (const key of [p.merchant.secret_key, p.seed.partner.secret_key])
    assert.equal(
      refusal(await merchant.createIntent({ [branch]: undefined }, { key })),
      `400 BAD_REQUEST ${branch} required`,
    )
  const own = bodyOf(await merchant.createIntent({ [branch]: undefined }, { key: p.branch.secret_key }), 201)
  const [row] = await rowsOf<{ branch_id: string }>(p, 'select branch_id from payments.intents where id = $1', [own.id])
  assert.equal(row?.branch_id, p.branch.id)
  const refused = `400 INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER ${branch} known_branch`
  assert.equal(refusal(await merchant.createIntent({ [branch]: foreign })), refused)
  bodyOf(await merchant.createIntent({ [branch]: foreign }, { key: p.seed.partner.secret_key }), 201)
})

test('C4.intent-create.expires-default: an intent of its own lives for 24 hours unless it says otherwise', async () => {
  const { id } = bodyOf(await merchant.createIntent(), 201)
  const { expires, created } = await expiryOf(id)
  assert.equal(Date.parse(expires) - Date.parse(created), 24 * hourMs)
  const wanted = inFuture(72 * hourMs)
  const other = bodyOf(await merchant.createIntent({ expires_at: wanted }), 201)
  assert.equal((await expiryOf(other.id)).expires, wanted)
})

test('C4.intent-create.expires-default-link: an intent of a link lives for 24 hours, or as long as its link if that is shorter', async () => {
  const short = await linkOf({ expires_at: inFuture(hourMs) })
  const ofShort = bodyOf(await merchant.createIntent({ payment_link_id: short.id }), 201)
  assert.equal((await expiryOf(ofShort.id)).expires, short.expires_at)
  const long = await linkOf({ expires_at: inFuture(48 * hourMs) })
  const ofLong = bodyOf(await merchant.createIntent({ payment_link_id: long.id }), 201)
  const { expires, created } = await expiryOf(ofLong.id)
  assert.equal(Date.parse(expires) - Date.parse(created), 24 * hourMs)
})

test('C4.intent-create.link-expires: an intent may end before its link or with it, and not a millisecond later', async () => {
  const link = await linkOf({ expires_at: inFuture(hourMs) })
  const later = new Date(Date.parse(link.expires_at) + 1).toISOString()
  const refused = await merchant.createIntent({ payment_link_id: link.id, expires_at: later })
  assert.equal(refusal(refused), '400 INVALID_EXPIRES_AT expires_at not_after_link')
  for (const expires_at of [link.expires_at, inFuture(60_000)]) {
    const { id } = bodyOf(await merchant.createIntent({ payment_link_id: link.id, expires_at }), 201)
    assert.equal((await expiryOf(id)).expires, expires_at)
  }
})

test('C4.intent-create.link-inherits: what is not said of an intent of a link is as on the link', async () => {
  const link = await linkOf({ order_reference: 'FROM-LINK' })
  const intent = bodyOf(await merchant.createIntent({ payment_link_id: link.id }), 201)
  assert.deepEqual([intent.amount, intent.currency, intent.order_reference], [9800, 'PHP', 'FROM-LINK'])
  const [row] = await rowsOf<{ branch_id: string; link_id: string }>(
    p,
    'select branch_id, link_id from payments.intents where id = $1',
    [intent.id],
  )
  assert.deepEqual(row, { branch_id: p.branch.id, link_id: link.id })
  const own = bodyOf(await merchant.createIntent({ payment_link_id: link.id, order_reference: 'OWN' }), 201)
  assert.equal(own.order_reference, 'OWN')
})

test('[C4.intent-create.link-amount, C4.intent-create.link-currency, C4.intent-create.link-branch] what is said must be as on the link', async () => {
  const link = await linkOf()
  const ofLink = { payment_link_id: link.id }
  const same = { amount: 9800, currency: 'PHP', [branch]: p.branch.reference_number }
  bodyOf(await merchant.createIntent({ ...ofLink, ...same }), 201)
  for (const [fields, refused] of [
    [{ amount: 9799 }, '400 INVALID_AMOUNT amount equal_to_link'],
    [{ currency: 'USD' }, '400 INVALID_CURRENCY currency equal_to_link'],
    [
      { [branch]: p.merchant.branches[1]?.reference_number },
      `400 INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER ${branch} equal_to_link`,
    ],
  ] as const)
    assert.equal(refusal(await merchant.createIntent({ ...ofLink, ...same, ...fields })), refused)
})

test('C4.intent-create.link-not-active: a link that is used up, expired or cancelled gets no further intent', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const link = async () => bodyOf(await own.createLink(), 201).id
  const consumed = await link()
  const intent = bodyOf(await own.createIntent({ payment_link_id: consumed }), 201)
  bodyOf(await own.confirm(intent.id), 200)
  const cancelled = await link()
  bodyOf(await own.cancelLink(cancelled), 200)
  const expired = await link()
  bodyOf(await own.createIntent({ payment_link_id: expired }), 201)
  await jump(one, 24 * hourMs)
  for (const id of [consumed, cancelled, expired])
    assert.equal(refusal(await own.createIntent({ payment_link_id: id })), '422 INVALID_STATE')
})

test('C4.intent-create.link-unknown: a link that does not exist and one of somebody else look the same', async () => {
  const all = await everybody(p)
  const theirs = bodyOf(
    await merchant.createLink({ [branch]: all.otherMerchantsBranch.reference }, { key: all.otherMerchant.key }),
    201,
  )
  for (const id of ['01890000-0000-7000-8000-000000000000', theirs.id]) {
    const answer = await merchant.createIntent({ payment_link_id: id })
    assert.equal(refusal(answer), '404 NOT_FOUND')
  }
  assert.equal(
    refusal(await merchant.createIntent({ payment_link_id: 'mug' })),
    '400 INVALID_PAYMENT_LINK_ID payment_link_id format',
  )
})

test('C4.intent-retrieve.unknown: an id of no intent, of a link, and of a foreign intent are all not found', async () => {
  const all = await everybody(p)
  const theirs = bodyOf(
    await merchant.createIntent({ [branch]: undefined }, { key: all.otherMerchantsBranch.key }),
    201,
  )
  const link = await linkOf()
  for (const id of ['01890000-0000-7000-8000-000000000000', link.id, theirs.id])
    assert.equal(refusal(await merchant.retrieveIntent(id)), '404 NOT_FOUND')
  assert.equal(refusal(await merchant.retrieveIntent('mug')), '400 INVALID_ID id format')
})

test('C4.intent-retrieve.expired: an intent is EXPIRED from its expires_at on, in every read, before and after it is stored', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const expires_at = new Date(one.kaha.clock.now().getTime() + hourMs).toISOString()
  const { client_secret, checkout_url, ...intent } = bodyOf(await own.createIntent({ expires_at }), 201)
  const declined = bodyOf(await own.createIntent({ expires_at }), 201)
  bodyOf(await own.confirm(declined.id, cards.declined), 200)
  await jump(one, hourMs - 60_000)
  assert.deepEqual(bodyOf(await own.retrieveIntent(intent.id), 200), intent)

  await jump(one, 60_000)

  const read = bodyOf(await own.retrieveIntent(intent.id), 200)
  assert.deepEqual([read.status, read.updated_at], ['EXPIRED', expires_at])
  const afterDecline = bodyOf(await own.retrieveIntent(declined.id), 200)
  assert.deepEqual([afterDecline.status, afterDecline.updated_at], ['EXPIRED', expires_at])
  assert.ok(!('failure_category' in afterDecline))
  assert.equal(refusal(await own.confirm(intent.id)), '409 INVALID_STATE')
  assert.equal(refusal(await own.confirmAsPayer(intent.id, client_secret)), '409 INVALID_STATE')
  assert.match(await (await fetch(checkout_url)).text(), /expired/i)
  const [row] = await rowsOf<{ state: string }>(one, 'select state from payments.intents where id = $1', [intent.id])
  assert.equal(row?.state, 'ACTIVE', 'the control: a sweeper has come by')

  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.deepEqual(bodyOf(await own.retrieveIntent(intent.id), 200), read)
  assert.deepEqual(bodyOf(await own.retrieveIntent(declined.id), 200), afterDecline)
})
