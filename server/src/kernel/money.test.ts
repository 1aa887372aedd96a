import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  amountMax,
  currencies,
  currencyOf,
  decimalToMinor,
  formatMoney,
  isExactNumber,
  linesTotal,
  minorToDecimal,
  minorToNumber,
} from './money.ts'

const seed = Date.now() & 0x7fffffff

const codesWith = (digits: number) => Object.keys(currencies).filter((code) => currencies[code]?.digits === digits)

test('an amount written as a decimal and read back is the same amount, in every currency, up to the largest', (t) => {
  t.diagnostic(`seed ${seed}`)
  const amount = fc.oneof(
    fc.bigInt({ min: 0n, max: amountMax }),
    fc.constantFrom(0n, 1n, 9n, 10n, 99n, 100n, 999n, 1000n, amountMax),
  )
  for (const digits of [0, 2, 3, 4]) {
    fc.assert(
      fc.property(amount, fc.constantFrom(...codesWith(digits)), (minor, code) => {
        const text = minorToDecimal(minor, code)
        assert.equal(text.split('.')[1]?.length ?? 0, digits)
        assert.deepEqual(decimalToMinor(text, code), { minor })
      }),
      { seed, numRuns: 2_000 },
    )
  }
})

test('a decimal is shifted, never computed: each written form has one exact value', () => {
  const rows: [string, string, bigint][] = [
    ['0', 'PHP', 0n],
    ['0.01', 'PHP', 1n],
    ['1', 'PHP', 100n],
    ['1.5', 'PHP', 150n],
    ['1.50', 'PHP', 150n],
    ['0.07', 'USD', 7n],
    ['1.15', 'USD', 115n],
    ['9007199254.99', 'PHP', 900719925499n],
    ['9999999999.99', 'PHP', amountMax],
    ['999999999999', 'JPY', amountMax],
    ['999999999.999', 'KWD', amountMax],
    ['999999999999.99', 'PHP', 99_999_999_999_999n],
    ['1.0001', 'CLF', 10_001n],
  ]
  for (const [text, code, minor] of rows) assert.deepEqual(decimalToMinor(text, code), { minor }, `${text} ${code}`)
})

test('a text that is no plain decimal of its currency is refused by rule', () => {
  const notDecimal = [
    '',
    ' ',
    '1 ',
    ' 1',
    '+1',
    '-1',
    '.5',
    '1.',
    '01',
    '00',
    '1,000',
    '1_000',
    '1e3',
    '0x1',
    '1.2.3',
    '١',
    'NaN',
    'Infinity',
    '1\n',
    '1n',
  ]
  for (const text of notDecimal)
    assert.deepEqual(decimalToMinor(text, 'PHP'), { refusal: 'decimal' }, JSON.stringify(text))
  for (const [text, code] of [
    ['1.001', 'PHP'],
    ['1.500', 'PHP'],
    ['1.0', 'JPY'],
    ['1.0000', 'KWD'],
  ] as const)
    assert.deepEqual(decimalToMinor(text, code), { refusal: 'decimal_places' }, `${text} ${code}`)
  assert.deepEqual(decimalToMinor('1000000000000', 'PHP'), { refusal: 'integer_digits_max' })
  assert.deepEqual(decimalToMinor('9'.repeat(60_000), 'JPY'), { refusal: 'integer_digits_max' })
})

test('pages show money with its sign, grouped by thousands, with the decimals of its currency', () => {
  const rows: [bigint, string, string][] = [
    [0n, 'PHP', '₱0.00'],
    [5n, 'PHP', '₱0.05'],
    [123_450n, 'PHP', '₱1,234.50'],
    [99_999n, 'PHP', '₱999.99'],
    [100_000n, 'PHP', '₱1,000.00'],
    [amountMax, 'PHP', '₱9,999,999,999.99'],
    [-123_450n, 'PHP', '-₱1,234.50'],
    [1_234n, 'JPY', '¥1,234'],
    [1_234_567n, 'KWD', 'KWD\u00a01,234.567'],
    [123_456n, 'USD', '$1,234.56'],
    [123_456n, 'CAD', 'CA$1,234.56'],
  ]
  for (const [minor, code, shown] of rows) {
    assert.equal(formatMoney(minor, code, 'en'), shown)
    assert.equal(formatMoney(minor, code, 'fil'), shown)
  }
})

test('what pages show is what the decimal says, whatever the amount', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -amountMax, max: amountMax }),
      fc.constantFrom(...Object.keys(currencies)),
      (minor, code) => {
        const shown = formatMoney(minor, code, 'en')
        assert.equal(shown.replace(/[^0-9.-]/g, ''), minorToDecimal(minor, code))
        for (const group of shown
          .replace(/[^0-9,.]/g, '')
          .split('.')[0]
          ?.split(',')
          .slice(1) ?? [])
          assert.equal(group.length, 3)
      },
    ),
    { seed, numRuns: 2_000 },
  )
})

