import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { terminalFrameBytesMax } from '@kaha/contract'
import type { GatewayOptions } from '../../src/areas/terminals/index.ts'
import { statement } from '../../src/kernel/db.ts'
import { platform, type Platform } from '../platform.ts'
import { approval, result, sale, shopOf, type Wire } from '../till.ts'
import { until } from '../until.ts'

// What is long, and what is much, for those who read it over a socket.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
// As a till that takes no more than the contract allows.
const client = { maxPayload: terminalFrameBytesMax }
const long = (text: string) => text.repeat(55_000)
const metadata = { note: long('m') }

const missed = (desk: Wire) =>
  desk.received.flatMap(({ action, transactionId }) => (action === 'paymentComplete' ? [transactionId] : []))

test('[D5.socket.frame, D5.push.payment-complete] the end of a payment fits into a frame with all of its metadata: a receipt for which there is no room is in the answer and the record', async () => {
  const [till, terminal] = [await shop.till({ client }), await shop.connect(shop.first, { client })]
  const said = [
    [{ receiptData: long('r') }, 'SUCCESS'],
    [{ receiptData: long('\u0001').slice(0, 10_000) }, 'SUCCESS'],
    [{ status: 'FAILED', errorCode: 'DECLINED', errorMessage: 'no 😀'.repeat(8_000) }, 'FAILED'],
    [{ status: 'FAILED', errorCode: '', errorMessage: long('\\').slice(0, 4_000), receiptData: long('r') }, 'FAILED'],
  ] as const
  for (const [index, [fields, status]] of said.entries()) {
    const transactionId = `long-${index}`
    const paying = shop.pay({ transactionId, metadata })
    assert.deepEqual((await terminal.next('payment')).paymentRequest.metadata, metadata)
    terminal.send(JSON.stringify(result(transactionId, { ...approval, ...fields })).slice(0, terminalFrameBytesMax))
    const { json } = await paying
    const { paymentResponse } = await till.next('paymentComplete')
    const { receiptData, errorMessage } = fields as { receiptData?: string; errorMessage?: string }
    for (const told of [json, (await shop.read(transactionId)).json.response])
      assert.deepEqual([told.status, told.receiptData, told.errorMessage], [status, receiptData, errorMessage])
    assert.deepEqual([paymentResponse.status, paymentResponse.metadata], [status, metadata])
    assert.equal(paymentResponse.receiptData, undefined)
    assert.ok((errorMessage ?? '').startsWith(paymentResponse.errorMessage ?? ''))
    assert.equal(paymentResponse.authorizationCode, json.authorizationCode)
  }
  const short = { transactionId: 'short', metadata: { note: 'm' } }
  const paying = shop.pay(short)
  await terminal.next('payment')
  terminal.send(result(short.transactionId, { ...approval, receiptData: long('r') }))
  assert.equal((await paying).json.receiptData, long('r'))
  assert.equal((await till.next('paymentComplete')).paymentResponse.receiptData, long('r'))
  assert.deepEqual([till.closed, terminal.closed], [null, null])
  await Promise.all([till.close(), terminal.close()])
})

test('[D5.socket.frame, D5.message.get-terminals] a list of terminals that is longer than a frame comes whole', async () => {
  const [till, terminal] = [await shop.till(), await shop.connect()]
  const more = statement(
    'test.moreTerminals',
    `insert into terminals.terminals (id, group_id, partner_id, merchant_id, branch_id, key_id, device_id, connection_id, status, connected_at, last_activity_at)
     select gen_random_uuid(), group_id, partner_id, merchant_id, branch_id, key_id, 'more-' || n, gen_random_uuid(), 'online', connected_at, last_activity_at
       from terminals.terminals, generate_series(1, 400) n where device_id = $1 returning id`,
  )
  await p.kaha.db.run(more, [shop.first.device_id])
  const { terminals } = await till.ask({ action: 'getTerminals' })
  assert.equal(terminals.length, 401)
  assert.ok(JSON.stringify(terminals).length > terminalFrameBytesMax)
  await till.settled()
  await Promise.all([till.close(), terminal.close()])
})

