import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { pino } from 'pino'
import { cardFingerprint, parseCard } from './card.ts'
import type { Card, CardInput } from './card.ts'

const now = new Date('2030-06-15T12:00:00Z')
const good: CardInput = { number: '4242424242424242', exp_month: 11, exp_year: 2031, cvc: '739', name: 'Maria Clara' }

const parsed = (input: Partial<CardInput>, at = now) => parseCard({ ...good, ...input }, at)

function card(input: Partial<CardInput> = {}): Card {
  const result = parsed(input)
  assert.ok(!('refusal' in result), inspect(result))
  return result
}

function refused(input: Partial<CardInput>, field: string, rule: string) {
  assert.deepEqual(parsed(input), { refusal: 'INVALID_CARD', field, rule }, inspect(input))
}

test('a good card is read as it was typed', () => {
  const read = card()
  assert.equal(read.brand, 'VISA')
  assert.equal(read.lastFour, '4242')
  assert.equal(read.number(), good.number)
  assert.equal(read.cvc(), '739')
  assert.equal(read.expMonth(), 11)
  assert.equal(read.expYear(), 2031)
  assert.equal(read.holder(), 'Maria Clara')
  assert.equal(card({ name: undefined }).holder(), null)
})

test('every published test card is well formed and has its brand', () => {
  const vectors = JSON.parse(readFileSync(new URL('../../test/vectors/test-cards.json', import.meta.url), 'utf8')) as {
    cards: { number: string; brand: string }[]
  }
  assert.equal(vectors.cards.length, 30)
  for (const { number, brand } of vectors.cards)
    assert.equal(card({ number, cvc: brand === 'AMEX' ? '1234' : '123' }).brand, brand, number)
})

test('the brand is told by the issuer ranges, at both of their ends', () => {
  const ranges: [string, string | null, number][] = [
    ['4', 'VISA', 16],
    ['50', null, 16],
    ['51', 'MASTERCARD', 16],
    ['55', 'MASTERCARD', 16],
    ['56', null, 16],
    ['2220', null, 16],
    ['2221', 'MASTERCARD', 16],
    ['2299', 'MASTERCARD', 16],
    ['2720', 'MASTERCARD', 16],
    ['2721', null, 16],
    ['34', 'AMEX', 15],
    ['37', 'AMEX', 15],
    ['36', null, 14],
    ['3527', null, 16],
    ['3528', 'JCB', 16],
    ['3589', 'JCB', 16],
    ['359', null, 16],
    ['6011', 'DISCOVER', 16],
    ['643', null, 16],
    ['644', 'DISCOVER', 16],
    ['65', 'DISCOVER', 19],
    ['62', 'UNIONPAY', 19],
    ['622126', 'UNIONPAY', 16],
    ['8100', 'UNIONPAY', 16],
    ['8171', 'UNIONPAY', 16],
    ['8172', null, 16],
  ]
  for (const [prefix, brand, length] of ranges) {
    const read = card({ number: withCheckDigit(prefix, length), cvc: brand === 'AMEX' ? '1234' : '123' })
    assert.equal(read.brand, brand, prefix)
  }
})

test('a number with anything but digits is refused, blanks and hyphens included', () => {
  for (const number of [
    '',
    ' ',
    '4242 4242 4242 4242',
    '4242-4242-4242-4242',
    '424242424242424x',
    '4242424242424242\n',
    '٤٢٤٢',
    '-4242424242424242',
  ])
    refused({ number }, 'number', 'digits')
  refused({ number: 4242424242424242 as unknown as string }, 'number', 'digits')
})

test('a number of a length that its scheme does not have is refused', () => {
  for (const [prefix, length] of [
    ['4', 14],
    ['4', 15],
    ['4', 17],
    ['51', 15],
    ['51', 17],
    ['34', 16],
    ['62', 15],
    ['36', 11],
    ['36', 20],
    ['4', 60_000],
  ] as const)
    refused({ number: withCheckDigit(prefix, length) }, 'number', 'length')
  for (const length of [13, 16, 19]) assert.equal(card({ number: withCheckDigit('4', length) }).brand, 'VISA')
})

test('one wrong digit and two swapped neighbours are noticed', () => {
  refused({ number: '4242424242424241' }, 'number', 'luhn')
  refused({ number: '4571736000000057' }, 'number', 'luhn')
  refused({ number: '0000000000000001' }, 'number', 'luhn')
})

