import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { createWaits } from '../src/areas/terminals/waits.ts'
import { statement } from '../src/kernel/db.ts'
import { newId } from '../src/kernel/ids.ts'
import type { Between } from './nats.ts'
import { platform } from './platform.ts'
import { sql } from './sql.ts'
import { result, sale, shopOf, signedCall, wire } from './till.ts'
import { until } from './until.ts'

const minuteMs = 60_000

/** A till on one process, its terminal on another, one database, and whatever is between them. */
export async function twoProcesses({ settings }: Between) {
  const between = await settings({ after })
  const p = await platform({ after }, { settings: between })
  const other = await p.another(between)
  const shop = shopOf(p)
  after(() => shop[Symbol.asyncDispose]())
  const device = shop.first.device_id
  const open = async (url: string, keys: { api_key: string; api_secret: string }, deviceId?: string) => {
    const one = await wire(url, keys, deviceId === undefined ? {} : { deviceId })
    after(() => one[Symbol.asyncDispose]())
    return one
  }
  return {
    p,
    other,
    shop,
    device,
    here: (keys = shop.first, deviceId: string | undefined = device) => open(p.url, keys, deviceId),
    there: (keys: { api_key: string; api_secret: string }, deviceId?: string) => open(other.localUrl, keys, deviceId),
    async statusOf() {
      const { terminals } = (await shop.ask({ path: '/v1/terminals' })).json
      return terminals.find((one: { terminalId: string }) => one.terminalId === device)?.status
    },
    stateOf: async (transactionId: string) => (await shop.read(transactionId)).json.status,
  }
}

export type Room = Awaited<ReturnType<typeof twoProcesses>>

