import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import fc from 'fast-check'
import { nestingMax } from '../json-depth.ts'
import { compile, isMalformed, readJson, readQuery, unheldNumber } from './validation.ts'

const seed = Date.now() & 0x7fffffff
const time = compile(Type.String({ format: 'date-time' }))
const uuid = compile(Type.String({ format: 'uuid' }))

const times = [
  '2026-01-01T00:00:00Z',
  '2024-02-29T23:59:59.999Z',
  '2000-02-29T00:00:00Z',
  '0000-02-29T00:00:00Z',
  '0004-02-29T00:00:00Z',
  '2026-01-01t00:00:00z',
  '2026-01-01T00:00:00.123456789+08:00',
  '2026-01-01T00:00:00.1234567890Z',
  '9999-12-31T23:59:59.99999999999999999999Z',
  '2026-12-31T23:59:59-23:59',
  '9999-12-31T23:59:59.999Z',
]
for (const text of times) {
  test(`${text} is a time`, () => assert.equal(time(text), null))
}

const noTimes = [
  '1900-02-29T00:00:00Z',
  '0001-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-06-30T23:59:60Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T24:00:01Z',
  '2026-01-01T00:00:00+24:00',
  '2026-01-01T00:00:00 08:00',
  '2026-01-01T00:00Z',
  '2026-01-01T00:00:00.Z',
  '2026-1-1T00:00:00Z',
  '２０２６-01-01T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999-00:01',
  '0000-01-01T00:00:00+00:01',
]
for (const text of noTimes) {
  test(`${text} is no time`, () => assert.equal(time(text)?.rule, 'format'))
}

test('every time that a clock can show is a time, and reads as itself', (t) => {
  t.diagnostic(`seed ${seed}`)
  const min = new Date('0000-01-01T00:00:00Z')
  const max = new Date('9999-12-31T23:59:59.999Z')
  fc.assert(
    fc.property(fc.date({ min, max, noInvalidDate: true }), (at) => {
      assert.equal(time(at.toISOString()), null, at.toISOString())
    }),
    { seed },
  )
})

test('a uuid is taken in both cases, and in no other dress', () => {
  const id = '01a1fcef-9ed7-78da-86e8-e01924f01831'
  for (const text of [id, id.toUpperCase()]) assert.equal(uuid(text), null)
  for (const text of [`urn:uuid:${id}`, `{${id}}`, ` ${id}`, `${id}\n`]) assert.equal(uuid(text)?.rule, 'format')
})

const address = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 5, pattern: '\\S' }),
    kind: Type.Unsafe<string>({ type: 'string', enum: ['a', 'b'] }),
    lines: Type.Array(
      Type.Object({ price: Type.Integer({ minimum: 0, maximum: 9 }) }, { additionalProperties: false }),
      {
        minItems: 1,
        maxItems: 2,
      },
    ),
    tags: Type.Optional(Type.Array(Type.String(), { uniqueItems: true })),
    notes: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        maxProperties: 1,
        propertyNames: { type: 'string', maxLength: 3 },
        additionalProperties: { type: 'string', maxLength: 3 },
      }),
    ),
  },
  { additionalProperties: false },
)
const check = compile(address)
const right = { name: 'x', kind: 'a', lines: [{ price: 1 }] }

const broken: readonly (readonly [value: unknown, field: string, rule: string])[] = [
  [undefined, '', 'type'],
  [[], '', 'type'],
  [{ ...right, name: undefined }, 'name', 'required'],
  [{ ...right, name: 5 }, 'name', 'type'],
  [{ ...right, name: '' }, 'name', 'non_blank'],
  [{ ...right, name: ' \t' }, 'name', 'non_blank'],
  [{ ...right, name: 'abcdef' }, 'name', 'max_length'],
  [{ ...right, kind: 'c' }, 'kind', 'one_of'],
  [{ ...right, lines: [] }, 'lines', 'min_items'],
  [{ ...right, lines: [{ price: 1 }, { price: 1 }, { price: 1 }] }, 'lines', 'max_items'],
  [{ ...right, lines: [{ price: -1 }] }, 'lines.0.price', 'minimum'],
  [{ ...right, lines: [{ price: 10 }] }, 'lines.0.price', 'maximum'],
  [{ ...right, lines: [{ price: '1' }] }, 'lines.0.price', 'type'],
  [{ ...right, lines: [{ price: 1, colour: 'red' }] }, 'lines.0.colour', 'unknown'],
  [{ ...right, tags: ['a', 'a'] }, 'tags', 'distinct'],
  [{ ...right, notes: { a: 'b', c: 'd' } }, 'notes', 'max_keys'],
  [{ ...right, notes: { abcd: 'b' } }, 'notes', 'max_key_length'],
  [{ ...right, notes: { a: 'bcde' } }, 'notes.a', 'max_length'],
  [{ ...right, notes: { '/~1': 'bcde' } }, 'notes./~1', 'max_length'],
  [{ ...right, '4242424242424242': 1 }, '[removed]', 'unknown'],
  [{ ...right, n4242424242424242: 1 }, '[removed]', 'unknown'],
  [{ ...right, '4242.4242.4242.4242': 1 }, '[removed]', 'unknown'],
  [{ ...right, '4242_4242_4242_4242': 1 }, '[removed]', 'unknown'],
  [{ ...right, '4242 - 4242x4242--4242': 1 }, '[removed]', 'unknown'],
  [{ ...right, n12345678: 1 }, 'n12345678', 'unknown'],
  [{ ...right, ['k'.repeat(500)]: 1 }, 'k'.repeat(100), 'unknown'],
]
for (const [value, field, rule] of broken) {
  test(`${JSON.stringify(value)?.slice(0, 90) ?? 'nothing'} breaks the rule ${rule} of ${field.slice(0, 20) || 'the whole'}`, () => {
    const found = check(value)
    assert.deepEqual([found?.field, found?.rule], [field, rule])
  })
}

