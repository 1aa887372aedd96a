import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importsOf, listFiles, readFiles, scan } from '../../scripts/source.ts'
import {
  environmentReaders,
  linesMax,
  longFiles,
  systemClockReaders,
  wrongImports,
  wrongTableNames,
  type Exceptions,
  type House,
} from './architecture.ts'
import { exactAllTheSame, inexactColumns, inexactMoney } from './architecture-money.ts'

const folders = ['contract', 'qrph', 'server', 'sdk', 'cli', 'bench', 'scripts']
const house: House = {
  code: readFiles(listFiles(folders, ['.ts', '.mjs'])),
  sql: readFiles(listFiles(['server/migrations'], ['.sql'])),
}

// These lists only shrink.
const environmentExceptions: Exceptions = {
  'server/src/main.ts': 'hands the environment to config.ts',
  'cli/src/main.ts': 'hands the environment to the command that talks to a running Kaha',
}
const systemClockExceptions: Exceptions = {
  'sdk/src/terminals.ts': 'runs at the till, beside no clock of ours',
  'sdk/src/verify-webhook.ts': 'runs at the merchant, beside no clock of ours',
}
const longFileExceptions: Exceptions = {}

const planted = (code: Record<string, string>, sql: Record<string, string> = {}): House => ({
  code: new Map(Object.entries(code)),
  sql: new Map(Object.entries(sql)),
})

test('rooms import only the rooms that they may know', () => {
  assert.deepEqual(wrongImports(house), [])
})

test('only a room and what it publishes name its tables', () => {
  assert.deepEqual(wrongTableNames(house), [])
})

test('the environment is read in one place', () => {
  assert.deepEqual(environmentReaders(house, environmentExceptions), [])
})

test('the system clock is read in one place', () => {
  assert.deepEqual(systemClockReaders(house, systemClockExceptions), [])
})

test('no file is too long to hold one thing', () => {
  assert.deepEqual(longFiles(house, longFileExceptions), [])
})

test('nothing of an amount is ever computed in floating point, or divided, or rounded', () => {
  assert.deepEqual(inexactMoney(house, exactAllTheSame), [])
  assert.deepEqual(inexactColumns(house), [])
})

// Controls: every rule finds a violation that is planted.

const service = 'server/src/areas/ecommerce/link-service.ts'
const wrong: readonly (readonly [path: string, text: string, why: RegExp])[] = [
  ['contract/src/a.ts', `import fs from 'node:fs'`, /typebox alone/],
  ['contract/src/a.ts', `export * from '@kaha/sdk'`, /contract may not know sdk/],
  ['sdk/src/a.ts', `import type { Config } from '@kaha/server/config'`, /sdk may not know config/],
  ['cli/src/a.ts', `import { operation } from '@kaha/contract'`, /cli may not know contract/],
  ['server/src/kernel/a.ts', `import type { Intent } from '../payments/store.ts'`, /kernel may not know payments/],
  [
    'server/src/payments/a.ts',
    `const { b } = await import('../areas/ecommerce/index.ts')`,
    /payments may not know areas\/ecommerce/,
  ],
  ['server/src/payments/a.ts', `import { b } from '../delivery/b.ts'`, /payments may not know delivery/],
  ['server/src/areas/qr/a.ts', `import { b } from '../ecommerce/store.ts'`, /areas do not know each other/],
  ['server/src/areas/qr/a.ts', `import { b } from '../../sandbox/b.ts'`, /areas\/qr may not know sandbox/],
  ['server/src/areas/qr/a.ts', `import { b } from '../../config.ts'`, /areas\/qr may not know config/],
  ['server/src/areas/qr/a.ts', `import { b } from '../../../../contract/src/index.ts'`, /by their names/],
  ['server/src/areas/qr/a.ts', `import { platform } from '../../../test/platform.ts'`, /does not know its tests/],
  ['server/src/main.ts', `import {\n  b,\n} from './areas/qr/index.ts'`, /main may not know areas\/qr/],
  [service, `import type { Link } from '@kaha/contract'`, /do not know the wire/],
  [service, `import type { FastifyRequest } from 'fastify'`, /do not know Fastify/],
  ['server/src/delivery/store.ts', `import '@fastify/swagger-ui'`, /do not know Fastify/],
  ['server/src/common/a.ts', '', /in no room of the house/],
]
for (const [path, text, why] of wrong) {
  test(`an import that the house forbids is found: ${text || 'any'} in ${path}`, () => {
    const found = wrongImports(planted({ [path]: text }))
    assert.equal(found.length, 1)
    assert.match(found[0] ?? '', why)
  })
}

