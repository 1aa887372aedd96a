import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import { bodyOf, hourMs, refusal, shop } from './shop.ts'

// What a create of a link refuses, field by field, beside the last values that it still takes.
const p = await platform({ after })
const merchant = shop(p)

const mug = { sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }
const countOfLinks = async (): Promise<number> => (await Array.fromAsync(p.sdk.paymentLinks.listAll())).length

for (const field of ['type', 'currency', 'amount', 'line_items']) {
  test(`C4.link-create.required: a create without ${field} is refused and makes nothing`, async () => {
    const before = await countOfLinks()
    assert.equal(refusal(await merchant.createLink({ [field]: undefined })), `400 BAD_REQUEST ${field} required`)
    assert.equal(await countOfLinks(), before)
  })
}

/** What is sent instead of the usual field, and the refusal. */
type Case = readonly [rule: string, says: string, fields: object, refused: string]

const total = (amount: unknown, ...lines: object[]) => ({
  amount,
  line_items: lines.map((line) => ({ ...mug, ...line })),
})
const metadataOf = (keys: number) => Object.fromEntries(Array.from({ length: keys }, (_, i) => [`key ${i}`, 'x']))
const web = 'redirect_urls'

const cases: readonly Case[] = [
  ['C4.link-create.type-unknown', 'an unknown type', { type: 'recurring' }, '400 INVALID_TYPE type one_of'],
  ['C4.link-create.type-unknown', 'a type in capitals', { type: 'ONE_TIME' }, '400 INVALID_TYPE type one_of'],
  [
    'C4.link-create.currency',
    'a currency that is not set up',
    { currency: 'USD' },
    '400 INVALID_CURRENCY currency one_of',
  ],
  ['C4.link-create.currency', 'no code at all', { currency: 'php' }, '400 INVALID_CURRENCY currency format'],
  ['C4.link-create.amount-min', 'an amount of 0', total(0, { unit_price: 0 }), '400 INVALID_AMOUNT amount minimum'],
  ['C4.link-create.amount-min', 'a negative amount', { amount: -9800 }, '400 INVALID_AMOUNT amount minimum'],
  ['C4.link-create.amount-min', 'half a centavo', { amount: 9800.5 }, '400 INVALID_AMOUNT amount type'],
  ['C4.link-create.amount-min', 'an amount as text', { amount: '9800' }, '400 INVALID_AMOUNT amount type'],
  [
    'C4.link-create.amount-sum',
    'an amount one below its lines',
    { amount: 9799 },
    '400 INVALID_AMOUNT amount sum_of_line_items',
  ],
  [
    'C4.link-create.amount-sum',
    'an amount one above its lines',
    { amount: 9801 },
    '400 INVALID_AMOUNT amount sum_of_line_items',
  ],
  [
    'C4.link-create.amount-sum',
    'lines that a float would round to the amount',
    total(999_999_999_999, { unit_price: 999_999_999_999, quantity: 999_999_999_999 }),
    '400 INVALID_AMOUNT amount sum_of_line_items',
  ],
  ['C4.link-create.line-items-count', 'no line', { line_items: [] }, '400 INVALID_LINE_ITEMS line_items min_items'],
  [
    'C4.link-create.line-items-count',
    '101 lines',
    total(101, ...Array.from({ length: 101 }, () => ({ unit_price: 1 }))),
    '400 INVALID_LINE_ITEMS line_items max_items',
  ],
  [
    'C4.link-create.unit-price',
    'a negative price',
    total(9800, { unit_price: -1 }, { unit_price: 9801 }),
    '400 INVALID_LINE_ITEMS line_items.0.unit_price minimum',
  ],
  [
    'C4.link-create.unit-price',
    'a price with decimals',
    total(9800, { unit_price: 4900.5 }, { unit_price: 4899.5 }),
    '400 INVALID_LINE_ITEMS line_items.0.unit_price type',
  ],
  [
    'C4.link-create.quantity',
    'nothing of it',
    total(9800, {}, { quantity: 0 }),
    '400 INVALID_LINE_ITEMS line_items.1.quantity minimum',
  ],
  [
    'C4.link-create.quantity',
    'half of it',
    total(4900, { quantity: 0.5 }),
    '400 INVALID_LINE_ITEMS line_items.0.quantity type',
  ],
  [
    'C4.link-create.expires-future',
    'an expiry an hour ago',
    { expires_at: new Date(Date.now() - hourMs).toISOString() },
    '400 INVALID_EXPIRES_AT expires_at future',
  ],
  [
    'C4.link-create.expires-future',
    'an expiry that is no time',
    { expires_at: '2060-02-30T00:00:00Z' },
    '400 INVALID_EXPIRES_AT expires_at format',
  ],
  [
    'C4.link-create.order-reference-length',
    'an order reference of 101 characters',
    { order_reference: 'é'.repeat(101) },
    '400 INVALID_ORDER_REFERENCE order_reference max_length',
  ],
  [
    'C4.link-create.redirect-urls',
    'a redirect to http',
    { [web]: { success: 'http://shop.example.com/' } },
    '400 INVALID_REDIRECT_URLS redirect_urls.success https',
  ],
  [
    'C4.link-create.redirect-urls',
    'a redirect to a script',
    { [web]: { declined: 'javascript:alert(1)' } },
    '400 INVALID_REDIRECT_URLS redirect_urls.declined https',
  ],
  [
    'C4.link-create.redirect-urls',
    'a redirect that is no address',
    { [web]: { expired: 'shop.example.com' } },
    '400 INVALID_REDIRECT_URLS redirect_urls.expired format',
  ],
  [
    'C4.link-create.redirect-urls',
    'a redirect for an outcome that does not exist',
    { [web]: { failed: 'https://shop.example.com/' } },
    '400 BAD_REQUEST redirect_urls.failed unknown',
  ],
  [
    'C4.link-create.redirect-loopback',
    'a redirect to http in the local network',
    { [web]: { success: 'http://192.168.0.10/' } },
    '400 INVALID_REDIRECT_URLS redirect_urls.success https',
  ],
  [
    'C4.link-create.max-uses-multi',
    'max_uses on a one_time link',
    { max_uses: 1 },
    '400 INVALID_MAX_USES max_uses multi_use_only',
  ],
  [
    'C4.link-create.max-uses-range',
    'max_uses of 0',
    { type: 'multi_use', max_uses: 0 },
    '400 INVALID_MAX_USES max_uses minimum',
  ],
  [
    'C4.link-create.max-uses-range',
    'max_uses over a million',
    { type: 'multi_use', max_uses: 1_000_001 },
    '400 INVALID_MAX_USES max_uses maximum',
  ],
  [
    'C4.link-create.metadata-limits',
    '51 metadata keys',
    { metadata: metadataOf(51) },
    '400 INVALID_METADATA metadata max_keys',
  ],
  [
    'C4.link-create.metadata-limits',
    'a metadata key of 41 characters',
    { metadata: { ['k'.repeat(41)]: 'x' } },
    '400 INVALID_METADATA metadata max_key_length',
  ],
  [
    'C4.link-create.metadata-limits',
    'a metadata value of 501 characters',
    { metadata: { note: 'x'.repeat(501) } },
    '400 INVALID_METADATA metadata.note max_length',
  ],
  [
    'C4.link-create.metadata-limits',
    'the metadata of a line with a value that is too long',
    total(9800, { metadata: { note: 'x'.repeat(501) } }),
    '400 INVALID_METADATA line_items.0.metadata.note max_length',
  ],
]