test('what is right is taken, and what was checked is left as it was', () => {
  const value = { ...right, name: '🧾🧾🧾🧾🧾', notes: { constructor: 'x' } }
  const before = structuredClone(value)
  assert.equal(compile(address)(right), null)
  assert.deepEqual(check(value), { field: 'notes', rule: 'max_key_length', allowed: '3' })
  assert.deepEqual(value, before)
})

test('missing, unknown and blank make a request malformed; any other broken rule is the field’s own', () => {
  for (const rule of ['required', 'unknown', 'non_blank']) assert.ok(isMalformed({ field: 'a', rule }))
  for (const rule of ['type', 'format', 'maximum', 'one_of']) assert.ok(!isMalformed({ field: 'a', rule }))
  assert.ok(isMalformed({ field: '', rule: 'type' }))
})

const query = Type.Object({
  size: Type.Integer(),
  states: Type.Array(Type.String()),
  text: Type.String(),
  at: Type.String({ format: 'date-time' }),
})

test('query text takes the shape of its schema, and what does not convert stays text', () => {
  const read = readQuery('size=5&states=a,b&text=%20x%2B+y&other=1', query)
  assert.deepEqual({ ...read }, { size: 5, states: ['a', 'b'], text: ' x+ y', other: '1' })
  for (const text of ['05', '+5', '1e3', '5.0', ' 5', '', '0x5', '٥']) {
    assert.equal(readQuery(`size=${encodeURIComponent(text)}`, query)['size'], text)
  }
  assert.equal(readQuery('size=-5', query)['size'], -5)
  for (const digits of [16, 400])
    assert.equal(readQuery(`size=${'9'.repeat(digits)}`, query)['size'], Number.MAX_SAFE_INTEGER)
  assert.deepEqual(readQuery('states=', query)['states'], [''])
  for (const offset of ['+08:00', '%2B08:00'])
    assert.equal(readQuery(`at=2026-01-01T00:00:00${offset}`, query)['at'], '2026-01-01T00:00:00+08:00')
  // A byte beyond ASCII in a request line comes as the character of Latin-1.
  for (const text of ['text=%D1', 'text=\u00d1', '%ff=1', 'text=%'])
    assert.throws(() => readQuery(text, query), /UTF-8/)
  assert.deepEqual(readQuery('states=b,a,b,b', query)['states'], ['b', 'a'])
})

test('a parameter that is sent twice, or holds NUL, is refused, and none reaches a prototype', () => {
  for (const text of ['text=a&text=b', '__proto__=a&__proto__=b', 'a%00=1', 'text=%00', 'x=1&x=1']) {
    assert.throws(() => readQuery(text, query), { code: 'BAD_REQUEST' }, text)
  }
  const read = readQuery('__proto__=x&constructor=y', query)
  assert.equal(Object.getPrototypeOf(read), null)
  assert.deepEqual(Object.keys(read), ['__proto__', 'constructor'])
})

test('JSON that could not be kept exactly is refused; everything else is read as it is', (t) => {
  t.diagnostic(`seed ${seed}`)
  for (const text of [
    '"\\u0000"',
    '{"a":["\\ud800"]}',
    '{"\\udfff":1}',
    '{"__proto__":1}',
    '{"\\u005f_proto__":{}}',
    '{',
    '',
  ]) {
    assert.throws(() => readJson(Buffer.from(text)), { code: 'BAD_REQUEST' }, text)
  }
  const values = fc.jsonValue({ stringUnit: 'grapheme' })
  fc.assert(
    fc.property(values, (value) => {
      const escaped = JSON.stringify(value).replaceAll(
        /[\u0080-\uffff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      const text = JSON.stringify(value)
      if (text.includes('__proto__') || text.includes('\\u0000')) return
      assert.deepEqual(readJson(Buffer.from(text)), { text, value: JSON.parse(text) as unknown })
      assert.deepEqual(readJson(Buffer.from(escaped)).value, JSON.parse(text))
    }),
    { seed },
  )
})

test('depth is no danger: as many levels as are allowed are read, and a hundred thousand are refused', () => {
  const nested = (levels: number, inside = '') => Buffer.from('['.repeat(levels) + inside + ']'.repeat(levels))
  assert.ok(Array.isArray(readJson(nested(nestingMax)).value))
  assert.throws(() => readJson(nested(nestingMax, '"\\u0000"')), { code: 'BAD_REQUEST', message: /NUL/ })
  for (const levels of [nestingMax + 1, 100_000])
    assert.throws(() => readJson(nested(levels)), { code: 'BAD_REQUEST', message: /nested deeper than 100 levels/ })
})

test('a number that memory does not hold is told by its name, which is cut and scrubbed as any that a caller chose', () => {
  const told = (text: string) => unheldNumber(readJson(Buffer.from(text)))
  assert.deepEqual(told('{"a":[1,{"b":1e400}]}'), { field: 'a.1.b', rule: 'digits' })
  assert.deepEqual(told('{"4242424242424242":1e400}'), { field: '[removed]', rule: 'digits' })
  assert.deepEqual(told(`{"${'k'.repeat(500)}":1e400}`), { field: 'k'.repeat(100), rule: 'digits' })
  for (const text of ['{}', '{"a":1.0}']) assert.equal(told(text), null, text)
})
