import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseFullQR } from 'emvco-qr-sdk'
import fc from 'fast-check'
import { parse } from 'promptparse'
import { crc16, readQrPh, writeQrPh, type MerchantCode, type QrPhCode } from './index.ts'

interface Vectors {
  readonly crc_check: { readonly input: string; readonly crc: string }
  readonly valid: readonly { readonly name: string; readonly text: string; readonly fields: Record<string, unknown> }[]
  readonly invalid: readonly { readonly why: string; readonly text: string }[]
}
const vectors = JSON.parse(readFileSync(new URL('../test/vectors/qr-texts.json', import.meta.url), 'utf8')) as Vectors

function read(text: string): QrPhCode {
  const found = readQrPh(text)
  assert.ok('code' in found, JSON.stringify(found))
  return found.code
}

const reasonOf = (text: string): string => {
  const found = readQrPh(text)
  assert.ok('refusal' in found, `accepted: ${text}`)
  assert.ok(found.refusal.message.length > 10)
  return `${found.refusal.reason} ${found.refusal.at}`.trim()
}

const shop: MerchantCode = {
  initiation: 'dynamic',
  acquirer: 'TESTPHM1XXX',
  merchantId: '000000000000001',
  notifyFlags: '010',
  mcc: '5812',
  amount: '98.00',
  name: 'KAPE NI NIÑO',
  city: 'PARAÑAQUE',
  reference: 'REF0000000002',
  terminal: 'TERM0001',
}

/** Puts the right CRC behind a text whose tag 63 is still to come. */
const sealed = (body: string): string => `${body}6304${crc16(`${body}6304`)}`

test('the CRC of the check value is the one of CRC-16/CCITT-FALSE', () => {
  assert.equal(crc16(vectors.crc_check.input), vectors.crc_check.crc)
})

for (const { name, text, fields } of vectors.valid) {
  test(`a code is read: ${name}`, () => {
    const { merchantId, ...code } = read(text)
    const found: Record<string, unknown> = { ...code, merchant_id: merchantId }
    for (const [field, value] of Object.entries(fields)) assert.equal(found[field], value, field)
    assert.equal(code.pays, text.includes('ph.ppmi.p2m') ? 'merchant' : 'person')
    // What these tags hold of a person is of another kind.
    if (code.pays === 'person') assert.deepEqual([merchantId, code.notifyFlags], [null, null])
  })
}

for (const { why, text } of vectors.invalid) {
  test(`a text is refused: ${why}`, () => {
    assert.ok(reasonOf(text))
  })
}

const [plain = '', full = '', accented = ''] = vectors.valid.map(({ text }) => text)

test('E6.text.amount: an amount is read in each form that EMVCo takes, with decimals, without, and with a point alone', () => {
  for (const amount of ['98.73', '98.7', '98', '98.', '0.01', '9999999999999', '999999999999.'])
    assert.equal(read(writeQrPh({ ...shop, amount })).amount, amount)
})

