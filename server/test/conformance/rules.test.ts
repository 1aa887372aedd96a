import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rules } from './rules.ts'
import { built, joined } from './rules/rule.ts'

const id = /^(X0|I1|A2|B3|C4|D5|E6|S7)(\.[a-z0-9]+(-[a-z0-9]+)*){1,4}$/

test('every rule has an id of area, topic and case', () => {
  const odd = Object.keys(rules).filter((key) => !id.test(key))
  assert.deepEqual(odd, [])
})

test('no two rules say the same', () => {
  const seen = new Map<string, string>()
  const doubles = Object.entries(rules).flatMap(([key, { says }]) => {
    const first = seen.get(says)
    seen.set(says, key)
    return first === undefined ? [] : [`${first} and ${key}`]
  })
  assert.deepEqual(doubles, [])
})

test('a rule is one sentence that fits into a cell of a table', () => {
  const odd = Object.entries(rules).filter(
    ([, { says }]) => says.trim() !== says || says.length < 10 || says.length > 200 || /[|<>*\n]|\.$/.test(says),
  )
  assert.deepEqual(odd, [])
})

test('an id that is listed twice is refused', () => {
  assert.throws(() => joined(built({ 'X0.one': 'first' }), built({ 'X0.one': 'second' })), /X0\.one is listed twice/)
})