for (const [rule, says, fields, refused] of cases) {
  test(`${rule}: ${says} is refused and makes nothing`, async () => {
    const before = await countOfLinks()
    assert.equal(refusal(await merchant.createLink(fields)), refused)
    assert.equal(await countOfLinks(), before)
  })
}

/** The last values that are still taken: the controls of the refusals above. */
const taken: readonly (readonly [rule: string, says: string, fields: object])[] = [
  ['C4.link-create.amount-min', 'an amount of 1', total(1, { unit_price: 1 })],
  [
    'C4.link-create.amount-sum',
    'many lines whose sum is exact',
    total(999_999_999_999, { unit_price: 333_333_333_333, quantity: 3 }),
  ],
  ['C4.link-create.unit-price', 'a free line', total(9800, {}, { unit_price: 0 })],
  [
    'C4.link-create.line-items-count',
    '100 lines',
    total(100, ...Array.from({ length: 100 }, () => ({ unit_price: 1 }))),
  ],
  [
    'C4.link-create.order-reference-length',
    'an order reference of 100 characters',
    { order_reference: '𝄞'.repeat(100) },
  ],
  ['C4.link-create.redirect-loopback', 'http on 127.0.0.1', { [web]: { success: 'http://127.0.0.1:3000/ok' } }],
  ['C4.link-create.redirect-loopback', 'http on 127.1.2.3', { [web]: { success: 'http://127.1.2.3:3000/ok' } }],
  ['C4.link-create.redirect-loopback', 'http on [::1]', { [web]: { success: 'http://[::1]:3000/ok' } }],
  ['C4.link-create.max-uses-range', 'max_uses of 1', { type: 'multi_use', max_uses: 1 }],
  ['C4.link-create.max-uses-range', 'max_uses of a million', { type: 'multi_use', max_uses: 1_000_000 }],
  ['C4.link-create.metadata-limits', '50 metadata keys', { metadata: metadataOf(50) }],
  [
    'C4.link-create.metadata-limits',
    'a metadata key of 40 characters with a value of 500',
    { metadata: { ['ж'.repeat(40)]: '𝄞'.repeat(500) } },
  ],
]

for (const [rule, says, fields] of taken) {
  test(`${rule}: ${says} is taken and shown`, async () => {
    const link = bodyOf(await merchant.createLink(fields), 201)
    for (const [field, value] of Object.entries(fields)) assert.deepEqual(link[field], value)
  })
}
