import assert from 'node:assert/strict'
import { test } from 'node:test'
import Type from 'typebox'
import { complaintOf } from './complaints.ts'
import { compile } from './validation.ts'

const check = compile(
  Type.Object(
    {
      amount: Type.Integer({ minimum: 1, maximum: 9 }),
      kind: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['one_time', 'multi_use'] })),
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 5, pattern: '\\S' })),
      note: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
      price: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Number()])),
      at: Type.Optional(Type.String({ format: 'date-time' })),
      id: Type.Optional(Type.String({ format: 'uuid' })),
      url: Type.Optional(Type.String({ format: 'uri' })),
      code: Type.Optional(Type.String({ pattern: '^[A-Z]+$' })),
      currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
      lines: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 2, uniqueItems: true })),
      metadata: Type.Optional(
        Type.Unsafe<object>({ type: 'object', maxProperties: 1, propertyNames: { type: 'string', maxLength: 3 } }),
      ),
      urls: Type.Optional(
        Type.Array(
          Type.Object(
            { success: Type.Optional(Type.String()), declined: Type.Optional(Type.String()) },
            { additionalProperties: false },
          ),
        ),
      ),
      none: Type.Optional(Type.Object({}, { additionalProperties: false })),
    },
    { additionalProperties: false },
  ),
)

const complaints: readonly (readonly [broken: object, complaint: string])[] = [
  [{ amount: undefined }, 'amount: is missing.'],
  [{ amount: 0 }, 'amount: must be at least 1.'],
  [{ amount: 10 }, 'amount: must be at most 9.'],
  [{ amount: '5' }, 'amount: must be an integer.'],
  [{ kind: 'x' }, 'kind: must be one of one_time, multi_use.'],
  [{ name: ' ' }, 'name: must not be blank.'],
  [{ name: 'abcdef' }, 'name: must not be longer than 5 characters.'],
  [{ note: 5 }, 'note: must be a string or null.'],
  [{ price: null }, 'price: must be a string or number.'],
  [{ price: '' }, 'price: must not be blank.'],
  [{ at: 'today' }, 'at: must be a time with its offset, such as 2026-01-31T09:00:00Z.'],
  [{ id: '5' }, 'id: must be a UUID.'],
  [{ url: 'x' }, 'url: must be a URL.'],
  [{ code: 'x' }, 'code: has the wrong form.'],
  [{ currency: 'php' }, 'currency: must be three capital letters, such as PHP.'],
  [{ lines: [] }, 'lines: must have 1 or more entries.'],
  [{ lines: ['a', 'b', 'c'] }, 'lines: must have 2 or fewer entries.'],
  [{ lines: ['a', 'a'] }, 'lines: must not repeat a value.'],
  [{ metadata: { a: 1, b: 2 } }, 'metadata: must have 1 or fewer keys.'],
  [{ metadata: { abcd: 1 } }, 'metadata: must not have a key longer than 3 characters.'],
  [
    { colour: 'red' },
    'colour: is not known here; leave it out, or use one of amount, kind, name, note, price, at, id, url, code, currency, lines, metadata, urls, none.',
  ],
  [{ urls: [{ failure: 'x' }] }, 'urls.0.failure: is not known here; leave it out, or use one of success, declined.'],
  [{ none: { a: 1 } }, 'none.a: is not known here; leave it out.'],
]
for (const [broken, complaint] of complaints) {
  test(`${JSON.stringify(broken)} is told: ${complaint}`, () => {
    const violation = check({ amount: 5, ...broken })
    assert.equal(violation === null ? null : complaintOf(violation), complaint)
  })
}
