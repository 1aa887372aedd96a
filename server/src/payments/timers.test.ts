import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, fromNow, hourMs, jump, rowsOf } from '../../test/conformance/shop.ts'
import { cards } from '../../test/platform.ts'
import { card, paymentsRoom, processorThat } from '../../test/payments-room.ts'
import { sql } from '../../test/sql.ts'
import { until } from '../../test/until.ts'
import type { Queries } from '../kernel/db.ts'
import { paymentsStore } from './store.ts'

// What falls due and cannot be moved: a row that somebody holds, or one that no move fits any more.
const room = await paymentsRoom({ after })

/** Updates of one row of a table come to nothing, or do something else. */
async function freeze(table: string, id: string, instead = 'return null'): Promise<() => Promise<void>> {
  const name = `freeze_${id.replaceAll('-', '')}`
  await rowsOf(room, `create function ${name}() returns trigger language plpgsql as 'begin ${instead}; end'`)
  await rowsOf(
    room,
    `create trigger ${name} before update on ${table} for each row when (old.id = '${id}') execute function ${name}()`,
  )
  return async () => {
    await rowsOf(room, `drop function ${name} cascade`)
  }
}

test('a challenge or an intent that is overdue and cannot be moved makes the timer rest ever longer, and keeps no other from its end', async () => {
  const [challenged, expired, other] = [await room.intent(), await room.intent(), await room.intent()]
  bodyOf(await room.shop.confirm(challenged.id, cards.challenge), 200)
  const [attempt] = await room.attempts(challenged.id)
  const thaws = [await freeze('payments.attempts', attempt?.id ?? ''), await freeze('payments.intents', expired.id)]
  await jump(room, 48 * hourMs)

  const timers = room.payments(processorThat())
  const rests: number[] = []
  for (let turn = 0; turn < 5; turn += 1) rests.push(await timers.sweep())
  assert.deepEqual(rests, [0, 50, 100, 200, 400])
  assert.deepEqual(await room.events(other.id), ['payment.expired'])
  assert.deepEqual(await room.events(expired.id), [])

  for (const thaw of thaws) await thaw()
  while ((await timers.sweep()) === 0);
  assert.deepEqual(await room.events(expired.id), ['payment.expired'])
  assert.equal((await room.read(expired.id)).shown.status, 'EXPIRED')
})

test('a challenge or an intent whose end fails makes the turn fail, and keeps no other from its end', async () => {
  const challenged = [await room.intent(), await room.intent()]
  for (const { id } of challenged) bodyOf(await room.shop.confirm(id, cards.challenge), 200)
  const [failing, other] = await Promise.all(challenged.map(async ({ id }) => (await room.attempts(id))[0]?.id ?? ''))
  const expiring = [await room.intent(), await room.intent()]
  const fails = "raise exception ''this row cannot be written''"
  const thaws = [
    await freeze('payments.attempts', failing ?? '', fails),
    await freeze('payments.intents', expiring[0]?.id ?? '', fails),
  ]
  await jump(room, 48 * hourMs)

  const timers = room.payments(processorThat())
  await assert.rejects(timers.sweep(), ({ cause }: Error) => /this row cannot be written/.test(String(cause)))
  assert.deepEqual(
    (await room.attempts(challenged[1]?.id ?? '')).map(({ id, state }) => [id, state]),
    [[other, 'DECLINED']],
  )
  const ended = () => Promise.all(expiring.map(({ id }) => room.events(id)))
  assert.deepEqual(await ended(), [[], ['payment.expired']])

  for (const thaw of thaws) await thaw()
  await jump(room, hourMs)
  while ((await timers.sweep()) === 0);
  assert.deepEqual(await ended(), [['payment.expired'], ['payment.expired']])
})

test('a payment that is to be asked about while somebody holds it makes the reconciler rest, and is asked about then', async () => {
  const { id } = await room.intent()
  bodyOf(await room.shop.confirm(id, cards.noAnswer), 202)
  await jump(room, hourMs)
  const [attempt] = await room.attempts(id)
  const processor = processorThat({ inquire: async () => ({ kind: 'declined', reason: 'generic' }) })
  const timers = room.payments(processor)
  const rests: number[] = []
  await room.kaha.db.tx(async (tx) => {
    await tx.run({ name: '', text: 'select from payments.attempts where id = $1 for update' }, [attempt?.id])
    for (let turn = 0; turn < 3; turn += 1) rests.push(await timers.reconcile())
  })
  assert.deepEqual([rests, processor.asked], [[50, 100, 200], []])
  await timers.reconcile()
  assert.deepEqual([(await room.read(id)).shown.status, processor.asked], ['DECLINED', ['inquire']])
})

test('a code that was made in the moment in which its intent expired ends after it, and gives back its use of the link', async () => {
  const link = bodyOf(await room.shop.createLink(), 201)
  const intent = await room.intent({ payment_link_id: link.id, expires_at: fromNow(room, 60_000) })
  await room.payments(processorThat()).codes.make(intent, null)
  const [code] = await room.attempts(intent.id)
  const stateOfCode = (on: Queries, state: string) =>
    sql(on, 'update payments.attempts set state = $2 where id = $1', [code?.id, state])
  await jump(room, 120_000)

  // To the statement that ends the intent the code is not there yet; to what comes after it, it is.
  const { db } = room.kaha
  await stateOfCode(db, 'ABANDONED')
  const ended = await db.tx((tx) => {
    const run: Queries['run'] = async (statement, values) => {
      if (statement.name === 'payments.abandonAttempts') await stateOfCode(tx, 'REQUIRES_ACTION')
      return tx.run(statement, values)
    }
    return paymentsStore.expireIntents({ ...tx, run }, { id: intent.id })
  })
  assert.equal(ended.length, 1)

  const timers = room.payments(processorThat())
  while ((await timers.sweep()) === 0);
  const [uses] = await rowsOf(room, 'select reserved_count from ecommerce.links where id = $1', [link.id])
  assert.deepEqual([uses, (await room.attempts(intent.id))[0]?.state], [{ reserved_count: 0 }, 'ABANDONED'])
  assert.equal((await room.read(intent.id)).shown.status, 'EXPIRED')
})

test('who looks after payments hears at once of one that the processor has not answered: it falls due sooner than anything before it', async () => {
  let heard = 0
  room.kaha.bus.listen('payments', () => (heard += 1))
  const processors = [
    processorThat({ authorize: async () => ({ kind: 'pending' }) }),
    processorThat({ authorize: () => Promise.reject(new Error('connection reset')) }),
  ]
  for (const processor of processors) {
    const { id } = await room.intent()
    const before = heard
    const { shown } = await room.payments(processor).confirm(await room.read(id), card, null)
    assert.equal(shown.status, 'PROCESSING')
    await until('the hint', () => heard > before)
  }
})
