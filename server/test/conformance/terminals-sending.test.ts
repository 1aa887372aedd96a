import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createDb } from '../../src/kernel/db.ts'
import { freshDatabase } from '../cluster.ts'
import { heldLock } from '../held-lock.ts'
import { platform } from '../platform.ts'
import { startPostgresProxy } from '../postgres-proxy.ts'
import { sql } from '../sql.ts'
import { result, shopOf } from '../till.ts'
import { until } from '../until.ts'

// Between the commit of a payment and the moment in which its terminal has it.

const held = new AsyncDisposableStack()
after(() => held.disposeAsync())
const database = held.use(await freshDatabase())
const line = held.use(await startPostgresProxy(database.target))
const direct = held.use(createDb({ target: database.target, onError: () => {} }))
const p = await platform({ after: (close) => held.defer(close) }, { database: line.target })
const shop = held.use(shopOf(p))

// As a trigger that is deferred, it holds a commit up while a test has the lock.
await sql(
  direct,
  `create function terminals.wait_here() returns trigger language plpgsql as $$
   begin perform pg_advisory_xact_lock_shared(1); return null; end $$`,
)

/** Resolves when such commits wait, to what lets them go on. */
const holdCommits = () => heldLock(direct, 'select pg_advisory_xact_lock(1)')

const rowOf = async (transactionId: string) =>
  (
    await sql<{ state: string; sent_to: string | null }>(
      direct,
      'select state, sent_to from terminals.transactions where transaction_id = $1',
      [transactionId],
    )
  )[0]
const isWaiting = (query: string) =>
  sql(
    direct,
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
    [query],
  ).then((rows) => rows.length > 0)

test('[D5.machine.pending.not-reached] a payment is not sent and ends where nobody can know whether its commit went through, and its terminal is free', async () => {
  const terminal = await shop.connect()
  await sql(
    direct,
    `create constraint trigger wait_here after insert on terminals.transactions deferrable initially deferred
     for each row when (new.transaction_id = 'of-unknown-outcome') execute function terminals.wait_here()`,
  )
  const transactionId = 'of-unknown-outcome'
  const goOn = await holdCommits()
  const paying = shop.pay({ transactionId })
  await until('the commit to wait', () => isWaiting('%terminals.take_payments%'))
  // The line goes, and the commit goes through.
  line.becomes('closed')
  const { status, json } = await paying
  assert.deepEqual([status, json.error.code], [503, 'UNAVAILABLE'])
  line.becomes('passes')
  await goOn()
  await until('the row', async () => (await rowOf(transactionId)) !== undefined)
  await until('the end', async () => (await rowOf(transactionId))?.state === 'FAILED')
  const again = await shop.pay({ transactionId })
  assert.deepEqual([again.status, again.json.error.code], [502, 'TERMINAL_CONNECTION_ERROR'])
  await terminal.settled()
  assert.deepEqual(
    terminal.received.filter(({ action }) => action === 'payment'),
    [],
  )
  const next = shop.pay({ transactionId: 'the-next-one' })
  assert.equal((await terminal.next('payment')).transactionId, 'the-next-one')
  terminal.send(result('the-next-one'))
  assert.equal((await next).json.status, 'SUCCESS')
  await terminal.close()
})

test('[D5.message.to-terminal.payment] a payment is sent in the moment in which it is stored, whatever else its terminal has said and waits for', async () => {
  const terminal = await shop.connect()
  const before = shop.pay({ transactionId: 'before' })
  await terminal.next('payment')
  terminal.send(result('before'))
  assert.equal((await before).json.status, 'SUCCESS')
  const paying = await direct.tx(async (tx) => {
    await sql(tx, `select 1 from terminals.transactions where transaction_id = 'before' for update`)
    terminal.send({ action: 'voidResult', transactionId: 'before', success: true })
    await until('the void to wait', () => isWaiting('%for no key update%'))
    const paid = shop.pay({ transactionId: 'after' })
    assert.equal((await terminal.next('payment')).transactionId, 'after')
    return { paid }
  })
  terminal.send(result('after'))
  assert.equal((await paying.paid).json.status, 'SUCCESS')
  await until('the void', async () => (await rowOf('before'))?.state === 'VOIDED')
  await terminal.close()
})

test('[D5.machine.pending.not-reached] nor is one at another process, where it cannot know whether it is stored as sent', async () => {
  const terminal = await shop.connect()
  const far = await p.another({ KAHA_ROLES: 'api' })
  await using farShop = shopOf({ ...p, url: far.localUrl })
  const transactionId = 'sent-or-not'
  await sql(
    direct,
    `create constraint trigger wait_to_send after update on terminals.transactions deferrable initially deferred
     for each row when (new.transaction_id = '${transactionId}' and new.sent_to is not null) execute function terminals.wait_here()`,
  )
  const goOn = await holdCommits()
  const paying = farShop.pay({ transactionId }).catch(() => {})
  await until('the commit to wait', () =>
    sql(
      direct,
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`,
    ).then((rows) => rows.length > 0),
  )
  line.becomes('closed')
  line.becomes('passes')
  await goOn()
  await until('the end', async () => (await rowOf(transactionId))?.state === 'FAILED')
  await terminal.settled()
  assert.deepEqual(
    terminal.received.filter((one) => one.transactionId === transactionId),
    [],
  )
  await paying
  await terminal.close()
})

test('[D5.connection.lost] a terminal whose handshake failed and is stored all the same does not stay online', async () => {
  await sql(
    direct,
    `create constraint trigger wait_here after insert on terminals.sockets deferrable initially deferred
     for each row execute function terminals.wait_here()`,
  )
  const goOn = await holdCommits()
  const connecting = shop.connect(shop.second).then(
    () => 'connected',
    () => 'refused',
  )
  await until('the commit to wait', () => isWaiting('commit%'))
  line.becomes('closed')
  assert.equal(await connecting, 'refused')
  line.becomes('passes')
  await goOn()
  const standing = async () => {
    const rows = await sql<{ status: string }>(direct, 'select status from terminals.terminals where device_id = $1', [
      shop.second.device_id,
    ])
    return rows[0]?.status
  }
  await until('the registration', async () => (await standing()) === 'online')
  await until('its end', async () => (await standing()) === 'reconnecting')
})
