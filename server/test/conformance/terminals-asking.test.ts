import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { transactionStore } from '../../src/areas/terminals/store-transactions.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, shopOf, type Wire } from '../till.ts'
import { until } from '../until.ts'

// What a terminal that is back is asked about, and until when its answer counts; and what becomes of both while nothing can be read.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())

const stateOf = async (id: string): Promise<string> => (await shop.read(id)).json.status

/** A payment whose terminal has lost its line with it. */
async function dropped() {
  const terminal = await shop.connect()
  const transactionId = `a-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  terminal.drop()
  await until('the loss', async () => (await stateOf(transactionId)) === 'AWAITING_RECONNECT')
  return { transactionId, paying }
}

/** A payment that is on its way to a terminal and never reaches it. */
async function unreached() {
  const lost = await shop.connect()
  // As of a process that does not hear: nobody has this connection.
  const unheard = `with told as (update terminals.terminals set connection_id = gen_random_uuid() where device_id = $1 returning connection_id)
    update terminals.sockets s set connection_id = told.connection_id from told where s.terminal_id is not null returning 1 as one`
  await sql(p.kaha.db, unheard, [shop.first.device_id])
  const transactionId = `a-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await until('the payment', async () => (await stateOf(transactionId)) === 'PENDING')
  return { lost, transactionId, paying }
}

const away = () => sql(p.kaha.db, 'alter table terminals.transactions rename to away')
const here = () => sql(p.kaha.db, 'alter table terminals.away rename to transactions')

const isAsked = (terminal: Wire, transactionId: string) =>
  until('the question', () =>
    terminal.received.some((one) => one.action === 'paymentStatus' && one.transactionId === transactionId),
  )

test('[D5.auto-void.told, D5.machine.pending.not-reached] a void of an approval of what counts as never sent is told on every reconnect, too', async () => {
  const { lost, transactionId, paying } = await unreached()
  await p.advance(11)
  assert.equal((await paying).json.error.code, 'TERMINAL_CONNECTION_ERROR')
  lost.drop()
  const terminal = await shop.connect()
  terminal.send(result(transactionId))
  assert.equal((await terminal.next('voidPayment')).transactionId, transactionId)
  terminal.drop()
  const again = await shop.connect()
  assert.equal((await again.next('voidPayment')).transactionId, transactionId)
  again.send({ action: 'voidResult', transactionId, success: true })
  await again.settled()
  await again.close()
})

test('[D5.machine.pending.not-reached] a terminal that comes is not asked about a payment that is on its way to it: its answer would end that', async () => {
  const { lost, transactionId, paying } = await unreached()
  const about = `select terminal_id, extract(epoch from reach_at - created_at)::integer as seconds from terminals.transactions
    where transaction_id = $1 and sent_to is null`
  const [row] = await sql<{ terminal_id: string; seconds: number }>(p.kaha.db, about, [transactionId])
  assert.ok(row)
  assert.equal(row.seconds, 10)
  const comes = { terminalId: row.terminal_id, connectionId: randomUUID() }
  assert.deepEqual(await transactionStore.toAsk(p.kaha.db, [comes]), [])
  await p.advance(11)
  assert.equal((await paying).json.error.code, 'TERMINAL_CONNECTION_ERROR')
  lost.drop()
})

test('[D5.machine.pending.lost] a payment whose terminal comes anew before its line is known to be lost waits for it, too', async () => {
  const older = await shop.connect()
  const transactionId = `a-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await older.next('payment')
  const newer = await shop.connect()
  await isAsked(newer, transactionId)
  assert.equal(await stateOf(transactionId), 'AWAITING_RECONNECT')
  newer.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  await newer.close()
})

test('[D5.busy.cancel-resent, D5.busy.free] a terminal that is free again for other payments is told no more to cancel the one that was given up', async () => {
  const terminal = await shop.connect()
  const transactionId = `a-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  await p.advance(90)
  assert.equal((await paying).json.error.code, 'TIMEOUT')
  const toldAfter = async (seconds: number) => {
    await p.advance(seconds)
    await terminal.settled()
    return terminal.received.filter((one) => one.action === 'cancelPayment').length
  }
  const told = await toldAfter(121)
  assert.ok(told > 1)
  assert.equal(await toldAfter(60), told)
  terminal.send(result(transactionId, { status: 'FAILED', errorCode: 'DECLINED' }))
  await until('its end', async () => (await stateOf(transactionId)) === 'FAILED')
  await terminal.close()
})