test('imports that the house allows, and the words of one in a comment or a string, are left alone', () => {
  const code = {
    'server/src/app.ts': `import { a } from './areas/qr/index.ts'\nimport { b } from './sandbox/index.ts'`,
    'server/src/areas/qr/present.ts': `import type { Code } from '@kaha/contract'\nimport { c } from '../../payments/index.ts'`,
    'server/src/areas/qr/service.ts': `// import { b } from '../ecommerce/b.ts'\nconst told = "import x from 'fastify'"`,
    'server/src/areas/qr/service.test.ts': `import { b } from '../ecommerce/store.ts'`,
    'cli/src/main.ts': `import { sdk } from '@kaha/sdk'\nconst { main } = await import('@kaha/server/main')`,
  }
  assert.deepEqual(wrongImports(planted(code)), [])
})

test('imports are found behind regular expressions, templates and comments that look like strings', () => {
  const text = [
    'const quote = /[\'"`/]/.test(a) ? 6 / 2 : `it\'s ${b ? `"${c}` : "\'"} // no comment`',
    `/* don't */ import a from 'a' // "`,
    `export { b } from 'b'`,
    'const c = await import(`c`)',
  ].join('\n')
  assert.deepEqual(importsOf(scan(text)), ['a', 'b', 'c'])
})

const migrations = {
  'server/migrations/0001_payments.sql': `create table payments.intents (id uuid primary key);`,
  'server/migrations/0002_delivery.sql': [
    `create table if not exists delivery.events (id uuid primary key);`,
    `-- Writes an event.`,
    `-- published`,
    `create or replace function delivery.append_event(id uuid) returns void language sql as 'select 1';`,
    `create function delivery.inner() returns void language sql as 'select 1';`,
  ].join('\n'),
}

test('a table that is named outside its room, or in its room outside the store, is found', () => {
  const found = wrongTableNames(
    planted(
      {
        'server/src/payments/store.ts': 'const a = `select * from delivery.events where id = ${id}`',
        'server/src/payments/store-refunds.ts': `const a = sql('select delivery.inner()')`,
        'server/src/delivery/worker.ts': `const a = 'delete from delivery.events'`,
        'server/src/areas/qr/store.ts': `const a = db.withSchema('payments').selectFrom('intents')`,
        'server/src/areas/ecommerce/store.ts': `const a = 'set search_path to payments'`,
      },
      migrations,
    ),
  )
  assert.deepEqual(found, [
    'server/src/payments/store.ts names delivery.events, which delivery does not publish',
    'server/src/payments/store-refunds.ts names delivery.inner, which delivery does not publish',
    'server/src/delivery/worker.ts names delivery.events: the tables of delivery are named in its store*.ts only',
    'server/src/areas/qr/store.ts leaves a schema unsaid: write schema.table',
    'server/src/areas/ecommerce/store.ts leaves a schema unsaid: write schema.table',
  ])
})

test('a migration that names the unpublished things of another room, or no room, is found', () => {
  const found = wrongTableNames(
    planted(
      {},
      {
        ...migrations,
        'server/migrations/0003_payments_more.sql': `-- delivery.events\nselect delivery.append_event(null);\ndrop table delivery.events;`,
        'server/migrations/0004_things.sql': '',
      },
    ),
  )
  assert.deepEqual(found, [
    'server/migrations/0003_payments_more.sql names delivery.events, which delivery does not publish',
    'server/migrations/0004_things.sql does not say whose it is: name it NNNN_room.sql or NNNN_room_what.sql',
  ])
})

test('own tables in a store, published functions, comments and JavaScript properties are left alone', () => {
  const code = {
    'server/src/payments/store.ts': 'const a = `select delivery.append_event(i.id) from payments.intents i`',
    'server/src/payments/service.ts': 'const a = delivery.events // and payments.intents',
    'server/src/areas/qr/service.ts': 'const a = `${delivery.events.length} events`',
    'server/src/payments/store.test.ts': `const a = 'select * from delivery.events'`,
  }
  assert.deepEqual(wrongTableNames(planted(code, migrations)), [])
})

