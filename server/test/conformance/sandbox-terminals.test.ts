import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { platform } from '../platform.ts'
import { shopOf } from '../till.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const key = p.seed.partner.secret_key
const start = (deviceId: string, groupId = shop.groupId) =>
  call(p.url, { method: 'POST', path: '/sandbox/terminals', key, body: { group_id: groupId, device_id: deviceId } })
const stop = (deviceId: string) => call(p.url, { method: 'DELETE', path: `/sandbox/terminals/${deviceId}`, key })

/** A payment at a virtual terminal, and its end. */
async function begin(deviceId: string) {
  assert.equal((await start(deviceId)).status, 201)
  const transactionId = randomUUID()
  return { transactionId, paying: shop.pay({ transactionId }, deviceId) }
}
const told = async (deviceId: string, seconds = 0) => {
  const { transactionId, paying } = await begin(deviceId)
  if (seconds > 0) {
    const sent = statement(
      'test.sent',
      'select sent_to is not null as sent from terminals.transactions where transaction_id = $1',
    )
    await until(
      'that it was sent',
      async () => (await p.kaha.db.run<{ sent: boolean }>(sent, [transactionId]))[0]?.sent === true,
    )
    await p.advance(seconds)
  }
  const { status, json } = await paying
  const { json: record } = await shop.read(transactionId)
  return [status, json.status ?? json.error?.code, record.status]
}

test('[S7.terminals.start, S7.terminals.protocol, S7.terminals.sim-approve, S7.terminals.stop] a virtual terminal is started by its group and device id, with a key of its own, and stopped by its device id', async () => {
  assert.deepEqual((await start('sim-approve')).json, { device_id: 'sim-approve', status: 'online' })
  assert.deepEqual((await start('sim-approve')).json, { device_id: 'sim-approve', status: 'online' })
  assert.deepEqual(await told('sim-approve'), [200, 'SUCCESS', 'COMPLETED'])
  const [shown] = (await shop.ask({ path: '/v1/terminals' })).json.terminals
  assert.deepEqual([shown.terminalId, shown.status], ['sim-approve', 'online'])
  const keys = statement(
    'test.keys',
    `select count(*)::int as n from identity.terminal_keys where role = 'terminal' and group_id = $1`,
  )
  assert.deepEqual(await p.kaha.db.run(keys, [shop.groupId]), [{ n: 3 }])
  assert.deepEqual((await stop('sim-approve')).json, { device_id: 'sim-approve', status: 'stopped' })
  await until('that it is gone', async () => (await shop.ask({ path: '/v1/terminals' })).json.count === 0)
  assert.equal((await stop('sim-approve')).status, 200)
  assertRefused('/sandbox/terminals', await start('sim-unknown'), 400, 'BAD_REQUEST')
  assertRefused('/sandbox/terminals', await stop('sim-unknown'), 404, 'NOT_FOUND')
  assertRefused('/sandbox/terminals', await start('sim-approve', randomUUID()), 404, 'NOT_FOUND')
})

test('a virtual terminal sells for the first branch of its merchant, which is the first of the seed: its ids have their order', async () => {
  const { partner, merchants } = p.seed
  const ids = [partner.id, ...merchants.flatMap(({ id, branches }) => [id, ...branches.map((branch) => branch.id)])]
  assert.deepEqual(ids, ids.toSorted())
  // Ids of one millisecond stand in random order.
  assert.equal(new Set(ids.map((id) => id.slice(0, 13))).size, ids.length)
  assert.deepEqual(await told('sim-approve-first'), [200, 'SUCCESS', 'COMPLETED'])
  const { data } = await p.as(p.branch.secret_key).reports.listTransactions({ payment_method: 'CARD_PRESENT' })
  assert.ok(data.some(({ terminal_details }) => terminal_details?.terminal_name === 'sim-approve-first'))
  await stop('sim-approve-first')
})

test('a first start needs no more than one connection to the database at a time', async () => {
  const narrow = await p.another({}, { databaseConnectionsMax: 1 })
  const body = { group_id: shop.groupId, device_id: 'sim-decline' }
  const { status, text } = await call(narrow.localUrl, { method: 'POST', path: '/sandbox/terminals', key, body })
  assert.equal(status, 201, text)
  assert.equal((await stop('sim-decline')).status, 200)
})

test('[S7.terminals.start] a group is itself in capitals too, and its virtual terminal has one key however it is written', async () => {
  const [small, large] = [shop.groupId, shop.groupId.toUpperCase()]
  for (const groupId of [large, small, large]) {
    assert.deepEqual((await start('sim-approve-2', groupId)).json, { device_id: 'sim-approve-2', status: 'online' })
    assert.deepEqual(await told('sim-approve-2'), [200, 'SUCCESS', 'COMPLETED'])
  }
  await stop('sim-approve-2')
  assert.deepEqual((await start('sim-approve-2', small)).json, { device_id: 'sim-approve-2', status: 'online' })
  await stop('sim-approve-2')
})

test('a virtual terminal that an operator closed is started again, and one whose script has it off the line is told offline', async () => {
  assert.equal((await start('sim-approve')).json.status, 'online')
  const dismiss = statement('test.dismiss', 'update terminals.sockets set dismissed = true')
  await p.kaha.db.run(dismiss, [])
  await until('that it is gone', async () => (await shop.ask({ path: '/v1/terminals' })).json.count === 0)
  assert.equal((await start('sim-approve')).json.status, 'online')
  assert.deepEqual(await told('sim-approve'), [200, 'SUCCESS', 'COMPLETED'])
  await stop('sim-approve')

  const { transactionId, paying } = await begin('sim-drop-30s')
  await until('the loss', async () => (await shop.read(transactionId)).json.status === 'AWAITING_RECONNECT')
  assert.equal((await start('sim-drop-30s')).json.status, 'offline')
  await p.advance(40)
  assert.equal((await paying).json.status, 'SUCCESS')
  assert.equal((await start('sim-drop-30s')).json.status, 'online')
  await stop('sim-drop-30s')
})

