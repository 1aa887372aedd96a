import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { repeatsKey } from './json-keys.ts'

const repeats = (text: string) => repeatsKey(text, JSON.parse(text))

test('a key that stands twice in one object is found, wherever the object is and however the key is written', () => {
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"a":{"b":[{"c":1,"c":2}]}}',
    '[[],{"":1,"":2}]',
    '{"a":1,"\\u0061":2}',
    '{"0":1,"0":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"a":{"b":1},"a":{}}',
    '{"a":null,"a":":"}',
  ])
    equal(repeats(text), true, text)
})

test('the same key in two objects is no repetition, nor is what stands in a text', () => {
  for (const text of [
    '{}',
    '1',
    'null',
    '":"',
    '[{"a":1},{"a":1}]',
    '{"a":{"a":{"a":null}}}',
    '{"a":"\\"a\\":1,\\"a\\":2","b\\":\\\\":":\\\\"}',
    '{"A":1,"a":2}',
  ])
    equal(repeats(text), false, text)
})

test('nothing that is written by a JSON library repeats a key', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => !repeats(JSON.stringify(value))))
})
