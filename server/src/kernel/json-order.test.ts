import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAsWritten } from './json-digits.ts'
import { inKeyOrder } from './json-order.ts'

const inOrder = (text: string) => JSON.stringify(inKeyOrder(parseAsWritten(text)))

test('JSON that differs in the order of its keys alone is the same text, at every depth', () => {
  assert.equal(inOrder('{"b":[{"d":1,"c":null}],"a":{"z":"","y":{}}}'), '{"a":{"y":{},"z":""},"b":[{"c":null,"d":1}]}')
})

test('the order of a list stays, and so do the digits of a number', () => {
  assert.equal(inOrder('[2,1.00,{"x":9007199254740993}]'), '[2,1.00,{"x":9007199254740993}]')
})

test('a key is one of them whatever it is called', () => {
  assert.equal(inOrder('{"a":1,"__proto__":{"c":1,"b":2}}'), '{"__proto__":{"b":2,"c":1},"a":1}')
})
