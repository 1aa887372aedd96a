import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { freshDatabase } from '../../test/cluster.ts'
import { recordTypes, type Records } from './database.gen.ts'
import { createDb, statement } from './db.ts'
import { recordsOf } from './records.ts'

type Row = Records['terminals.asked_payment']

const echo = statement('test.echoRecords', 'select * from unnest($1::terminals.asked_payment[])')

const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  uuid: fc.uuid(),
  // PostgreSQL stores no NUL, in no way.
  text: fc
    .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'NULL', '{}', '(,)', '"', '\\', 'ñ', '₱', '𝄞'))
    .map((text) => text.replaceAll('\0', '')),
  boolean: fc.boolean(),
  bytea: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  integer: fc.integer(),
  bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  'timestamp with time zone': fc.date({
    min: new Date('0001-01-01T00:00:00.000Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  }),
}

test('whatever a row in binary form holds, PostgreSQL reads the same', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: assert.fail })
  const columns = Object.entries(recordTypes['terminals.asked_payment'])
  assert.deepEqual([...new Set(columns.map(([, type]) => type))].toSorted(), Object.keys(values).toSorted())
  const row = fc.record(
    Object.fromEntries(columns.map(([name, type]) => [name, fc.option(values[type] as fc.Arbitrary<unknown>)])),
  ) as unknown as fc.Arbitrary<Row>
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      assert.deepEqual(
        (await db.run<Row>(echo, [recordsOf('terminals.asked_payment', rows)])).map((read) => ({ ...read })),
        rows.map((written) => ({ ...written })),
      )
    }),
    { numRuns: 200 },
  )
})

test('rows of any length are written, and those after them', async () => {
  await using database = await freshDatabase()
  await using db = createDb({ target: database.target, onError: assert.fail })
  const none = Object.fromEntries(Object.keys(recordTypes['terminals.asked_payment']).map((name) => [name, null]))
  // Of three bytes a letter, and such that there is room for some of them without more being made.
  const longs = ['a'.repeat(3_000_000), 'b', '₱'.repeat(30_000), '₱'.repeat(100_000), '₱'.repeat(250_000), 'c']
  for (const request of longs) {
    const [read] = await db.run<Row>(echo, [recordsOf('terminals.asked_payment', [{ ...none, request } as Row])])
    assert.equal(read?.request, request)
  }
  const bytes = Buffer.alloc(2_000_000, 7)
  const [read] = await db.run<Row>(echo, [
    recordsOf('terminals.asked_payment', [{ ...none, signature: bytes, request_hash: bytes } as Row]),
  ])
  assert.ok(read?.signature?.equals(bytes) && read.request_hash?.equals(bytes))
})

test('a number that its column does not hold is not written', () => {
  const none = Object.fromEntries(Object.keys(recordTypes['terminals.asked_payment']).map((name) => [name, null]))
  for (const wrong of [{ place: 2 ** 31 }, { place: 1.5 }, { place: Number.NaN }, { amount: 2n ** 63n }])
    assert.throws(() => recordsOf('terminals.asked_payment', [{ ...none, ...wrong } as unknown as Row]), RangeError)
})

test('an id that is no UUID is not written', () => {
  const none = Object.fromEntries(Object.keys(recordTypes['payments.changed_at_terminal']).map((name) => [name, null]))
  const written = (id: string) =>
    recordsOf('payments.changed_at_terminal', [{ ...none, id } as Records['payments.changed_at_terminal']])
  const id = randomUUID()
  assert.deepEqual(written(id.toUpperCase()), written(id))
  for (const wrong of [
    '',
    'T1',
    id.slice(1),
    `${id}0`,
    id.replace(/^./, 'g'),
    id.replace(/.$/, 'ş'),
    id.replaceAll('-', 'x'),
    `\u{1d7ce}${id.slice(2)}`,
  ])
    assert.throws(() => written(wrong), TypeError, wrong)
})
