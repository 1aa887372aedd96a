import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newKey } from '../platform.ts'
import { refusalsIn } from './example-refusals.ts'
import { exampleShop } from './example-shop.ts'
import { assertLike, assertShown, operationsOf, requestOf, type Known } from './examples.ts'
import { withoutWorker } from './shop.ts'

// The successes that the OpenAPI document of area C shows, each asked for and given.
const { key, operations, ask, subjectOf } = await exampleShop({ after }, withoutWorker)

for (const shown of operations) {
  test(`${shown.id} answers what its examples show`, async () => {
    assert.ok(!shown.hasBody || shown.requests.size > 0, 'a body without an example')
    const successes = shown.answers.filter(({ status }) => status < 300)
    assert.ok(successes.length > 0)
    for (const answer of successes) {
      assert.ok(answer.examples.size > 0, `${answer.status} has no example`)
      for (const name of answer.examples.keys()) {
        const known = await subjectOf(shown)
        const request = requestOf(shown, known, { name, key })
        const named = newKey()
        const first = await ask(request, named)
        assertShown(answer, name, first, known)
        if (!shown.idempotent) continue
        const again = await ask(request, named)
        assert.deepEqual([again.headers['idempotent-replayed'], again.json], ['true', first.json])
      }
    }
    const names = successes.flatMap(({ examples }) => [...examples.keys()])
    if (shown.hasBody) assert.deepEqual([...shown.requests.keys()], names, 'a request whose answer is not shown')
  })
}

// Controls: what is compared is found where it differs.

test('an answer that has a field more or less, another value, type, form or id than its example is not like it', () => {
  const [one, other, third] = [
    '0198f5a1-11c2-7b90-a3de-77f4c0aa3b01',
    '0198f5a1-11c2-7b90-a3de-77f4c0aa3b02',
    '0198f5a1-11c2-7b90-a3de-77f4c0aa3b03',
  ] as const
  const example = { id: one, amount: 1, of: one, at: '2026-01-15T10:30:00.000Z', approval_code: '482913', list: ['a'] }
  const right = { ...example, id: other, of: other, at: '2027-02-16T11:31:01.001Z', approval_code: '000000' }
  const compare = (real: unknown, known: Known = new Map()) => assertLike(example, real, known)
  compare(right)
  const { of: _of, ...less } = right
  for (const wrong of [
    less,
    { ...right, more: 1 },
    { ...right, amount: 2 },
    { ...right, amount: '1' },
    { ...right, of: third },
    { ...right, id: 'mug', of: 'mug' },
    { ...right, at: 'soon' },
    { ...right, approval_code: '1234' },
    { ...right, list: ['b'] },
    { ...right, list: ['a', 'a'] },
    { ...right, list: { 0: 'a' } },
    null,
  ])
    assert.throws(() => compare(wrong), assert.AssertionError, JSON.stringify(wrong))
  assert.throws(() => compare(right, new Map([[one, third]])), assert.AssertionError)
  assert.throws(() => compare(right, new Map([[third, other]])), assert.AssertionError)
})

test('the refusals of an operation that shows a status without an example are not taken', () => {
  const [shown] = operations
  assert.ok(shown)
  const bare = shown.answers.map((answer) => (answer.status === 409 ? { ...answer, examples: new Map() } : answer))
  assert.throws(() => refusalsIn({ ...shown, answers: bare }), /createPaymentLink shows no 409/)
})

test('an answer without an example, with another status or without a header that the document names is found', () => {
  const [shown] = operationsOf({
    paths: {
      '/a': {
        get: {
          operationId: 'a',
          responses: {
            200: {
              headers: { 'Retry-After': {} },
              content: { 'application/json': { schema: { type: 'object' }, example: {} } },
            },
          },
        },
      },
    },
  })
  const [answer] = shown?.answers ?? []
  assert.ok(answer)
  const given = {
    status: 200,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    text: '{}',
    json: {},
  }
  assertShown(answer, '', given, new Map())
  const { 'retry-after': _wait, ...headers } = given.headers
  for (const wrong of [{ status: 201 }, { headers }, { json: [] }, { json: { more: 1 } }]) {
    assert.throws(() => assertShown(answer, '', { ...given, ...wrong }, new Map()), assert.AssertionError)
  }
  assert.throws(() => assertShown({ ...answer, examples: new Map() }, '', given, new Map()), /shows no example/)
})