test('whoever reads the environment or the system clock is found, however it is written', () => {
  const path = 'server/src/payments/a.ts'
  const environments = [
    'process.env.HOME',
    `process['env']`,
    'const { argv, env } = process',
    `import { env } from 'node:process'`,
  ]
  for (const text of environments) assert.equal(environmentReaders(planted({ [path]: text }), {}).length, 1, text)
  const clocks = ['Date.now()', 'const now = Date.now', 'new Date()', 'a = new Date\n', 'Date()', '`${new Date()}`']
  for (const text of clocks) assert.equal(systemClockReaders(planted({ [path]: text }), {}).length, 1, text)
  const neither = `new Date(clock.now()); type At = Date; const told = 'process.env and Date.now()' // new Date()\nisDate(); child.env`
  assert.deepEqual(environmentReaders(planted({ [path]: neither }), {}), [])
  assert.deepEqual(systemClockReaders(planted({ [path]: neither }), {}), [])
})

test('a file that is too long is found', () => {
  const text = (lines: number) => 'a\n'.repeat(lines)
  const found = longFiles(planted({ 'sdk/src/a.ts': text(linesMax + 1), 'sdk/src/b.ts': text(linesMax) }), {})
  assert.deepEqual(found, ['sdk/src/a.ts has 401 lines, and 400 are enough for one thing'])
})

test('an exception is accepted while it is needed, and refused afterwards', () => {
  const exceptions = { 'cli/src/a.ts': 'a reason' }
  assert.deepEqual(systemClockReaders(planted({ 'cli/src/a.ts': 'Date.now()' }), exceptions), [])
  assert.deepEqual(systemClockReaders(planted({ 'cli/src/a.ts': 'wall()' }), exceptions), [
    'cli/src/a.ts keeps the rule, so it must leave the list of exceptions',
  ])
})

test('whatever may take a fraction or a bit from an amount is found, in every room that has amounts', () => {
  const forms = [
    'const shown = Number(row.amount)',
    'const all = amounts.map(Number)',
    'const a = parseFloat(text)',
    'const a = Number.parseInt(text, 10)',
    'const a = (minor).toFixed(2)',
    'const a = Math.round(price * quantity)',
    'const a = amount / 100n',
    'const a = lines[0] / 2',
    'const a = fee(amount)/rate',
    'const a = amount * 1.12',
    'const a = +text',
    'const a = `${amount / 100} pesos`',
  ]
  const paths = [
    'server/src/payments/a.ts',
    'server/src/areas/ecommerce/a.ts',
    'server/src/areas/reporting/a.ts',
    'server/src/sandbox/a.ts',
    'server/src/kernel/money.ts',
    'qrph/src/a.ts',
  ]
  for (const path of paths) {
    for (const text of forms) assert.equal(inexactMoney(planted({ [path]: text }), {}).length, 1, text)
  }
  const neither = [
    `const told = 'amount / 100, Number(1)' // amount / 100`,
    'const a = /[0-9]/.test(text) ? /a/ : amount * 2n',
    'return /a/.test(text)',
    'const b = amount + tax - discount; count += 1; isNumber(a); const n: Record<string, number> = {}',
    'const n = Number.isSafeInteger(count)',
  ].join('\n')
  for (const path of paths) assert.deepEqual(inexactMoney(planted({ [path]: neither }), {}), [])
  assert.deepEqual(inexactMoney(planted({ 'server/src/delivery/a.ts': 'const half = Math.ceil(count / 2)' }), {}), [])
})

test('a column or a cast that makes an amount inexact is found', () => {
  const path = 'server/migrations/0001_payments.sql'
  for (const text of [
    'create table payments.a (amount numeric(12, 2))',
    'create table payments.a (tax_amount double precision not null)',
    'select sum(t.amount_received)::float8 from payments.a t',
    'select unit_price::real from payments.a',
  ])
    assert.equal(inexactColumns(planted({}, { [path]: text })).length, 1, text)
  const store = { 'server/src/payments/store.ts': 'const a = `select amount::numeric / 100 from payments.intents`' }
  assert.equal(inexactColumns(planted(store)).length, 1)
  const right =
    'create table payments.a (amount bigint, age real); -- amount real\nselect wait::float8, amount::text from payments.a'
  assert.deepEqual(inexactColumns(planted({}, { [path]: right })), [])
})
