import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ruleFaults } from './rule-coverage.ts'

const tests = (text: string) => new Map([['sdk/src/a.test.ts', text]])
const one = (id: string) => ({ [id]: { says: 'a link that is full refuses' } })

test('a rule is covered by a test whose name begins with its id, alone, among others or in a table', () => {
  const ways = [
    `test('C4.confirm.link-full: a sentence…', () => {})`,
    `test("[X0.a.b, C4.confirm.link-full] a sentence", () => {})`,
    'test(`X0.a.b C4.confirm.link-full: a ${word}`, () => {})',
    `const rows = [{ rule: 'C4.confirm.link-full', status: 409 }]`,
  ]
  const both = { ...one('C4.confirm.link-full'), 'X0.a.b': { says: 'more', pending: 'terminals' } }
  for (const text of ways) {
    const faults = ruleFaults(both, tests(text)).filter((fault) => fault.startsWith('C4'))
    assert.deepEqual(faults, [], text)
  }
})

test('a rule without a test is found, with what it says', () => {
  const elsewhere = `// C4.confirm.link-full: a comment\ntest('a sentence about C4.confirm.link-full', () => {})`
  assert.deepEqual(ruleFaults(one('C4.confirm.link-full'), tests(elsewhere)), [
    'C4.confirm.link-full has no test: a link that is full refuses',
  ])
  assert.equal(ruleFaults(one('C4.confirm.link'), tests(`test('C4.confirm.link-full: longer', () => {})`)).length, 2)
})

test('a test of a rule that does not exist is found', () => {
  const faults = ruleFaults({}, tests(`test('C4.confirm.link-fill: a sentence', () => {})`))
  assert.deepEqual(faults, ['sdk/src/a.test.ts names C4.confirm.link-fill, which is no rule'])
})

test('a rule that waits for a capability needs no test, and must wait no longer once it has one', () => {
  const rules = { 'D5.a.b': { says: 'a terminal answers', pending: 'terminals' } }
  assert.deepEqual(ruleFaults(rules, tests('')), [])
  assert.deepEqual(ruleFaults(rules, tests(`test('D5.a.b: a sentence', () => {})`)), [
    'D5.a.b waits for terminals, but sdk/src/a.test.ts tests it: it is pending no longer',
  ])
})