test('[D5.machine.open.unknown] UNKNOWN is no answer any more once the terminal has said that it is at work, whichever way it said so', async () => {
  for (const atWork of [
    (id: string) => result(id, { status: 'PENDING' }),
    (id: string) => ({ action: 'paymentStatus', transactionId: id, status: 'PENDING' }),
  ]) {
    const { transactionId, paying } = await dropped()
    const terminal = await shop.connect()
    await isAsked(terminal, transactionId)
    terminal.send(atWork(transactionId))
    const refused = await terminal.ask({ action: 'paymentStatus', transactionId, status: 'UNKNOWN' })
    assert.deepEqual([refused.code, await stateOf(transactionId)], ['INVALID_REQUEST', 'PENDING'])
    terminal.send(result(transactionId))
    assert.equal((await paying).json.status, 'SUCCESS')
    await terminal.close()
  }
})

test('a till waits on while nothing can be read, and gets the result that comes after', async () => {
  const terminal = await shop.connect()
  const transactionId = `a-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  const [row] = await sql<{ id: string }>(
    p.kaha.db,
    `select id from terminals.transactions where transaction_id = '${transactionId}'`,
  )
  await away()
  p.kaha.bus.say('terminals', ['changed', row?.id ?? ''])
  assert.equal((await terminal.ask(result(transactionId))).code, 'INTERNAL_ERROR')
  await here()
  terminal.send(result(transactionId))
  assert.deepEqual([(await paying).status, (await paying).json.status], [200, 'SUCCESS'])
  await terminal.close()
})

test('[D5.machine.open.unknown] a terminal that is back while nothing can be read is asked once it can, and may say again what could not be stored', async () => {
  const { transactionId, paying } = await dropped()
  await away()
  const terminal = await shop.connect()
  const status = { action: 'paymentStatus', transactionId, status: 'UNKNOWN' }
  await here()
  await isAsked(terminal, transactionId)
  await away()
  assert.equal((await terminal.ask(status)).code, 'INTERNAL_ERROR')
  await here()
  terminal.send(status)
  const { json } = await paying
  assert.deepEqual([json.status, json.errorCode], ['FAILED', 'TERMINAL_LOST_PAYMENT'])
  await terminal.close()
})

test('of more payments than a terminal is asked about at once, voids come before those that it never answered', async () => {
  const terminal = await shop.connect()
  const transactionId = `a-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  await p.advance(25 * 3_600)
  assert.equal((await paying).status, 504)
  assert.equal(await stateOf(transactionId), 'FAILED')
  const [written] = await sql<{ columns: string }>(
    p.kaha.db,
    `select string_agg(column_name, ', ') as columns from information_schema.columns
      where table_schema = 'terminals' and table_name = 'transactions' and is_generated = 'NEVER'`,
  )
  // Newer, as many as are asked about.
  await sql(
    p.kaha.db,
    `insert into terminals.transactions (${written?.columns}) select ${written?.columns} from (
       select (jsonb_populate_record(t, jsonb_build_object('id', overlay(gen_random_uuid()::text placing 'ff' from 1), 'transaction_id', 'never' || n))).*
         from terminals.transactions t cross join generate_series(1, 200) n where t.transaction_id = '${transactionId}') copies`,
  )
  // Its void is asked for in answer.
  terminal.send(result(transactionId))
  await terminal.settled()
  assert.equal(await stateOf(transactionId), 'VOIDED')
  terminal.drop()
  const back = await shop.connect()
  assert.equal((await back.next('voidPayment')).transactionId, transactionId)
  await back.close()
})
