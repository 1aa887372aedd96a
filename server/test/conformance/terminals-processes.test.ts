import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { platform } from '../platform.ts'
import { result, shopOf, signedCall, wire } from '../till.ts'
import { until } from '../until.ts'

// A till on one process, its terminal on another, one database.

const p = await platform({ after })
const other = await p.another()
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const device = shop.first.device_id
const there = async (keys: { api_key: string; api_secret: string }, deviceId?: string) => {
  const one = await wire(other.localUrl, keys, deviceId === undefined ? {} : { deviceId })
  after(() => one[Symbol.asyncDispose]())
  return one
}
const statusOf = async () => {
  const { terminals } = (await shop.ask({ path: '/v1/terminals' })).json
  return terminals.find((one: { terminalId: string }) => one.terminalId === device)?.status
}

test('a till pays, cancels and voids at a terminal whose socket another process holds, and both tills of the group are told', async () => {
  const [near, far] = [await shop.till(), await there(p.merchant.terminal_group.desktop)]
  const terminal = await there(shop.first, device)
  const transactionId = randomUUID()
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  assert.equal((await shop.cancel(transactionId)).status, 200)
  await terminal.next('cancelPayment')
  // The same payment through the other process joins the wait.
  const joined = signedCall(other.localUrl, shop.desktop, {
    method: 'POST',
    path: `/v1/terminals/${device}/payments`,
    body: { amount: '150.00', currency: 'PHP', paymentMethod: 'CARD', transactionId },
  })
  terminal.send(result(transactionId))
  for (const answer of [await paying, await joined])
    assert.deepEqual([answer.status, answer.json.status], [200, 'SUCCESS'])
  // One key has one socket, whichever process holds it: the second till took the place of the first.
  await until('the close', () => near.closed === 4001)
  assert.equal((await far.next('paymentComplete')).transactionId, transactionId)
  const voiding = shop.voids(transactionId)
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId, success: true })
  assert.equal((await voiding).json.success, true)
  await terminal.close()
})

test('a terminal that connects to another process replaces its older connection, whose late close takes nothing away', async () => {
  const older = await shop.connect()
  const newer = await there(shop.first, device)
  await until('the close', () => older.closed === 4001)
  assert.equal(await statusOf(), 'online')
  const paying = shop.pay()
  newer.send(result((await newer.next('payment')).transactionId))
  assert.equal((await paying).status, 200)
  await newer.close()
})

test('a deadline is applied by whichever process comes first, once', async () => {
  const terminal = await there(shop.first, device)
  const transactionId = randomUUID()
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  await p.advance(90)
  assert.equal((await paying).status, 504)
  terminal.send(result(transactionId, { status: 'CANCELLED' }))
  await until('the end', async () => (await shop.read(transactionId)).json.status === 'CANCELLED')
  await terminal.close()
})

test('[X0.clocks.system.heartbeats] the terminals of a process that says nothing any more are reconnecting, whatever the clock of business says', async () => {
  const terminal = await there(shop.first, device)
  await p.advance(3_600)
  assert.equal(await statusOf(), 'online')
  // As after the death of the process that held it: a process that nobody has heard of.
  const kill = statement(
    'test.kill',
    'update terminals.sockets set node_id = $1 where terminal_id is not null returning key_id',
  )
  assert.equal((await p.kaha.db.run(kill, [newId(new Date())])).length, 1)
  await until('the loss', async () => (await statusOf()) === 'reconnecting')
  terminal.drop()
})

test('[D5.disconnect.other] a socket that was given up for lost while its process was cut off is closed, so that its terminal connects anew', async () => {
  const terminal = await there(shop.first, device)
  const lose = statement('test.lose', 'delete from terminals.sockets where terminal_id is not null returning key_id')
  assert.equal((await p.kaha.db.run(lose, [])).length, 1)
  // What a line between processes says of itself after an outage.
  other.bus.hint('terminals')
  await until('the close', () => terminal.closed === 4000)
  assert.equal((await terminal.next('forceDisconnect')).reason, 'other')
})
