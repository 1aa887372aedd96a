import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { operatorStore } from '../src/commands/store-terminals.ts'
import type { Between } from './nats.ts'
import { sql } from './sql.ts'
import { twoProcesses, type Room } from './terminals-across.ts'
import { result, wire, type Keys, type Wire } from './till.ts'
import { until } from './until.ts'

/** What an operator does to keys and devices, when their sockets hang on another process than the one that he speaks to. */
export async function ordersAcross(between: Between): Promise<void> {
  const room = between.missing === undefined ? await twoProcesses(between) : undefined
  const across = (promise: string, check: (room: Room) => Promise<void>) =>
    void test(promise, (t) => (room === undefined ? t.skip(between.missing) : check(room)))

  const keyOf = async ({ p }: Room, one: Wire): Promise<string> => {
    await one.settled()
    const [row] = await sql<{ key_id: string }>(
      p.kaha.db,
      'select key_id from terminals.sockets order by connected_at desc limit 1',
    )
    return row?.key_id ?? ''
  }
  // As any change of a state, whoever makes it: no word of it goes from process to process.
  const setKey = ({ p }: Room, id: string, state: string) =>
    sql(p.kaha.db, 'update identity.terminal_keys set state = $2 where id = $1', [id, state])
  const setAccount = ({ p }: Room, state: string) =>
    sql(p.kaha.db, 'update identity.entities set state = $2 where id = $1', [p.merchant.id, state])

  const isDismissed = async (one: Wire) => {
    assert.equal((await one.next('forceDisconnect')).reason, 'admin_action')
    await until('the close', () => one.closed !== null)
    assert.equal(one.closed, 4003)
  }
  const isRefused = ({ other }: Room, keys: Keys) => assert.rejects(wire(other.localUrl, keys), { status: 401 })
  const countsAgain = ({ other }: Room, keys: Keys) =>
    until('that the key counts again', () =>
      wire(other.localUrl, keys).then(
        (one) => {
          one.drop()
          return true
        },
        () => false,
      ),
    )
  /** The next status of a terminal that a till is told of. */
  const told = async (till: Wire, device: string): Promise<string> => {
    const { terminalId, status } = await till.next('terminalStatusUpdate')
    return terminalId === device ? status : told(till, device)
  }

  across(
    '[D5.disconnect.admin-action] the socket of a key that is suspended is closed by the process that holds it, its payment waits, and goes on when the key counts again',
    async (its) => {
      const { shop, device, there, statusOf, stateOf } = its
      const terminal = await there(shop.first, device)
      const id = await keyOf(its, terminal)
      const transactionId = randomUUID()
      const paying = shop.pay({ transactionId })
      await terminal.next('payment')
      await setKey(its, id, 'SUSPENDED')
      await isDismissed(terminal)
      await until('the loss', async () => (await stateOf(transactionId)) === 'AWAITING_RECONNECT')
      assert.equal(await statusOf(), undefined)
      await isRefused(its, shop.first)
      await setKey(its, id, 'ACTIVE')
      await countsAgain(its, shop.first)
      const back = await there(shop.first, device)
      await back.next('paymentStatus')
      back.send(result(transactionId))
      assert.equal((await paying).json.status, 'SUCCESS')
      await back.close()
    },
  )

  across('a till loses its socket with its key, and no other socket goes with it', async (its) => {
    const { shop, device, there } = its
    const terminal = await there(shop.first, device)
    const till = await there(shop.desktop)
    const id = await keyOf(its, till)
    await setKey(its, id, 'REVOKED')
    await isDismissed(till)
    await isRefused(its, shop.desktop)
    await terminal.settled()
    assert.equal(terminal.closed, null)
    await setKey(its, id, 'ACTIVE')
    await terminal.close()
  })

  across('sockets of an account that is locked are closed, every one of its merchant', async (its) => {
    const { p, shop, device, there, here } = its
    const far = await wire(p.url, p.seed.merchants[1]?.terminal_group.desktop ?? shop.desktop)
    const all = [await there(shop.first, device), await here(shop.second, shop.second.device_id)]
    await setAccount(its, 'LOCKED')
    for (const one of all) await isDismissed(one)
    await far.settled()
    assert.equal(far.closed, null)
    far.drop()
    await setAccount(its, 'ACTIVE')
  })

  across(
    'a key that a process still remembers as good opens no socket that stays, however close the two are in time',
    async (its) => {
      const { shop, there } = its
      for (let round = 0; round < 3; round += 1) {
        const before = await there(shop.second)
        const id = await keyOf(its, before)
        await before.close()
        const revoking = setKey(its, id, 'REVOKED')
        const late = await wire(its.other.localUrl, shop.second).catch(() => undefined)
        await revoking
        if (late !== undefined) await until('the close', () => late.closed !== null)
        await setKey(its, id, 'ACTIVE')
        await countsAgain(its, shop.second)
      }
    },
  )

  across(
    '[D5.disconnect.admin-action, D5.connection.closed] an operator closes a socket: its terminal is offline at once, the tills of the group hear of it, and it may come again',
    async (its) => {
      const { p, shop, device, there, statusOf } = its
      const till = await shop.till()
      const terminal = await there(shop.first, device)
      const id = await keyOf(its, terminal)
      assert.equal(await told(till, device), 'connected')
      assert.equal(await operatorStore.disconnect(p.kaha.db, id), true)
      await isDismissed(terminal)
      assert.equal(await told(till, device), 'disconnected')
      assert.equal(await statusOf(), undefined)
      assert.equal(await operatorStore.disconnect(p.kaha.db, id), false)
      const again = await there(shop.first, device)
      assert.equal(await told(till, device), 'connected')
      await again.settled()
      await again.close()
      assert.equal(await told(till, device), 'disconnected')
      await till.close()
    },
  )

  across(
    '[D5.socket.device-moved] a device that an operator moves to another key leaves the first, which is refused for it, and goes on with its payment under the second',
    async (its) => {
      const { p, other, shop, there, stateOf } = its
      const device = 'counter-9'
      const terminal = await there(shop.first, device)
      const first = await keyOf(its, terminal)
      const spare = await there(shop.second, 'spare')
      const second = await keyOf(its, spare)
      const transactionId = randomUUID()
      const paying = shop.pay({ transactionId }, device)
      await terminal.next('payment')
      const move = (to: string, named = device) => operatorStore.moveDevice(p.kaha.db, shop.groupId, named, to, 100)
      assert.equal(await move(second, 'nowhere'), 'unknown')
      assert.equal(await operatorStore.moveDevice(p.kaha.db, shop.groupId, device, second, 1), 'full')
      assert.deepEqual([await move(second), await move(second)], ['moved', 'moved'])
      await isDismissed(terminal)
      await until('the loss', async () => (await stateOf(transactionId)) === 'AWAITING_RECONNECT')
      await assert.rejects(wire(other.localUrl, shop.first, { deviceId: device }), { status: 403 })
      const now = await there(shop.second, device)
      assert.equal((await now.next('paymentStatus')).transactionId, transactionId)
      now.send(result(transactionId))
      assert.equal((await paying).json.status, 'SUCCESS')
      assert.equal(await move(first), 'moved')
      await isDismissed(now)
    },
  )

  across(
    '[D5.socket.device-moved, D5.connection.key-moves] a device that was moved to another key is offline once its first key connects as something else',
    async (its) => {
      const { p, shop, there } = its
      const till = await shop.till()
      const terminal = await there(shop.first, 'counter-10')
      assert.equal(await told(till, 'counter-10'), 'connected')
      const spare = await there(shop.second, 'spare')
      const second = await keyOf(its, spare)
      // As an operator moves it, and before any process has looked for what he wants closed.
      await sql(p.kaha.db, `update terminals.terminals set key_id = $1 where device_id = 'counter-10'`, [second])
      const third = await there(shop.first, 'counter-11')
      await until('the close', () => terminal.closed === 4001)
      assert.equal(await told(till, 'counter-10'), 'disconnected')
      assert.equal((await shop.pay({}, 'counter-10')).json.error.code, 'TERMINAL_OFFLINE')
      const back = await there(shop.second, 'counter-10')
      assert.equal(await told(till, 'counter-10'), 'connected')
      for (const one of [third, back, spare, till]) await one.close()
    },
  )
}
