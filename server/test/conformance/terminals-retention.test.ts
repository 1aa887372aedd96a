import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { attentionStore } from '../../src/commands/store-attention.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, sale, shopOf } from '../till.ts'
import { until } from '../until.ts'

const p = await platform({ after })
const shop = shopOf(p)
const others = shopOf(p, p.seed.merchants[1])
after(() => Promise.all([shop, others].map((one) => one[Symbol.asyncDispose]())))
const device = shop.first.device_id
const day = 86_400

const kept = async () => {
  const rows = await sql<{ transaction_id: string }>(
    p.kaha.db,
    'select transaction_id from terminals.transactions order by transaction_id',
  )
  return rows.map(({ transaction_id }) => transaction_id)
}
const keeps = (...ids: string[]) =>
  until(`that ${ids.join()} is all that is kept`, async () => (await kept()).join() === ids.join())
const refusal = async (transactionId: string, terminalId = device) => {
  const { status, json } = await shop.pay({ transactionId }, terminalId)
  return [status, json.error?.code]
}
const conflict = [409, 'TRANSACTION_CONFLICT']

test('[X0.clocks.business.retention, X0.clocks.system.sockets, D5.retention.http, D5.retention.socket, D5.id.past-retention, D5.id.unique] rows of payments go when their time is up, their ids stay taken, reports keep them, and no socket goes with the time', async () => {
  const [terminal, till] = [await shop.connect(), await shop.till()]
  for (const transactionId of ['by-http', 'by-socket', 'with-attention']) {
    const paying =
      transactionId === 'by-socket'
        ? till.ask({ action: 'payment', terminalId: device, paymentRequest: { ...sale, transactionId } })
        : shop.pay({ transactionId })
    await terminal.next('payment')
    terminal.send(result(transactionId))
    await paying
    await terminal.settled()
  }
  const foreign = await shop.connect(shop.second)
  await foreign.ask(result('with-attention'))
  await foreign.close()

  await p.advance(7 * day - 60)
  assert.deepEqual(await kept(), ['by-http', 'by-socket', 'with-attention'])
  await p.advance(2 * 3_600)
  await keeps('by-http', 'with-attention')
  assert.equal((await shop.read('by-socket')).json.error.code, 'TRANSACTION_NOT_FOUND')
  assert.deepEqual(await refusal('by-socket'), conflict)
  // Neither was the refused one kept.
  await keeps('by-http', 'with-attention')

  await p.advance(23 * day - 2 * 3_600)
  assert.equal((await shop.read('by-http')).status, 200)
  await p.advance(120)
  assert.equal((await shop.read('by-http')).json.error.code, 'TRANSACTION_NOT_FOUND')
  assert.equal((await shop.ask({ path: '/v1/transactions' })).json.count, 0)
  await p.advance(3_600)
  await keeps('with-attention')
  for (const gone of ['by-http', 'by-socket', 'with-attention']) assert.deepEqual(await refusal(gone), conflict)
  // However another group came to the same id: here it is gone, and where it never was it is another group's.
  const abroad = await others.connect()
  for (const transactionId of ['by-http', 'only-theirs']) {
    const theirs = others.pay({ transactionId })
    await abroad.next('payment')
    abroad.send(result(transactionId))
    assert.equal((await theirs).status, 200)
  }
  await abroad.close()
  assert.equal((await shop.read('by-http')).json.error.code, 'TRANSACTION_NOT_FOUND')
  assert.equal((await shop.read('only-theirs')).json.error.code, 'GROUP_MISMATCH')
  const [open] = await attentionStore.list(p.kaha.db, 10)
  assert.deepEqual([open?.payment, open?.cause], ['with-attention', 'foreign_result'])
  assert.ok(await attentionStore.settle(p.kaha.db, open?.id ?? '', 'Seen to.'))
  await terminal.ask(result('by-http'))
  const [unmatched] = await attentionStore.list(p.kaha.db, 10)
  assert.deepEqual([unmatched?.payment, unmatched?.cause], ['by-http', 'unmatched_result'])
  assert.ok(await attentionStore.settle(p.kaha.db, unmatched?.id ?? '', 'Paid back.'))
  await p.advance(3_600)
  await keeps('by-http', 'only-theirs')
  const unmatchedLeft = () => sql(p.kaha.db, 'select 1 from terminals.unmatched_results')
  assert.equal((await unmatchedLeft()).length, 1)
  assert.deepEqual(await sql(p.kaha.db, 'select 1 from terminals.attention'), [])

  const { data } = await p.sdk.reports.listTransactions({ payment_method: 'CARD_PRESENT' })
  assert.equal(data.filter(({ status }) => status === 'CAPTURED').length, 3)
  await p.advance(30 * day)
  await until('what was settled to go', async () => (await unmatchedLeft()).length === 0)
  await terminal.settled()
  await till.settled()
  assert.deepEqual([terminal.closed, till.closed], [null, null])

  // Whatever is with the terminal now.
  const busy = shop.pay({ transactionId: 'busy' })
  await terminal.next('payment')
  assert.deepEqual(await refusal('by-http'), conflict)
  assert.deepEqual(await refusal('another'), [409, 'PAYMENT_IN_PROGRESS'])
  const [{ connectionId }] = (await shop.ask({ path: '/v1/terminals' })).json.terminals
  assert.deepEqual(await refusal('by-http', connectionId), conflict)
  assert.deepEqual(await refusal('another', connectionId), [409, 'PAYMENT_IN_PROGRESS'])
  terminal.send(result('busy'))
  await busy
  await terminal.close()
  // A payment that comes before that is stored finds the line broken.
  await until('that it is gone', async () => (await shop.ask({ path: '/v1/terminals' })).json.count === 0)
  assert.deepEqual(await refusal('by-http'), conflict)
  assert.deepEqual(await refusal('another'), [503, 'TERMINAL_OFFLINE'])
  assert.deepEqual(await refusal('by-http', 'no-such-terminal'), conflict)
  assert.deepEqual(await refusal('by-http', others.first.device_id), [403, 'GROUP_MISMATCH'])
})

