import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { alike, digitsOf, holdsAll, parseAsWritten, unheldIn } from './json-digits.ts'

const held = [
  '0',
  '-0',
  '1',
  '1.0',
  '100',
  '1e2',
  '1E+2',
  '0.1',
  '0.10',
  '-12.50',
  '-0.00000000001',
  '99999999999999.0',
  '9007199254740992',
  '1e300',
  '0e999',
  '1.5e-323',
]
const notHeld = [
  '9007199254740993',
  '12345678901234567890',
  '1e400',
  '-1e400',
  '1e-400',
  '0.12345678901234567890',
  '1.23456e-320',
]

test('a number comes back as it was written, whatever it is', () => {
  for (const number of [...held, ...notHeld]) {
    for (const text of [number, `[${number}]`, `{"a":{"b":[${number},"${number}"]}}`])
      assert.equal(JSON.stringify(parseAsWritten(text)), text)
    assert.equal(digitsOf(parseAsWritten(number)), number)
  }
  // Wherever a number may stand, and whatever is between the parts.
  for (const text of ['[0,1.0]', '{"a" : \n\t-1.0}', ' 1.0', '[[\r\n1.0]]', '{"a":"b", "c":[true, 1.0]}'])
    assert.match(JSON.stringify(parseAsWritten(text)), /1\.0/, text)
  assert.equal(digitsOf('1'), undefined)
  assert.deepEqual(parseAsWritten(' {"a": [null, true, "x", 1]} '), { a: [null, true, 'x', 1] })
})

test('numbers are alike that are one number, and others are not', () => {
  const form = (text: string) => JSON.stringify(parseAsWritten(text), alike)
  for (const text of held) assert.equal(form(text), JSON.stringify(Number(text)))
  for (const text of notHeld) assert.equal(form(text), text)
  assert.deepEqual(
    [...held, ...notHeld].filter((text) => holdsAll(parseAsWritten(`{"a":[${text}]}`))),
    held,
  )
})

test('it is told where the first number stands that is not held', () => {
  const where = (text: string) => unheldIn(parseAsWritten(text))
  assert.deepEqual(where('{"a":1,"b":[{"c":2},{"c":1e400,"d":1e400}]}'), ['b', '1', 'c'])
  assert.deepEqual(where('1e400'), [])
  for (const text of ['{}', '[]', 'null', '"1e400"', '{"a":[1.0,[],{"b":null}]}'])
    assert.equal(where(text), undefined, text)
})

test('what this process writes is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(2), (text, indent) => {
      const value: unknown = JSON.parse(text)
      assert.deepEqual(JSON.parse(JSON.stringify(parseAsWritten(JSON.stringify(value, null, indent)))), value)
    }),
  )
})

test('a number of very many digits takes no time', () => {
  const zeros = '0'.repeat(250_000)
  for (const text of [`1${zeros}1`, `0.${zeros}1`, `1${zeros}`]) {
    const started = performance.now()
    assert.equal(holdsAll(parseAsWritten(`[ ${text}]`)), false)
    assert.ok(performance.now() - started < 1_000)
  }
})