/** What tills and terminals may rely on when they hang on different processes. Begins them, and ends them after the file. */
export async function terminalsAcross(between: Between): Promise<void> {
  const room = between.missing === undefined ? await twoProcesses(between) : undefined
  const across = (promise: string, check: (room: Room) => Promise<void>) =>
    void test(promise, (t) => (room === undefined ? t.skip(between.missing) : check(room)))

  across(
    'a till pays, cancels and voids at a terminal whose socket another process holds, and both tills of the group are told',
    async ({ p, other, shop, device, there }) => {
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
    },
  )

  across(
    'a terminal that connects to another process replaces its older connection, whose late close takes nothing away',
    async ({ shop, device, there, statusOf }) => {
      const older = await shop.connect()
      const newer = await there(shop.first, device)
      await until('the close', () => older.closed === 4001)
      assert.equal(await statusOf(), 'online')
      const paying = shop.pay()
      newer.send(result((await newer.next('payment')).transactionId))
      assert.equal((await paying).status, 200)
      await newer.close()
    },
  )

  across(
    'a terminal that drops in mid-payment and returns to the other process tells its result there, and the till that waits is paid',
    async ({ shop, device, there, here, stateOf }) => {
      const terminal = await there(shop.first, device)
      const transactionId = randomUUID()
      const paying = shop.pay({ transactionId })
      await terminal.next('payment')
      terminal.drop()
      await until('the loss', async () => (await stateOf(transactionId)) === 'AWAITING_RECONNECT')
      const back = await here()
      assert.equal((await back.next('paymentStatus')).transactionId, transactionId)
      back.send(result(transactionId))
      const answer = await paying
      assert.deepEqual([answer.status, answer.json.status], [200, 'SUCCESS'])
      await back.close()
    },
  )

  across(
    'a terminal that drops, and returns with an approval after the till was told that there is no payment, is told to void by whichever process it is on',
    async ({ p, shop, device, there, here, stateOf }) => {
      const terminal = await there(shop.first, device)
      const transactionId = randomUUID()
      const paying = shop.pay({ transactionId })
      await terminal.next('payment')
      terminal.drop()
      await until('the loss', async () => (await stateOf(transactionId)) === 'AWAITING_RECONNECT')
      await p.advance(60)
      assert.equal((await paying).status, 502)
      const back = await here()
      await back.next('paymentStatus')
      back.send(result(transactionId))
      assert.equal((await back.next('voidPayment')).transactionId, transactionId)
      // It moves on before it answers, and is asked again where it is now.
      const moved = await there(shop.first, device)
      assert.equal((await moved.next('voidPayment')).transactionId, transactionId)
      moved.send({ action: 'voidResult', transactionId, success: true })
      await moved.settled()
      assert.equal(await stateOf(transactionId), 'VOIDED')
      assert.equal((await shop.voids(transactionId)).json.success, true)
      await moved.close()
    },
  )

  across(
    'a void asked on one process reaches a terminal that has moved to the other since it was paid',
    async ({ shop, device, there, here }) => {
      const before = await here()
      const transactionId = randomUUID()
      const paying = shop.pay({ transactionId })
      before.send(result((await before.next('payment')).transactionId))
      assert.equal((await paying).status, 200)
      const now = await there(shop.first, device)
      const voiding = shop.voids(transactionId, { reason: 'moved' })
      assert.equal((await now.next('voidPayment')).reason, 'moved')
      now.send({ action: 'voidResult', transactionId, success: false, error: 'SETTLED_ALREADY' })
      const { success, error } = (await voiding).json
      assert.deepEqual([success, error], [false, 'SETTLED_ALREADY'])
      await now.close()
    },
  )

  across(
    'a payment that changes in one process wakes whoever waits for it in the other, who need not have looked again',
    async ({ p, other, shop, device, there }) => {
      const terminal = await there(shop.first, device)
      const paying = signedCall(other.localUrl, shop.desktop, {
        method: 'POST',
        path: `/v1/terminals/${device}/payments`,
        body: sale,
      })
      const { transactionId } = await terminal.next('payment')
      const [row] = await sql<{ id: string }>(
        p.kaha.db,
        'select id from terminals.transactions where transaction_id = $1',
        [transactionId],
      )
      await using waits = createWaits(p.kaha.bus)
      const wait = waits.next(row?.id ?? '')
      let isWoken = false
      const waiting = wait.happened(minuteMs).then(() => (isWoken = true))
      terminal.send(result(transactionId))
      assert.equal((await paying).status, 200)
      await until('that it is woken', () => isWoken)
      await waiting
      wait.leave()
      await terminal.close()
    },
  )

  across(
    'the clock advanced on one process is that of the other, and each hears of it from the other',
    async ({ p, other }) => {
      for (const [from, to] of [
        [p.kaha, other],
        [other, p.kaha],
      ] as const) {
        const heard = new Promise<void>((resolve) => void to.bus.listen('clock', resolve))
        await from.sandboxClock.advanceBy(60_000)
        await heard
        await until('the clock', () => Math.abs(to.clock.offsetMs - from.clock.offsetMs) < 1)
      }
    },
  )

  across('a deadline is applied by whichever process comes first, once', async ({ p, shop, device, there }) => {
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

  across(
    '[X0.clocks.system.heartbeats] the terminals of a process that says nothing any more are reconnecting, whatever the clock of business says',
    async ({ p, shop, device, there, statusOf }) => {
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
    },
  )

  across(
    '[D5.disconnect.other] a socket that was given up for lost while its process was cut off is closed, so that its terminal connects anew',
    async ({ p, other, shop, device, there }) => {
      const terminal = await there(shop.first, device)
      const lose = statement(
        'test.lose',
        'delete from terminals.sockets where terminal_id is not null returning key_id',
      )
      assert.equal((await p.kaha.db.run(lose, [])).length, 1)
      // What a line between processes says of itself after an outage.
      other.bus.hint('terminals')
      await until('the close', () => terminal.closed === 4000)
      assert.equal((await terminal.next('forceDisconnect')).reason, 'other')
    },
  )
}
