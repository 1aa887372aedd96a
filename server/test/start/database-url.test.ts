import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createKaha } from '@kaha/sdk'
import pg from 'pg'
import { migrateOrExplain } from '../../src/commands/database.ts'
import { StartFault } from '../../src/kernel/fault.ts'
import { startTestCluster } from '../cluster.ts'
import { startReceiver } from '../receiver.ts'
import { commandsUnder, finish, folder, freePort, launch, serversIn, start, stop } from './program.ts'

const home = folder({ after })
const port = await freePort()
const cluster = await startTestCluster({ tcpPort: port })
after(() => cluster[Symbol.asyncDispose]())
const { url: adminUrl } = JSON.parse(cluster.handle) as { url: string }
const urlOf = (database: string) => adminUrl.replace(/\/postgres$/, `/${database}`)
const reloadTriesMax = 500
const masterKey = randomBytes(32).toString('base64')
for (const database of ['shop', 'fleet']) await sql(adminUrl, `create database ${database}`)

async function refused(settings: Record<string, string>, line: RegExp): Promise<void> {
  const run = { args: ['start'], settings: { KAHA_DATA_DIR: join(home, 'refused'), ...settings } }
  const { code, stdout, stderr } = await finish({ after }, run)
  const words = stderr.replaceAll(/^\{"level".*\}\n/gm, '')
  assert.deepEqual([code, stdout], [1, ''], stderr)
  assert.match(words, /^kaha: [^\n]+\n$/)
  assert.match(words, line)
  assert.ok(!stderr.includes('hunter2'), 'no password is shown')
}

test('with KAHA_DATABASE_URL a sandbox lives in that database and starts none of its own; a later start finds everything again', async (t) => {
  const dataDir = join(home, 'shop')
  const settings = { KAHA_DATABASE_URL: urlOf('shop') }
  const first = await start(t, dataDir, { settings })
  assert.match(first.stdout(), /A first order has been paid already/)
  assert.deepEqual(serversIn(dataDir), [])
  assert.equal(existsSync(join(dataDir, 'postgres')), false)
  const events = await sql<{ type: string }>(urlOf('shop'), 'select type from delivery.events order by id')
  assert.deepEqual(
    events.map(({ type }) => type),
    ['payment.declined', 'payment.succeeded', 'payment.completed', 'QRPH_SUCCESS'],
  )
  assert.equal(await stop(first), 0)
  assert.equal(existsSync(join(dataDir, 'sandbox.json')), false)

  const second = await start(t, dataDir, { settings })
  assert.deepEqual(second.sandbox.merchants, first.sandbox.merchants)
  assert.doesNotMatch(second.stdout(), /A first order/)
  assert.equal(await stop(second), 0)
})

test('a database of another master key is refused in words', async () => {
  await refused(
    { KAHA_DATABASE_URL: urlOf('shop'), KAHA_MASTER_KEY: masterKey },
    /sealed with another master key: set KAHA_MASTER_KEY to that one, or use another database/,
  )
})

test('a database that is not there, refuses the user, or cannot be reached is named with its place, and never with its password', async () => {
  await refused(
    { KAHA_DATABASE_URL: urlOf('nowhere') },
    new RegExp(`there is no database nowhere at 127\\.0\\.0\\.1:${port}: create it, or correct KAHA_DATABASE_URL`),
  )
  await sql(adminUrl, `create role guarded login password 'right'`)
  await letInByPassword('guarded')
  const guarded = urlOf('shop').replace(/\/\/[^@]*@/, '//guarded:hunter2@')
  await refused(
    { KAHA_DATABASE_URL: guarded },
    /the database at 127\.0\.0\.1:\d+\/shop refuses this user or password: correct KAHA_DATABASE_URL/,
  )
  const closed = urlOf('shop').replace(`:${port}`, `:${await freePort()}`)
  await refused(
    { KAHA_DATABASE_URL: closed },
    /the database at 127\.0\.0\.1:\d+\/shop cannot be reached \(ECONNREFUSED\): start it, or correct/,
  )
  await refused(
    { KAHA_DATABASE_URL: 'postgres://kaha:hunter2@no-such-host.invalid/shop' },
    /the database at no-such-host\.invalid:5432\/shop cannot be reached \(E\w+\)/,
  )
})