test('[D5.retention.http, D5.retention.socket] a payment is gone from the moment in which its time is up, from the list and by its id, whether or not its row is', async (t) => {
  const frozen = Date.now()
  const its = await platform(t, { choices: { wall: () => frozen } })
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const terminal = await there.connect()
  const paying = there.pay()
  const { transactionId } = await terminal.next('payment')
  terminal.send(result(transactionId))
  await paying
  for (const [way, days] of [
    ['http', 30],
    ['socket', 7],
  ] as const) {
    for (const [ms, count] of [
      [1, 1],
      [0, 0],
    ] as const) {
      const endedAt = new Date(frozen - days * day * 1_000 + ms)
      await sql(its.kaha.db, 'update terminals.transactions set way = $1, ended_at = $2', [way, endedAt])
      assert.equal((await there.ask({ path: '/v1/transactions' })).json.count, count)
      assert.equal((await there.read(transactionId)).status, count === 1 ? 200 : 404)
    }
  }
})

test('[D5.signature.replay] a signed payment that comes again when its own is gone is refused, and charges nothing', async () => {
  const terminal = await shop.connect()
  const signedAt = Date.now()
  const pay = () => {
    const path = `/v1/terminals/${device}/payments`
    return shop.ask({ method: 'POST', path, body: { ...sale, metadata: { gone: true } } }, signedAt)
  }
  const paying = pay()
  const { transactionId } = await terminal.next('payment')
  terminal.send(result(transactionId))
  assert.equal((await paying).json.transactionId, transactionId)
  // A sandbox's clock may pass a month within the five minutes of a signature.
  await p.advance(30 * day + 3_600)
  await until('its row to go', async () => !(await kept()).includes(transactionId))
  const again = await pay()
  assert.deepEqual([again.status, again.json.error?.code], conflict)
  await terminal.settled()
  assert.equal(terminal.received.filter(({ action }) => action === 'payment').length, 1)
  await terminal.close()
})

test('[D5.id.unique] an id whose row goes in the very moment in which it is used again is taken all the same', async () => {
  const terminal = await shop.connect()
  const paying = shop.pay({ transactionId: 'another' })
  await terminal.next('payment')
  terminal.send(result('another'))
  await paying
  const transactionId = 'at-the-same-time'
  const columns = `partner_id, merchant_id, branch_id, terminal_id, addressed, key_id, way, webhook_mode, request_hash, request, amount, currency,
    payment_method, state, created_at, updated_at, group_id`
  const taken = Promise.withResolvers<void>()
  const waited = Promise.withResolvers<void>()
  // What a payment that looks for the id does not see yet, and waits for when it takes the id.
  const dropping = p.kaha.db.tx(async (tx) => {
    await sql(
      tx,
      `insert into terminals.transactions (id, transaction_id, ${columns})
       select gen_random_uuid(), $1, ${columns} from terminals.transactions where transaction_id = 'another'`,
      [transactionId],
    )
    taken.resolve()
    await waited.promise
    await sql(
      tx,
      `with past as (delete from terminals.transactions where transaction_id = $1 returning group_id, transaction_id)
       insert into terminals.past_ids select group_id, transaction_id from past`,
      [transactionId],
    )
  })
  await taken.promise
  const again = shop.pay({ transactionId })
  const isWaiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%terminals.take_payments%'`
  await until('the payment to wait', async () => (await sql(p.kaha.work, isWaiting)).length > 0)
  waited.resolve()
  await dropping
  const { status, json } = await again
  assert.deepEqual([status, json.error?.code], conflict)
  await terminal.close()
})