test('a virtual terminal that may not come back stays away, and holds up neither the others nor the clock', async () => {
  const lost = await begin('sim-drop-30s-barred')
  await until('the loss', async () => (await shop.read(lost.transactionId)).json.status === 'AWAITING_RECONNECT')
  const revoke = statement(
    'test.revoke',
    `update identity.terminal_keys set state = 'REVOKED'
      where id = (select key_id from terminals.terminals where device_id = 'sim-drop-30s-barred')`,
  )
  await p.kaha.db.run(revoke, [])
  p.kaha.bus.hint('keys')
  assert.deepEqual(await told('sim-slow-80s-beside', 85), [200, 'SUCCESS', 'COMPLETED'])
  assert.equal((await lost.paying).json.error.code, 'TERMINAL_CONNECTION_ERROR')
  const refused = await start('sim-drop-30s-barred')
  assertRefused('/sandbox/terminals', refused, 503, 'UNAVAILABLE')
  assert.match(
    refused.json.error.message,
    /^Its account or its key is not active; activate the account, or take another device id/,
  )
  await stop('sim-slow-80s-beside')
})

test('[S7.clock.idle, S7.terminals.clock] an advance waits for what is on its way to a virtual terminal and back, and for a line that it drops to be missed', async () => {
  const endpoint = { url: p.receiver.url, events: ['payment.completed'] }
  const { json } = await shop.ask({ method: 'POST', path: '/v1/webhooks/endpoints', body: endpoint })
  for (let round = 1; round <= 5; round += 1)
    for (const [script, seconds, ends] of [
      ['sim-slow-80s', 85, 'COMPLETED'],
      ['sim-drop-30s', 35, 'COMPLETED'],
      ['sim-drop-75s', 80, 'VOIDED'],
    ] as const) {
      const deviceId = `${script}-at-once-${round}`
      assert.equal((await start(deviceId)).status, 201)
      const transactionId = randomUUID()
      assert.equal((await shop.pay({ transactionId, webhookMode: true }, deviceId)).status, 202)
      await p.advance(seconds)
      assert.equal((await shop.read(transactionId)).json.status, ends, deviceId)
      await stop(deviceId)
    }
  await shop.ask({ method: 'DELETE', path: `/v1/webhooks/endpoints/${json.id}` })
})

test('[S7.terminals.sim-decline] sim-decline declines', async () => {
  assert.deepEqual(await told('sim-decline'), [200, 'FAILED', 'FAILED'])
})
test('[S7.terminals.sim-cancel] sim-cancel cancels', async () => {
  assert.deepEqual(await told('sim-cancel'), [200, 'CANCELLED', 'CANCELLED'])
})
test('[S7.terminals.sim-dup-result] sim-dup-result sends its result twice, and is paid once', async () => {
  assert.deepEqual(await told('sim-dup-result'), [200, 'SUCCESS', 'COMPLETED'])
})
test('[S7.terminals.sim-offline] sim-offline is offline', async () => {
  assert.equal((await start('sim-offline')).json.status, 'offline')
  await until(
    'that it is offline',
    async () => (await shop.pay({}, 'sim-offline')).json.error?.code === 'TERMINAL_OFFLINE',
  )
})
test('[S7.terminals.sim-slow-80s, S7.terminals.clock] sim-slow-80s answers after 80 s of the clock', async () => {
  assert.deepEqual(await told('sim-slow-80s', 89), [200, 'SUCCESS', 'COMPLETED'])
})
test('[S7.terminals.sim-silent] sim-silent never answers', async () => {
  assert.deepEqual(await told('sim-silent', 91), [504, 'TIMEOUT', 'PENDING'])
})
test('[S7.terminals.sim-drop-30s] sim-drop-30s drops its line and is back in time', async () => {
  assert.deepEqual(await told('sim-drop-30s', 40), [200, 'SUCCESS', 'COMPLETED'])
})
test('[S7.terminals.sim-drop-75s] sim-drop-75s is back past the grace, and is voided', async () => {
  assert.deepEqual(await told('sim-drop-75s', 80), [502, 'TERMINAL_CONNECTION_ERROR', 'VOIDED'])
})
test('[S7.terminals.sim-late-success] sim-late-success approves after the sale was given up, and is voided', async () => {
  assert.deepEqual(await told('sim-late-success', 110), [504, 'TIMEOUT', 'VOIDED'])
})

test('[S7.terminals.start] a virtual terminal that is refused tells why, and another one starts', async () => {
  const real = await shop.connect(shop.first, { deviceId: 'sim-decline-9' })
  await real.close()
  const refused = await start('sim-decline-9')
  assertRefused('/sandbox/terminals', refused, 409, 'DEVICE_ID_IN_USE')
  assert.equal(
    refused.json.error.message,
    'A terminal of yours has this device id; take another device id, as sim-decline-9-2.',
  )
  assert.equal(refused.headers['retry-after'], undefined)
  assert.equal((await start('sim-decline-9-2')).json.status, 'online')
  await stop('sim-decline-9-2')
})
