import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { busyTwice } from '../terminals-audit.ts'
import { approval, result, shopOf } from '../till.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'

// Payments whose deadlines nobody has stored yet, or nobody can.

async function figure(url: string, name: string): Promise<number> {
  const { text } = await call(url, { path: '/metrics' })
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}

/** An installation, without a worker unless told, and a shop there whose payments nobody waits for, who would see to a deadline. */
async function unwatched(t: TestContext, roles = 'api,gateway') {
  const alone = await platform(t, { settings: { KAHA_ROLES: roles } })
  const there = shopOf(alone)
  t.after(() => there[Symbol.asyncDispose]())
  await there.ask({
    method: 'POST',
    path: '/v1/webhooks/endpoints',
    body: { url: alone.receiver.url, events: ['payment.failed'] },
  })
  const ask = (text: string) => sql(alone.kaha.db, text)
  return {
    ask,
    there,
    reports: alone.sdk.reports,
    /** How often something could not be stored. */
    unstored: () => figure(alone.url, 'kaha_terminal_unstored_total'),
    /** How often a void that nobody answered was told to a person. */
    unanswered: () => figure(alone.url, 'kaha_terminal_attention_total{cause="void_unanswered"}'),
    begin: (transactionId: string, deviceId = there.first.device_id) =>
      there.pay({ transactionId, webhookMode: true }, deviceId),
    async later(seconds: number) {
      await ask(`select kernel.raise_clock_offset(${seconds * 1_000})`)
      await alone.kaha.clock.refresh(alone.kaha.db)
    },
  }
}

test('[X0.clocks.exact, D5.busy.free] a deadline counts from its moment on, also while no worker stores it', async (t) => {
  const { ask, there, begin, later } = await unwatched(t)
  const silent = [await there.connect(there.first), await there.connect(there.second)] as const
  assert.equal((await begin('first')).status, 202)
  assert.equal((await begin('second', there.second.device_id)).status, 202)

  await later(100)
  assertRefused('/terminal/v1', await begin('first'), 504, 'TIMEOUT')
  assertRefused('/terminal/v1', await begin('third', there.second.device_id), 409, 'PAYMENT_IN_PROGRESS')
  await later(10 * 60)
  assert.equal((await begin('third', there.second.device_id)).status, 202)
  await until('the third', () => silent[1].received.some((one) => one.transactionId === 'third'))
  assert.deepEqual(await ask(busyTwice), [])

  // As one is that was not written to its terminal in time.
  assert.equal((await begin('fourth')).status, 202)
  await ask(
    `update terminals.transactions set sent_to = null, reach_at = kernel.now() + interval '10 seconds' where transaction_id = 'fourth'`,
  )
  await later(10 * 60 + 20)
  assert.equal((await begin('fifth')).status, 202)
  assert.deepEqual(await ask(busyTwice), [])
  await later(20 * 60)
  const paying = there.pay({ transactionId: 'sixth' })
  await until('the sixth', () => silent[0].received.some((one) => one.transactionId === 'sixth'))
  silent[0].drop()
  await until('the loss', async () => (await there.read('sixth')).json.status === 'AWAITING_RECONNECT')
  await later(21 * 60 + 2)
  assertRefused('/terminal/v1', await paying, 502, 'TERMINAL_CONNECTION_ERROR')

  await later(25 * 60 * 60)
  const failed = await there.ask({ path: '/v1/transactions?status=FAILED' })
  const names = failed.json.transactions.map((one: { transactionId: string }) => one.transactionId)
  assert.deepEqual(names.toSorted(), ['fifth', 'first', 'fourth', 'second', 'sixth', 'third'])
  assert.equal((await there.read('second')).json.response.errorCode, 'NO_RESULT')
})

test('[B3.status.terminal-over, B3.detail.lapsed, X0.clocks.exact] a sale that its deadline has ended is reported as its own area shows it, before anybody has stored that', async (t) => {
  const { ask, there, begin, later, reports } = await unwatched(t)
  await there.connect(there.first)
  await there.connect(there.second)
  assert.equal((await begin('unsent')).status, 202)
  assert.equal((await begin('silent', there.second.device_id)).status, 202)
  await ask(
    `update terminals.transactions set sent_to = null, reach_at = created_at + interval '10 seconds', version = version + 1
      where transaction_id = 'unsent'`,
  )
  const reported = async (filter: object = {}) => {
    const { data } = await reports.listTransactions({ ...filter, sort_order: 'asc' })
    return data.map(({ status, created_at, updated_at }) => [
      status,
      (Date.parse(updated_at) - Date.parse(created_at)) / 1_000,
    ])
  }
  assert.deepEqual(await reported(), [
    ['PENDING', 0],
    ['PENDING', 0],
  ])
  await later(11)
  assert.deepEqual(await reported(), [
    ['FAILED', 10],
    ['PENDING', 0],
  ])
  await later(24 * 60 * 60 + 11)
  const over = await reported()
  assert.deepEqual(over, [
    ['FAILED', 10],
    ['FAILED', 24 * 60 * 60],
  ])
  assert.deepEqual(await reported({ status: ['PENDING'] }), [])
  assert.deepEqual(await reported({ status: ['FAILED'] }), over)
  const { data } = await reports.listTransactions()
  const details = () => Promise.all(data.map(async ({ id }) => (await reports.retrieveTransaction(id)).data))
  const unstored = await details()
  for (const [index, { updated_at }] of data.entries()) {
    const { status, updated_at: at, events } = unstored[index] ?? {}
    assert.deepEqual([status, at], ['FAILED', updated_at])
    assert.deepEqual(
      events?.map(({ event_type, created_at, reason }) => [event_type, created_at, reason]),
      [
        ['CREATED', data[index]?.created_at, null],
        ['FAILED', updated_at, null],
      ],
    )
  }

  for (const name of ['unsent', 'silent']) assert.equal((await there.read(name)).json.status, 'FAILED')
  assert.deepEqual(await ask(`select from payments.transactions where status = 'PENDING'`), [])
  assert.deepEqual(await reported(), over)
  assert.deepEqual(await details(), unstored)
})