/** As many copies of this payment as wanted, each a millisecond after the one before or with it; their names in the order of their ends. */
async function copied(its: Platform, transactionId: string, copies: number): Promise<string[]> {
  const names = statement(
    'test.columns',
    `select string_agg(column_name, ', ') as rest from information_schema.columns where table_schema = 'terminals' and table_name = 'transactions'
        and is_generated = 'NEVER' and column_name not in ('id', 'transaction_id', 'updated_at')`,
  )
  const [columns] = await its.kaha.db.run<{ rest: string }>(names, [])
  const many = statement(
    'test.manyMissed',
    `insert into terminals.transactions (id, transaction_id, updated_at, ${columns?.rest})
     select gen_random_uuid(), 'missed-' || n, updated_at + n / 3 * interval '1 ms', ${columns?.rest}
       from terminals.transactions, generate_series(1, $2::integer) n where transaction_id = $1 returning transaction_id, updated_at, id`,
  )
  const made = await its.kaha.db.run<{ transaction_id: string; updated_at: Date; id: string }>(many, [
    transactionId,
    copies,
  ])
  made.sort((a, b) => Number(a.updated_at) - Number(b.updated_at) || (a.id < b.id ? -1 : 1))
  return made.map((row) => row.transaction_id)
}

/** A shop with a terminal, and how its till missed the end of one payment and of so many like it, in the order of their ends. */
async function away(t: TestContext, copies: number, fields: object = {}, terminals: GatewayOptions = {}) {
  const its = await platform(t, { choices: { terminals } })
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const terminal = await there.connect()
  const paying = there.pay({ transactionId: 'missed-0', ...fields })
  await terminal.next('payment')
  terminal.send(result('missed-0'))
  assert.equal((await paying).status, 200)
  return { its, there, terminal, all: await copied(its, 'missed-0', copies) }
}

test('[D5.push.missed] however much a desktop missed it is told all of it, once and in order, and what it asks meanwhile is answered', async (t) => {
  const { its, there, all } = await away(t, 2_100)
  // On a long way, so that what arrived is confirmed late.
  const desk = await there.till({ client: { autoPong: false } })
  const pings: Buffer[] = []
  desk.socket.on('ping', (data: Buffer) => pings.push(data))
  const { terminals } = await desk.ask({ action: 'getTerminals' })
  assert.equal(terminals.length, 1)
  await until('all that it missed', () => missed(desk).length > all.length)
  assert.equal(missed(desk).length, all.length + 1)
  assert.deepEqual(
    missed(desk).filter((id) => id !== 'missed-0'),
    all,
  )
  desk.socket.on('ping', (data: Buffer) => desk.socket.pong(data))
  for (const data of pings) desk.socket.pong(data)
  const unseen = statement(
    'test.unseen',
    'select count(*)::integer as rows from terminals.transactions where complete_unseen',
  )
  await until('that all was seen', async () => (await its.kaha.db.run<{ rows: number }>(unseen, []))[0]?.rows === 0)
  assert.equal(
    (await desk.ask({ action: 'payment', terminalId: there.first.device_id, paymentRequest: sale })).action,
    'paymentAccepted',
  )
})

test('[D5.push.missed] a payment that ends while a desktop is told what it missed is told once', async (t) => {
  const { its, there, terminal, all } = await away(t, 2_100)
  // Later than all of those, so that it is among the last that are read.
  await its.advance(2)
  const ending = there.pay({ transactionId: 'late' })
  await terminal.next('payment')
  const desk = await there.till({ client: { autoPong: false } })
  await until('the first that it missed', () => missed(desk).length > 0)
  terminal.send(result('late'))
  assert.equal((await ending).status, 200)
  await until('all that it missed', () => missed(desk).length > all.length)
  await desk.ask({ action: 'getTerminals' })
  await desk.ask({ action: 'getTerminals' })
  const told = missed(desk)
  assert.equal(told.length, all.length + 2)
  assert.ok(told.indexOf('late') < all.length, 'it was told in between')
  assert.equal(new Set(told).size, told.length)
})

test('[D5.socket.frame, D5.push.missed] a till that takes nothing of what it missed is closed, however much it sends', async (t) => {
  const { its, there } = await away(t, 300, { metadata }, { pingMs: 150 })
  const desk = await there.till()
  desk.socket.pause()
  const talking = setInterval(() => desk.socket.pong(), 20)
  t.after(() => clearInterval(talking))
  const sockets = statement(
    'test.sockets',
    'select count(*)::integer as desks from terminals.sockets where terminal_id is null',
  )
  await until('the close', async () => (await its.kaha.db.run<{ desks: number }>(sockets, []))[0]?.desks === 0)
})

test('[D5.socket.frame] a frame is read in up to 256 fragments, and one more ends the socket', async () => {
  const desk = await shop.till()
  const ping = JSON.stringify({ action: 'ping', requestId: 'cut' })
  desk.sendIn(256, ping)
  assert.equal((await desk.next('pong')).requestId, 'cut')
  desk.sendIn(257, ping)
  await until('the close', () => desk.closed !== null)
  assert.equal(desk.closed, 1008)
})