test('a database that lets us in and is of no use is told by its cause and the way out', async () => {
  await sql(adminUrl, 'create role stranger login')
  await sql(adminUrl, 'create role lonely login connection limit 1')
  await sql(adminUrl, 'create database lonely owner lonely')
  await sql(adminUrl, 'create database bare')
  for (const options of [
    "encoding 'LATIN1' template template0 locale_provider libc lc_collate 'C' lc_ctype 'C'",
    'allow_connections false',
    '',
  ])
    await sql(adminUrl, `create database useless_${options.slice(0, 1)} ${options}`)
  await sql(adminUrl, 'alter database useless_ set default_transaction_read_only = on')
  const as = (role: string) => urlOf('shop').replace(/\/\/[^@]*@/, `//${role}@`)
  const cases: readonly (readonly [url: string, line: RegExp])[] = [
    [
      as('stranger'),
      /may not do in the database at \S+ what Kaha needs \(.*\): make that user the owner of Kaha's schemas and of all in/,
    ],
    [
      as('stranger').replace(/shop$/, 'bare'),
      /may not do in the database at \S+ what Kaha needs \(.* for database bare\): make that user its owner$/,
    ],
    [urlOf('useless_'), /the database at \S+ takes no changes, as a standby does: correct KAHA_DATABASE_URL/],
    [urlOf('useless_a'), /the database at \S+ cannot be used \(.*not currently accepting connections\): mend that/],
    [urlOf('useless_e'), /the database keeps text as LATIN1; Kaha needs UTF8: make one with `create database/],
    [
      `${urlOf('shop')}?sslmode=verify-full`,
      /cannot be used \(The server does not support SSL connections\): mend that/,
    ],
    [`${urlOf('shop')}?sslmode=verify-full&sslrootcert=/nowhere.pem`, /cannot be used \(ENOENT: .*nowhere\.pem/],
  ]
  for (const [url, line] of cases) {
    await assert.rejects(migrateOrExplain({ url }), (error) => {
      assert.ok(error instanceof StartFault, url)
      assert.match(error.message, line)
      return !error.message.includes('\n')
    })
  }
  // Its one connection goes through the migrations, and is not enough to serve.
  await refused(
    { KAHA_DATABASE_URL: urlOf('lonely').replace(/\/\/[^@]*@/, '//lonely@') },
    /could not be used \(too many conn/,
  )
})

test('commands leave a database that is of an older Kaha, or of none, as it is', async () => {
  await sql(adminUrl, 'create database of_nobody')
  const [newest] = await sql<{ name: string }>(urlOf('shop'), 'select max(name) as name from kernel.migrations')
  await sql(urlOf('shop'), `delete from kernel.migrations where name = '${newest?.name}'`)
  const nobody = '0199a000-0000-7000-8000-000000000000'
  for (const [database, words] of [
    ['shop', /the database is of an older Kaha, and lacks /],
    ['of_nobody', /there is nothing of Kaha in this database: /],
  ] as const) {
    const settings = { KAHA_DATA_DIR: join(home, 'shop'), KAHA_DATABASE_URL: urlOf(database) }
    const command = commandsUnder({ after }, settings)
    for (const args of [['keys'], ['entities', 'lock', nobody], ['attention'], ['terminals'], ['processes']])
      await command.refused(words, ...args)
  }
  const left = `select to_regclass('kernel.migrations') is null as is_none`
  assert.deepEqual(await sql(urlOf('of_nobody'), left), [{ is_none: true }])
  const later = `select from kernel.migrations where name >= '${newest?.name}'`
  assert.deepEqual(await sql(urlOf('shop'), later), [])
})

test('what Node or a library warns of is a line of the log as any other', async () => {
  // The driver has a few lines to say of this one.
  await refused(
    { KAHA_DATABASE_URL: `${urlOf('none_at_all')}?sslmode=require` },
    /does not support SSL|there is no database/,
  )
})

test('two processes share the work: one serves, the other delivers, and no later start of all roles plays the story there', async (t) => {
  const settings = { KAHA_DATABASE_URL: urlOf('fleet'), KAHA_MASTER_KEY: masterKey }
  const api = await start(t, join(home, 'api'), { args: ['--empty'], settings: { ...settings, KAHA_ROLES: 'api' } })
  const receiver = await startReceiver()
  t.after(() => receiver[Symbol.asyncDispose]())
  const arrived = new Promise<string>((resolve) => {
    receiver.answer = ({ body }, response) => {
      response.writeHead(204).end()
      resolve((JSON.parse(body) as { type: string }).type)
    }
  })
  const [merchant] = api.sandbox.merchants
  const sdk = createKaha({ baseUrl: api.sandbox.base_url, apiKey: merchant?.secret_key ?? '' })
  const [branch] = merchant?.branches ?? []
  await sdk.webhooks.createEndpoint({ url: receiver.url, enabled_events: ['payment.succeeded'] })
  const intent = await sdk.paymentIntents.create({
    amount: 9800,
    currency: 'PHP',
    merchant_branch_reference_number: branch?.reference_number ?? '',
  })
  const card = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }
  await sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
  const { data } = await sdk.webhooks.listEvents({ branch_id: branch?.id ?? '' })
  assert.deepEqual(
    data.map(({ status }) => status),
    ['PENDING'],
  )

  const worker = launch(t, {
    args: ['start'],
    settings: { ...settings, KAHA_DATA_DIR: join(home, 'worker'), KAHA_ROLES: 'worker' },
  })
  assert.equal(await arrived, 'payment.succeeded')
  await worker.says(
    /\nKaha is running\nThis process has the role worker, and listens on 127\.0\.0\.1:\d+\.\n\nCtrl-C stops/,
  )
  assert.equal(existsSync(join(home, 'worker', 'sandbox.json')), false, 'a client would look for the API there')
  assert.match(
    api.stdout(),
    /Kaha is running on .*\nThis process has the role api, and listens on 127\.0\.0\.1:\d+\.\n/,
  )
  assert.deepEqual([await stop(worker, 'SIGTERM'), await stop(api, 'SIGTERM')], [0, 0])
  const all = await start(t, join(home, 'api'), { settings })
  assert.doesNotMatch(all.stdout(), /A first order/)
  assert.equal(await stop(all), 0)
})

async function sql<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** From now on the server asks this role for its password. */
async function letInByPassword(role: string): Promise<void> {
  const [{ pid } = { pid: '' }] = await sql<{ pid: string }>(
    adminUrl,
    `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid`,
  )
  const rules = `/proc/${pid}/cwd/pg_hba.conf`
  writeFileSync(rules, `host all ${role} 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
  await sql(adminUrl, 'select pg_reload_conf()')
  const wrong = adminUrl.replace(/\/\/[^@]*@/, `//${role}:wrong@`)
  // The server reads its rules again when it gets to it.
  for (let tries = 0; tries < reloadTriesMax; tries += 1) {
    const refusal = await sql(wrong, 'select 1').then(
      () => undefined,
      (error: Error) => error,
    )
    if (refusal !== undefined) return
    await sleep(10)
  }
  throw new Error('the server did not read its rules again')
}