test('an amount as a number of JSON is the same amount, and one that such a number cannot hold is refused', () => {
  const exactMax = BigInt(Number.MAX_SAFE_INTEGER)
  fc.assert(
    fc.property(fc.bigInt({ min: -exactMax, max: exactMax }), (minor) => {
      assert.equal(BigInt(JSON.stringify(minorToNumber(minor))), minor)
    }),
  )
  for (const minor of [amountMax, exactMax, -exactMax, 0n]) {
    assert.equal(BigInt(minorToNumber(minor)), minor)
    assert.ok(isExactNumber(minor))
  }
  for (const minor of [exactMax + 1n, -exactMax - 1n, 10n ** 30n]) {
    assert.throws(() => minorToNumber(minor), RangeError)
    assert.ok(!isExactNumber(minor))
  }
})

test('amounts below zero keep their sign when the whole part is zero', () => {
  assert.equal(minorToDecimal(-5n, 'PHP'), '-0.05')
  assert.equal(minorToDecimal(0n, 'PHP'), '0.00')
  assert.equal(minorToDecimal(-5n, 'JPY'), '-5')
})

test('the total of the lines is exact, and refused above the largest amount', () => {
  assert.deepEqual(linesTotal([]), { minor: 0n })
  assert.deepEqual(linesTotal([{ unitPrice: 0n, quantity: 5n }]), { minor: 0n })
  assert.deepEqual(
    linesTotal([
      { unitPrice: 12_50n, quantity: 3n },
      { unitPrice: 1n, quantity: 1n },
    ]),
    { minor: 3751n },
  )
  assert.deepEqual(linesTotal([{ unitPrice: amountMax, quantity: 1n }]), { minor: amountMax })
  assert.deepEqual(
    linesTotal([
      { unitPrice: amountMax, quantity: 1n },
      { unitPrice: 1n, quantity: 1n },
    ]),
    { refusal: 'amount_max' },
  )
  const huge = Array.from({ length: 100 }, () => ({ unitPrice: amountMax, quantity: 2n ** 53n - 1n }))
  assert.deepEqual(linesTotal(huge), { refusal: 'amount_max' })
  assert.throws(
    () =>
      linesTotal([
        { unitPrice: -1n, quantity: 1n },
        { unitPrice: 5n, quantity: 1n },
      ]),
    RangeError,
  )
  assert.throws(() => linesTotal([{ unitPrice: 1n, quantity: -1n }]), RangeError)
})

test('however an amount is cut into lines, their total is that amount, and one more unit than the largest is refused', () => {
  const shares = fc.array(fc.tuple(fc.bigInt({ min: 0n, max: amountMax }), fc.bigInt({ min: 1n, max: 1_000n })), {
    maxLength: 99,
  })
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: amountMax }), shares, (amount, cuts) => {
      let left = amount
      const lines = cuts.map(([wanted, quantity]) => {
        const unitPrice = (wanted % (left + 1n)) / quantity
        left -= unitPrice * quantity
        return { unitPrice, quantity }
      })
      assert.deepEqual(linesTotal([...lines, { unitPrice: left, quantity: 1n }]), { minor: amount })
      const beyond = { unitPrice: 1n, quantity: amountMax - amount + 1n }
      assert.deepEqual(linesTotal([...lines, { unitPrice: left, quantity: 1n }, beyond]), { refusal: 'amount_max' })
    }),
    { seed },
  )
})

test('the currency table holds each code and number of ISO 4217 once, and only what has a minor unit', () => {
  const all = Object.entries(currencies)
  assert.equal(all.length, 165)
  assert.equal(new Set(all.map(([, { numeric }]) => numeric)).size, all.length)
  for (const [code, { numeric }] of all) {
    assert.match(code, /^[A-Z]{3}$/)
    assert.match(numeric, /^[0-9]{3}$/)
  }
  assert.deepEqual(
    all.map(([code]) => code),
    all.map(([code]) => code).toSorted(),
  )
  assert.deepEqual(codesWith(0), [
    'BIF',
    'CLP',
    'DJF',
    'GNF',
    'ISK',
    'JPY',
    'KMF',
    'KRW',
    'PYG',
    'RWF',
    'UGX',
    'UYI',
    'VND',
    'VUV',
    'XAF',
    'XOF',
    'XPF',
  ])
  assert.deepEqual(codesWith(3), ['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'])
  assert.deepEqual(codesWith(4), ['CLF', 'UYW'])
  assert.deepEqual(currencyOf('PHP'), { numeric: '608', digits: 2 })
})

test('a code that is no currency is unknown, and arithmetic with it is refused', () => {
  for (const code of ['', 'php', 'XXX', 'XAU', 'BGN', 'HRK', 'constructor', '__proto__', 'toString']) {
    assert.equal(currencyOf(code), undefined)
    assert.throws(() => minorToDecimal(1n, code), RangeError)
    assert.throws(() => decimalToMinor('1', code), RangeError)
    assert.throws(() => formatMoney(1n, code, 'en'), RangeError)
  }
})