const reasons: readonly (readonly [what: string, text: string, reason: string])[] = [
  ['nothing', '', 'empty'],
  ['a web address', 'https://example.com/pay', 'not_emvco 00'],
  ['a line end inside', plain.replace('SANDBOX STORE', 'SANDBOX\nSTORE'), 'characters'],
  ['a line separator inside', plain.replace('SANDBOX STORE', 'SANDBOX\u2028STORE'), 'characters'],
  ['a paragraph separator inside', plain.replace('SANDBOX STORE', 'SANDBOX\u2029STORE'), 'characters'],
  ['half a surrogate pair', plain.replace('STORE', 'STOR\ud83d'), 'characters'],
  ['more than any code has', `000201${'9'.repeat(600)}`, 'too_long'],
  ['the last digit changed', `${plain.slice(0, -1)}0`, 'crc 63'],
  ['the CRC in lower case', plain.slice(0, -4) + plain.slice(-4).toLowerCase(), 'crc 63'],
  ['no CRC', plain.slice(0, -8), 'crc_missing 63'],
  ['a CRC that is not last', `${plain}6102AB`, 'crc_not_last 63'],
  ['a CRC of five digits', `${plain.slice(0, -8)}6305${plain.slice(-4)}0`, 'crc 63'],
  [
    'a name of 26 characters',
    sealed(full.slice(0, -8).replace('5913SANDBOX STORE', `5926${'N'.repeat(26)}`)),
    'value 59',
  ],
  ['a city of 16 characters', sealed(full.slice(0, -8).replace('6006MAKATI', `6016${'C'.repeat(16)}`)), 'value 60'],
  [
    'a terminal of 26 characters',
    sealed(
      full
        .slice(0, -8)
        .replace('6265', '6283')
        .replace('0708TERM0001', `0726${'T'.repeat(26)}`),
    ),
    'value 62-07',
  ],
  ['a country in lower case', sealed(full.slice(0, -8).replace('5802PH', '5802ph')), 'value 58'],
  ['no name', sealed(full.slice(0, -8).replace('5913SANDBOX STORE', '')), 'missing 59'],
  ['no amount but a nought', sealed(full.slice(0, -8).replace('54071458.31', '54040.00')), 'value 54'],
  ['a currency in letters', sealed(full.slice(0, -8).replace('5303608', '5303PHP')), 'value 53'],
  [
    'a template cut off inside',
    sealed(full.slice(0, -8).replace('0705', '0799').replace('0708', '0799')),
    'truncated 62-07',
  ],
  [
    'a template whose last value has a character too few',
    sealed(accented.slice(0, -8).replace('62170513REF', '62170514REF')),
    'truncated 62-05',
  ],
  [
    'a tag that comes twice in a template',
    sealed(full.slice(0, -8).replace('0309BRANCH-01', '0509BRANCH-01')),
    'duplicate 62-05',
  ],
  ['a BIC in lower case', sealed(full.slice(0, -8).replace('TESTPHM1XXX', 'testphm1xxx')), 'value 28-01'],
  ['an account of another scheme', sealed(full.slice(0, -8).replace('ph.ppmi.p2m', 'sg.com.nets')), 'not_qr_ph'],
  ['a length of letters', sealed(full.slice(0, -8).replace('52045812', '52XX5812')), 'length 52'],
  ['a length of nought', sealed(full.slice(0, -8).replace('52045812', '5200')), 'length 52'],
]
for (const [what, text, reason] of reasons) {
  test(`a refusal names what is wrong: ${what}`, () => {
    assert.equal(reasonOf(text), reason)
  })
}

test('E6.text.lengths: a length counts characters, and the CRC counts their UTF-8 bytes', () => {
  const text = writeQrPh(shop)
  assert.ok(text.includes('5912KAPE NI NIÑO6009PARAÑAQUE'))
  // Written with a mark of its own, Ñ is one character all the same.
  assert.equal(writeQrPh({ ...shop, name: 'KAPE NI NIN\u0303O' }), text)
  const composed = writeQrPh({ ...shop, reference: 'REF-\u00d1' })
  assert.equal(writeQrPh({ ...shop, reference: 'REF-N\u0303' }), composed)
  assert.equal(text.slice(-4), crc16(text.slice(0, -4)))
  assert.equal(read(accented).name, 'KAPE NI NIÑO')
})

test('[E6.text.format, E6.text.merchant-account, E6.text.merchant-fields, E6.text.amount, E6.text.additional, E6.text.crc] a written text has every tag in its place', () => {
  assert.equal(
    writeQrPh({ ...shop, name: 'SANDBOX STORE', city: 'MAKATI', creditAccount: '0012' }),
    sealed(
      '000201' +
        '010212' +
        '28640011ph.ppmi.p2m0111TESTPHM1XXX031500000000000000104040012' +
        '0503010' +
        '52045812' +
        '5303608' +
        '540598.00' +
        '5802PH' +
        '5913SANDBOX STORE' +
        '6006MAKATI' +
        '62290513REF00000000020708TERM0001',
    ),
  )
})

const word = (charactersMax: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: charactersMax })
    .map((text) => text.normalize())
    .filter((text) => !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text) && Array.from(text).length <= charactersMax)
