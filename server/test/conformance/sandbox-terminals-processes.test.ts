import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { platform } from '../platform.ts'
import { shopOf } from '../till.ts'
import { until } from '../until.ts'
import { call } from './call.ts'

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const other = await p.another()
const key = p.seed.partner.secret_key

const start = (deviceId: string, url = p.url) =>
  call(url, { method: 'POST', path: '/sandbox/terminals', key, body: { group_id: shop.groupId, device_id: deviceId } })
const stop = (deviceId: string, url = p.url) =>
  call(url, { method: 'DELETE', path: `/sandbox/terminals/${deviceId}`, key })
const advance = (seconds: number, url = p.url) =>
  call(url, { method: 'POST', path: '/sandbox/clock/advance', key, body: { seconds } })

const readPlans = statement(
  'test.plans',
  'select count(*)::int as n from sandbox.terminal_tasks where transaction_id = $1',
)
const plansOf = async (transactionId: string) =>
  (await p.kaha.db.run<{ n: number }>(readPlans, [transactionId]))[0]?.n ?? 0

/** A payment at a virtual terminal of the first process, which will approve it in 80 s. */
async function pay(deviceId: string) {
  // A process hears of an advance at another a moment after it, and what begins in that moment begins in the past.
  await p.kaha.clock.refresh(p.kaha.db)
  const transactionId = randomUUID()
  const paying = shop.pay({ transactionId }, deviceId)
  await until('its plan', async () => (await plansOf(transactionId)) === 1)
  return { transactionId, paying }
}
const isShown = async (deviceId: string) =>
  (await shop.ask({ path: '/v1/terminals' })).json.terminals.some(
    (one: { terminalId: string; status: string }) => one.terminalId === deviceId && one.status === 'online',
  )

test('a process that starts leaves the virtual terminals of the others what they have to do', async () => {
  await start('sim-slow-80s-1')
  const { transactionId, paying } = await pay('sim-slow-80s-1')
  const third = await p.another()
  // Its virtual terminals are ready by then.
  assert.equal((await start('sim-approve-1', third.localUrl)).json.status, 'online')
  assert.equal(await plansOf(transactionId), 1)
  await third[Symbol.asyncDispose]()
  assert.equal(await plansOf(transactionId), 1)
  await advance(85)
  assert.equal((await paying).json.status, 'SUCCESS')
})

test('an advance of the clock at one process waits for the virtual terminals of another', async () => {
  await start('sim-slow-80s-2')
  for (let round = 0; round < 3; round += 1) {
    const { transactionId, paying } = await pay('sim-slow-80s-2')
    assert.equal((await advance(85, other.localUrl)).status, 200)
    assert.equal((await shop.read(transactionId)).json.status, 'COMPLETED')
    assert.equal((await paying).json.status, 'SUCCESS')
  }
})

test('a virtual terminal is stopped at any process, whichever runs it', async () => {
  await start('sim-slow-80s-3')
  const { transactionId, paying } = await pay('sim-slow-80s-3')
  const stopped = await stop('sim-slow-80s-3', other.localUrl)
  assert.deepEqual([stopped.status, stopped.json.status], [200, 'stopped'])
  assert.equal(await plansOf(transactionId), 0)
  await until('that it is gone', async () => !(await isShown('sim-slow-80s-3')))
  await advance(95)
  assert.notEqual((await paying).json.status, 'SUCCESS')
})

test('a virtual terminal that runs goes on where it is, at whichever process it is started again', async () => {
  await start('sim-slow-80s-4')
  const { paying } = await pay('sim-slow-80s-4')
  assert.deepEqual((await start('sim-slow-80s-4', other.localUrl)).json, {
    device_id: 'sim-slow-80s-4',
    status: 'online',
  })
  await advance(85)
  assert.equal((await paying).json.status, 'SUCCESS')

  await p.kaha.db.run(statement('test.dismiss', 'update terminals.sockets set dismissed = true'), [])
  await until('that it is gone', async () => !(await isShown('sim-slow-80s-4')))
  assert.equal((await start('sim-slow-80s-4', other.localUrl)).json.status, 'online')
  await stop('sim-slow-80s-4')
  assert.equal((await start('sim-slow-80s-4', other.localUrl)).json.status, 'online')
  assert.equal((await stop('sim-slow-80s-4')).status, 200)
})

test('what virtual terminals of a process that died had to do holds up no clock, and they are started anew at another', async () => {
  await start('sim-slow-80s-5', other.localUrl)
  const { transactionId, paying } = await pay('sim-slow-80s-5')
  // As it is when its process has been gone for longer than its lease.
  const die = statement(
    'test.die',
    `update sandbox.virtual_terminals set node_id = $1, lease_until = clock_timestamp() - interval '1 second' where device_id = $2`,
  )
  await p.kaha.db.run(die, [randomUUID(), 'sim-slow-80s-5'])
  await until('that its line is lost', async () => !(await isShown('sim-slow-80s-5')))
  assert.equal((await advance(95)).status, 200)
  assert.notEqual((await paying).json.status, 'SUCCESS')
  assert.equal((await start('sim-slow-80s-5')).json.status, 'online')
  assert.equal(await plansOf(transactionId), 0)
})