test('[D5.busy.free] a terminal whose last payment cannot be stored stays busy, and is free once it can', async (t) => {
  const { ask, there, begin, later, unstored } = await unwatched(t)
  await there.connect(there.first)
  assert.equal((await begin('stuck')).status, 202)
  await ask(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$`,
  )
  await ask('create trigger refuse before update on terminals.transactions execute function public.refuse()')
  await later(15 * 60)
  assert.equal(await unstored(), 0)
  assertRefused('/terminal/v1', await begin('next'), 409, 'PAYMENT_IN_PROGRESS')
  assert.equal(await unstored(), 1)
  await ask('drop trigger refuse on terminals.transactions')
  assert.equal((await begin('next')).status, 202)
})

test('[D5.machine.open.timeout] a payment whose deadline cannot be stored holds up that of no other', async (t) => {
  const { ask, there, begin, later, unstored } = await unwatched(t, 'api,gateway,worker')
  await there.connect(there.first)
  await there.connect(there.second)
  assert.equal((await begin('stuck')).status, 202)
  assert.equal((await begin('other', there.second.device_id)).status, 202)
  await ask(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$`,
  )
  await ask(
    `create trigger refuse before update on terminals.transactions for each row when (old.transaction_id = 'stuck')
     execute function public.refuse()`,
  )
  await later(100)
  const givenUp = `select transaction_id from terminals.transactions where given_up is not null`
  await until('the deadline of the other', async () => (await ask(givenUp)).length > 0)
  assert.deepEqual(await ask(givenUp), [{ transaction_id: 'other' }])
  // Counted when all of them were tried: the other may be seen in its row before that.
  await until('that the one is counted', async () => (await unstored()) > 0)
  await ask('drop trigger refuse on terminals.transactions')
  await until('that of the one', async () => (await ask(givenUp)).length === 2)
})

test('[D5.machine.open.timeout] nor do more of them than are looked at in one turn, while they are due before it', async (t) => {
  const { ask, there, begin, later } = await unwatched(t, 'api,gateway,worker')
  await there.connect(there.first)
  await there.connect(there.second)
  assert.equal((await begin('stuck')).status, 202)
  const [written] = await ask(
    `select string_agg(column_name, ', ') as columns from information_schema.columns
      where table_schema = 'terminals' and table_name = 'transactions' and is_generated = 'NEVER'`,
  )
  await ask(
    `insert into terminals.transactions (${written?.columns}) select ${written?.columns} from (
       select (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'transaction_id', 'stuck' || n))).*
         from terminals.transactions t cross join generate_series(1, 120) n) copies`,
  )
  assert.equal((await begin('other', there.second.device_id)).status, 202)
  await ask(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$`,
  )
  await ask(
    `create trigger refuse before update on terminals.transactions for each row when (old.transaction_id like 'stuck%')
     execute function public.refuse()`,
  )
  await later(100)
  const givenUp = `select transaction_id from terminals.transactions where given_up is not null`
  await until('the deadline of the other', async () => (await ask(givenUp)).length > 0)
  assert.deepEqual(await ask(givenUp), [{ transaction_id: 'other' }])
})

test('[D5.machine.open.timeout] a terminal whose absence cannot be stored holds up the deadline of no payment', async (t) => {
  const { ask, there, begin, later } = await unwatched(t, 'api,gateway,worker')
  await there.connect(there.first)
  const lost = await there.connect(there.second)
  await ask(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$`,
  )
  await ask(
    `create trigger refuse before update on terminals.terminals for each row when (new.status = 'offline') execute function public.refuse()`,
  )
  lost.drop()
  await until('the loss', async () => {
    const rows = await ask(`select id from terminals.terminals where status = 'reconnecting'`)
    return rows.length === 1
  })
  assert.equal((await begin('other')).status, 202)
  await later(100)
  const givenUp = `select transaction_id from terminals.transactions where given_up is not null`
  await until('the deadline', async () => (await ask(givenUp)).length === 1)
  await ask('drop trigger refuse on terminals.terminals')
  await until('its absence', async () => {
    const rows = await ask(`select id from terminals.terminals where status = 'offline'`)
    return rows.length === 1
  })
})

test('what needs a person is counted once, though what is due with it cannot be stored', async (t) => {
  const { ask, there, begin, later, unstored, unanswered } = await unwatched(t, 'api,gateway,worker')
  const lines = [await there.connect(there.first), await there.connect(there.second)] as const
  assert.equal((await begin('first')).status, 202)
  assert.equal((await begin('second', there.second.device_id)).status, 202)
  await later(100)
  const count = async (where: string) => (await ask(`select id from terminals.transactions where ${where}`)).length
  await until('both deadlines', async () => (await count('given_up is not null')) === 2)
  lines[0].send(result('first', approval))
  lines[1].send(result('second', approval))
  await until('both voids', async () => (await count(`void_state = 'ASKED'`)) === 2)
  await ask(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$`,
  )
  await ask(
    `create trigger refuse before insert on terminals.attention for each row
     when (new.detail like '${there.second.device_id}%') execute function public.refuse()`,
  )
  await later(25 * 3_600)
  await until('that one is not stored', async () => (await unstored()) > 0)
  assert.deepEqual(await ask('select cause from terminals.attention'), [{ cause: 'void_unanswered' }])
  assert.equal(await unanswered(), 1)
})
