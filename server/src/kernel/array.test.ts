import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { freshDatabase } from '../../test/cluster.ts'
import { arrayOf, elementsOf, numbersOf, sparseColumnOf, textsOf } from './array.ts'
import { createDb, statement } from './db.ts'

const echo = statement(
  'test.echo',
  'select $1::text[] as texts, $2::bigint[]::text[] as numbers, $3::boolean[] as booleans',
)

test('whatever texts and numbers an array holds, PostgreSQL reads the same', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: assert.fail })
  const texts = fc.array(
    fc.option(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'NULL', 'null', '{}', '"', '\\', ',', ' a ', '\n')),
    ),
  )
  const numbers = fc.array(fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })))
  const booleans = fc.array(fc.option(fc.boolean()))
  await fc.assert(
    fc.asyncProperty(texts, numbers, booleans, async (text, number, boolean) => {
      // PostgreSQL stores no NUL, in no way.
      const storable = text.map((one) => one?.replaceAll('\0', '') ?? null)
      const [row] = await db.run<{ texts: unknown; numbers: unknown; booleans: unknown }>(echo, [
        arrayOf(storable),
        arrayOf(number),
        arrayOf(boolean),
      ])
      assert.deepEqual(row, {
        texts: storable,
        numbers: number.map((one) => one?.toString() ?? null),
        booleans: boolean,
      })
    }),
    { numRuns: 200 },
  )
})

test('whatever a column in binary form holds, PostgreSQL reads the same', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: assert.fail })
  const echoed = statement(
    'test.echoColumns',
    'select $1::text[] as texts, $2::json[]::text[] as jsons, $3::bigint[]::text[] as bigints, $4::integer[] as integers, $5::float8[] as floats',
  )
  const column = <Value>(values: fc.Arbitrary<Value>) => fc.array(fc.option(values))
  await fc.assert(
    fc.asyncProperty(
      column(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'NULL', '{}', '"', '\\', 'ñ', '₱'))),
      column(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      column(fc.integer()),
      column(fc.double({ noNaN: true }).map((value) => value + 0)),
      async (texts, bigints, integers, floats) => {
        const storable = texts.map((one) => one?.replaceAll('\0', '') ?? null)
        const json = (one: string | null) => (one === null ? null : JSON.stringify(one))
        const itself = <Value>(value: Value) => value
        const [row] = await db.run(echoed, [
          textsOf('text', storable, itself),
          textsOf('json', storable, json),
          numbersOf('bigint', bigints, itself),
          numbersOf('integer', integers, itself),
          numbersOf('float8', floats, itself),
        ])
        assert.deepEqual(row, {
          texts: storable,
          jsons: storable.map(json),
          bigints: bigints.map((one) => one?.toString() ?? null),
          integers,
          floats,
        })
      },
    ),
    { numRuns: 200 },
  )
})

test('numbers and ids that PostgreSQL wrote as an array are read as they were', () => {
  const elements = fc.array(fc.oneof(fc.uuid(), fc.bigInt().map(String)))
  fc.assert(fc.property(elements, (values) => assert.deepEqual(elementsOf(arrayOf(values)), values)))
})

test('a column of nothing but nulls is left empty, and one with a value is not', () => {
  const column = (values: readonly (number | null)[]) => sparseColumnOf(values, (value) => value)
  assert.deepEqual([column([]), column([null, null]), column([null, 1])], ['{}', '{}', '{NULL,1}'])
})
