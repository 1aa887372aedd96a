import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { call } from '../../test/conformance/call.ts'
import { qrAccount } from '../../test/conformance/qr-account.ts'
import { bodyOf, hourMs, jump, rowsOf } from '../../test/conformance/shop.ts'
import { cards } from '../../test/platform.ts'
import { ownerOf, paymentsRoom, processorThat } from '../../test/payments-room.ts'
import { until } from '../../test/until.ts'
import { startEcommerceTimers } from '../areas/ecommerce/index.ts'
import { startQrTimers } from '../areas/qr/index.ts'
import type { Db, Statement } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { createLog } from '../kernel/log.ts'
import { atOnceOrOneByOne, oneByOne } from './put-off.ts'

// Ends that fail, more of them than a round takes, and all before one that could be made.
const room = await paymentsRoom({ after })
const { db, bus } = room.kaha
const marked = `'FAILS'`

/** Copies of a row that fall due a second before it, each marked as one that fails; more columns say what else is theirs. */
const copy = (table: string, id: string, count: number, columns: string) =>
  rowsOf<{ id: string }>(
    room,
    `insert into ${table} select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), ${columns}))).*
       from ${table} r, generate_series(1, $2::integer) where r.id = $1 returning id`,
    [id, count],
  )
const tokenHash = `'checkout_token_hash', '\\x' || md5(gen_random_uuid()::text) || md5(gen_random_uuid()::text)`
const sooner = (column: string) => `'${column}', r.${column} - interval '1 second'`

/** Updates of marked rows fail until that is over. */
async function failing(table: string, which: string): Promise<() => Promise<void>> {
  const name = `fail_${table.replace('.', '_')}`
  await rowsOf(
    room,
    `create function ${name}() returns trigger language plpgsql as 'begin raise exception ''it cannot be written''; end'`,
  )
  await rowsOf(
    room,
    `create trigger ${name} before update on ${table} for each row when (${which}) execute function ${name}()`,
  )
  return async () => {
    await rowsOf(room, `drop function ${name} cascade`)
  }
}

/** Rounds of the timers, whether they fail or not. */
async function rounds(count: number): Promise<void> {
  const timers = room.payments(processorThat())
  for (let round = 0; round < count; round += 1) {
    await timers.sweep().catch((error: Error) => assert.match(String(error.cause), /it cannot be written/))
  }
}

const putOff = async (): Promise<string | undefined> =>
  (await call(room.url, { path: '/metrics' })).text.match(/^kaha_expiries_put_off (\d+)$/m)?.[1]
const count = async (query: string): Promise<number> =>
  (await rowsOf<{ count: number }>(room, `select count(*)::integer as count from ${query}`))[0]?.count ?? 0

test('intents whose end fails, more than a round takes, keep none behind them from its end, and end when they can', async () => {
  const last = await room.intent()
  await copy('payments.intents', last.id, 120, `${tokenHash}, 'order_reference', ${marked}, ${sooner('expires_at')}`)
  const mend = await failing('payments.intents', `old.order_reference = ${marked}`)
  await jump(room, 48 * hourMs)
  await rounds(5)
  assert.deepEqual(await room.events(last.id), ['payment.expired'])
  assert.equal(await putOff(), '120')

  await mend()
  await jump(room, hourMs)
  await rounds(5)
  assert.equal(await count(`payments.intents where order_reference = ${marked} and state = 'EXPIRED'`), 120)
  assert.equal(await putOff(), '0')
})

test('challenges whose end fails, more than a round takes, keep none behind them from its end', async () => {
  const last = await room.intent()
  bodyOf(await room.shop.confirm(last.id, cards.challenge), 200)
  const [attempt] = await room.attempts(last.id)
  for (const { id } of await copy('payments.intents', last.id, 60, tokenHash)) {
    await copy('payments.attempts', attempt?.id ?? '', 1, `'intent_id', '${id}', ${sooner('challenge_expires_at')}`)
  }
  const mend = await failing('payments.attempts', `old.intent_id <> '${last.id}'`)
  await jump(room, hourMs)
  await rounds(4)
  assert.equal((await room.read(last.id)).shown.status, 'DECLINED')
  assert.deepEqual(await room.events(last.id), ['payment.declined'])
  await mend()
})

test('links whose end fails, more than a round takes, keep none behind them from its end, and the log tells of them', async () => {
  const link = bodyOf(await room.shop.createLink(), 201)
  await copy(
    'ecommerce.links',
    link.id,
    250,
    `'token', md5(gen_random_uuid()::text), 'order_reference', ${marked}, ${sooner('expires_at')}`,
  )
  const mend = await failing('ecommerce.links', `old.order_reference = ${marked}`)
  await jump(room, 48 * hourMs)
  const lines: string[] = []
  const log = createLog(
    'info',
    new Writable({ write: (chunk: Buffer, _encoding, done) => done(void lines.push(String(chunk))) }),
  )
  {
    await using timers = startEcommerceTimers({ db, bus, log, owner: ownerOf(room.kaha) })
    await until(
      'the end of the last link',
      async () => (await count(`ecommerce.links where id = '${link.id}' and state = 'EXPIRED'`)) === 1,
    )
    assert.ok(lines.some((line) => line.includes('it cannot be written') && line.includes('put off')))
    await mend()
    await jump(room, hourMs)
    timers.wake()
    await until('the end of all links', async () => (await count(`ecommerce.links where state = 'ACTIVE'`)) === 0)
  }
  assert.equal(await count(`delivery.events where payment_link_id = '${link.id}' and type = 'payment.expired'`), 1)
})

test('codes whose end fails, more than a round takes, keep none behind them from its end', async () => {
  const { id } = await qrAccount(room).made({})
  await copy('qr.codes', id, 250, `'reference', md5(gen_random_uuid()::text), ${sooner('expires_at')}`)
  const mend = await failing('qr.codes', `old.id <> '${id}'`)
  await jump(room, 48 * hourMs)
  await using timers = startQrTimers({ db, bus, log: createLog('silent') })
  timers.wake()
  await until(
    'the end of the last code',
    async () => (await count(`qr.codes where id = '${id}' and state = 'EXPIRED'`)) === 1,
  )
  await mend()
})

test('while the database is away nothing is put off and no other is tried: all of it is as due as before when it is back', async () => {
  const asked: string[] = []
  const run = async (query: Statement) => {
    asked.push(query.name)
    return []
  }
  const lost = { run } as unknown as Db
  const away = () => Promise.reject(new Fault('UNAVAILABLE', 'The database is away for a moment.'))
  const tried: string[] = []
  const one = ({ id }: { readonly id: string }) => {
    tried.push(id)
    return away()
  }
  await assert.rejects(oneByOne(lost, [{ id: 'a' }, { id: 'b' }], one), { code: 'UNAVAILABLE' })
  await assert.rejects(atOnceOrOneByOne(lost, { atOnce: away, due: async () => [{ id: 'c' }], one }), {
    code: 'UNAVAILABLE',
  })
  assert.deepEqual([tried, asked], [['a'], []])
})