test('months are 1 to 12 and years have four digits', () => {
  for (const exp_month of [0, 13, -1, 1.5, NaN]) refused({ exp_month }, 'exp_month', 'month')
  for (const exp_year of [31, 999, 10_000, 2031.5, NaN, -2031]) refused({ exp_year }, 'exp_year', 'four_digits')
  for (const exp_month of [1, 12]) card({ exp_month })
})

test('a card is good until its month has ended everywhere on earth', () => {
  const until = (instant: string) => parsed({ exp_month: 6, exp_year: 2030 }, new Date(instant))
  assert.ok(!('refusal' in until('2030-07-01T11:59:59.999Z')))
  assert.deepEqual(until('2030-07-01T12:00:00.000Z'), { refusal: 'INVALID_CARD', field: 'exp_year', rule: 'expired' })
  const december = (instant: string) => parsed({ exp_month: 12, exp_year: 2030 }, new Date(instant))
  assert.ok(!('refusal' in december('2031-01-01T11:59:59.999Z')))
  assert.ok('refusal' in december('2031-01-01T12:00:00.000Z'))
  refused({ exp_month: 5, exp_year: 2030 }, 'exp_year', 'expired')
  refused({ exp_month: 12, exp_year: 2029 }, 'exp_year', 'expired')
})

test('a CVC has three digits, and four on American Express', () => {
  for (const cvc of ['', 'abc', '12 ', '1.2']) refused({ cvc }, 'cvc', 'digits')
  for (const cvc of ['12', '1234']) refused({ cvc }, 'cvc', 'length')
  const amex = { number: '378282246310005' }
  refused({ ...amex, cvc: '123' }, 'cvc', 'length')
  assert.equal(card({ ...amex, cvc: '1234' }).brand, 'AMEX')
})

test('a card shows nothing but its brand and last four, wherever it ends up', () => {
  const read = card()
  const error = Object.assign(new Error('payment failed', { cause: read }), { card: read })
  // No line numbers and no time: digits of theirs could be taken for a leak.
  error.stack = 'Error: payment failed'
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) })
  log.info({ card: read, err: error, list: [read] }, 'card %s %o %j', read, read, read)
  const shown = [
    JSON.stringify({ read, spread: { ...read } }),
    inspect(read),
    inspect({ deep: { error, read } }, { showHidden: true, depth: 20, getters: true }),
    String(read),
    inspect(structuredClone({ ...read })),
    inspect(Object.entries(read)),
    inspect(Object.getOwnPropertyDescriptors(read), { depth: 9, showHidden: true }),
    ...lines,
  ]
  for (const text of shown) {
    for (const secret of ['4242424242', '739', '2031', 'Maria'])
      assert.ok(!text.includes(secret), `${secret} in ${text}`)
  }
  assert.deepEqual(JSON.parse(JSON.stringify(read)), { brand: 'VISA', lastFour: '4242' })
  assert.equal(String(read), 'VISA ending in 4242')
})

test('the check above can fail: what the payer typed does show its secrets', () => {
  assert.ok(inspect(good).includes('4242424242'))
  assert.ok(JSON.stringify(good).includes('739'))
})

test('a refusal holds nothing of the card', () => {
  for (const input of [{ number: '4242424242424241' }, { exp_year: 2020 }, { cvc: '73' }]) {
    const text = inspect(parsed(input))
    for (const secret of ['4242', '2020', '73', 'Maria']) assert.ok(!text.includes(secret), text)
  }
})

test('a card cannot be changed after it was checked', () => {
  const read = card()
  assert.throws(() => Object.assign(read, { lastFour: '0000' }), TypeError)
  assert.throws(() => Object.defineProperty(read, 'number', { value: () => '4111111111111111' }), TypeError)
})

test('a fingerprint tells the same card from another, and only with the key', () => {
  const [key, otherKey] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
  const print = cardFingerprint(good.number, key)
  assert.match(print, /^[0-9a-f]{64}$/)
  assert.equal(cardFingerprint(good.number, key), print)
  assert.notEqual(cardFingerprint('4111111111111111', key), print)
  assert.notEqual(cardFingerprint(good.number, otherKey), print)
  assert.throws(() => cardFingerprint(good.number, new Uint8Array(31)), RangeError)
})

function withCheckDigit(prefix: string, length: number): string {
  const body = prefix.padEnd(length - 1, '0')
  const sum = body
    .split('')
    .toReversed()
    .reduce((total, character, place) => {
      const digit = Number(character) * (place % 2 === 0 ? 2 : 1)
      return total + Math.floor(digit / 10) + (digit % 10)
    }, 0)
  return body + String((10 - (sum % 10)) % 10)
}