const digits = (lengthMax: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${lengthMax}}$`))
const codes: fc.Arbitrary<MerchantCode> = fc.record(
  {
    initiation: fc.constantFrom('static', 'dynamic'),
    acquirer: fc.stringMatching(/^[A-Z]{4}PH[A-Z0-9]{5}$/),
    merchantId: fc.oneof(digits(25), word(25)),
    creditAccount: digits(19),
    notifyFlags: fc.stringMatching(/^[01]{3}$/),
    mcc: fc.stringMatching(/^[0-9]{4}$/),
    amount: fc.option(fc.integer({ min: 1, max: 9_999_999 }).map((minor) => (minor / 100).toFixed(2))),
    name: word(25),
    city: word(15),
    reference: fc.oneof(digits(25), word(25)),
    terminal: fc.oneof(digits(25), word(25)),
  },
  { requiredKeys: ['initiation', 'acquirer', 'merchantId', 'mcc', 'amount', 'name', 'city'] },
)

test('whatever a code says, names of any script and ids of digits alone, its text says the same', () => {
  fc.assert(
    fc.property(codes, (code) => {
      const { objects, pays, currency, country, ...found } = read(writeQrPh(code))
      assert.deepEqual([pays, currency, country, objects.at(-1)?.id], ['merchant', '608', 'PH', '63'])
      const nothing = { creditAccount: null, notifyFlags: null, reference: null, terminal: null }
      assert.deepEqual(found, { ...nothing, ...code })
    }),
    { numRuns: 500 },
  )
})

/** The same objects in another order, but for the first and the CRC. */
function shuffled(text: string, random: (max: number) => number): string {
  const objects = read(text)
    .objects.slice(1, -1)
    .map(({ id, value }) => ({ id, value }))
  for (let at = objects.length - 1; at > 0; at -= 1) {
    const other = random(at + 1)
    const [one, two] = [objects[at], objects[other]]
    if (one !== undefined && two !== undefined) [objects[at], objects[other]] = [two, one]
  }
  const length = (value: string) => String(Array.from(value).length).padStart(2, '0')
  return sealed(`000201${objects.map(({ id, value }) => id + length(value) + value).join('')}`)
}

test('templates are read in any order', () => {
  fc.assert(
    fc.property(codes, fc.infiniteStream(fc.nat()), (code, numbers) => {
      const text = writeQrPh(code)
      const { objects: _, ...before } = read(text)
      const { objects: __, ...after } = read(shuffled(text, (max) => Number(numbers.next().value) % max))
      assert.deepEqual(after, before)
    }),
    { numRuns: 200 },
  )
})

test('every truncation of a code is refused', () => {
  for (const { text } of vectors.valid)
    for (let length = 0; length < text.length; length += 1) assert.ok(reasonOf(text.slice(0, length)))
})

test('every change of a single character of a code is refused', () => {
  const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + at))
  const others = [...printable, ...Array.from('Ññ₱☕'), '\u0000', '\n', '\ud83d', '😀', '']
  for (const { text } of vectors.valid) {
    const characters = Array.from(text)
    for (const [at, character] of characters.entries()) {
      for (const other of others) {
        if (other === character) continue
        assert.ok(reasonOf([...characters.slice(0, at), other, ...characters.slice(at + 1)].join('')))
      }
    }
  }
})

test('no text at all makes the reader fail', () => {
  const begun = fc.string({ unit: 'binary' }).map((text) => `000201${text}`)
  const built = fc
    .array(fc.tuple(fc.stringMatching(/^[0-9]{2}$/), fc.string({ unit: 'binary', maxLength: 30 })))
    .map((parts) =>
      sealed(
        `000201${parts.map(([id, value]) => id + String(Array.from(value).length).padStart(2, '0') + value).join('')}`,
      ),
    )
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), begun, built), (text) => {
      const found = readQrPh(text)
      assert.ok('refusal' in found || found.code.objects.length > 5)
    }),
    { numRuns: 2_000 },
  )
})

test('a field that the format does not take is refused before it is written', () => {
  const wrong: Partial<MerchantCode>[] = [
    { name: '' },
    { name: 'N'.repeat(26) },
    { city: 'C'.repeat(16) },
    { merchantId: '1'.repeat(26) },
    { amount: '1,458.31' },
    { amount: '1.005' },
    { amount: '0.00' },
    { amount: '0.' },
    { amount: '.50' },
    { amount: '.' },
    { amount: '9.8.' },
    { amount: '12345678901.23' },
    { acquirer: 'bank' },
    { mcc: '12' },
    { reference: 'R'.repeat(26) },
    { terminal: 'a\nb' },
    { creditAccount: '1'.repeat(100) },
  ]
  for (const fields of wrong) assert.throws(() => writeQrPh({ ...shop, ...fields }), RangeError, JSON.stringify(fields))
})

test('two libraries of others read the same from codes in ASCII', () => {
  const ascii = { ...shop, name: 'KAPE NI NENA', city: 'MAKATI' }
  for (const text of [plain, full, writeQrPh(ascii), writeQrPh({ ...ascii, amount: null, initiation: 'static' })]) {
    const own = read(text)
    const prompt = parse(text, true)
    assert.ok(prompt, 'promptparse refuses it')
    assert.equal(prompt.getTagValue('28', '03'), own.merchantId)
    assert.equal(prompt.getTagValue('54') ?? null, own.amount)
    assert.equal(prompt.getTagValue('59'), own.name)
    assert.equal(prompt.getTagValue('62', '05') ?? null, own.reference)
    assert.ok(prompt.validate('63'))
    const { crc, tlvs } = parseFullQR(text, {})
    assert.ok(crc.isValid)
    assert.deepEqual(
      tlvs.map(({ tag: id, value }) => ({ id, value })),
      own.objects,
    )
  }
})
