import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claim, startDeliveryRoom, type DeliveryRoom } from '../../test/delivery-room.ts'
import type { ClaimedRow } from './store-claim.ts'
import { dispatchStore, type HandRequest } from './store-dispatch.ts'
import { handStore } from './store-hands.ts'
import { recoverStore } from './store-recover.ts'
import { resendStore } from './store-resend.ts'
import { settleStore, type SettledDelivery } from './store-settle.ts'

const handed: HandRequest = { rowsMax: 1, full: [], busy: [], quickRoom: 1, leaseMs: 0 }
const waiting = (held: ClaimedRow, runAt: Date): SettledDelivery => ({ held, end: null, runAt, attempt: null })
const over = (held: ClaimedRow): SettledDelivery => ({ held, end: 'DELIVERED', runAt: null, attempt: null })

/** The blocks of the index of lanes that the database has read so far. */
async function blocksOf(room: DeliveryRoom): Promise<number> {
  await room.workDb.run({ name: '', text: 'select pg_stat_force_next_flush()' }, [])
  const [read] = await room.query<{ blocks: number }>(
    `select (idx_blks_hit + idx_blks_read)::integer as blocks from pg_statio_user_indexes where indexrelname = 'queue_of_lane'`,
  )
  return read?.blocks ?? 0
}

test('a claim reads past deliveries that are over once, not each time', async () => {
  await using room = await startDeliveryRoom()
  const { id } = await room.endpoint('http://127.0.0.1:9/hook')
  await room.query(`alter table delivery.queue set (autovacuum_enabled = false)`)
  // What this connection reads is told at once: a second later it would count for a claim.
  await room.query(
    `with filled as (
       insert into delivery.queue (event_id, destination_id, run_at, dispatched_at)
       select gen_random_uuid(), $1, kernel.now() - interval '1 hour', kernel.now() from generate_series(1, 20000))
     select pg_stat_force_next_flush()`,
    [id],
  )
  await room.query('delete from delivery.queue')
  const read: number[] = []
  for (let each = 0; each < 3; each += 1) {
    await room.happen()
    await dispatchStore.dispatchDue(room.workDb, 1)
    const before = await blocksOf(room)
    const found = await claim(room)
    assert.equal(found.length, 1)
    read.push((await blocksOf(room)) - before)
    await settleStore.settle(room.workDb, found.map(over), [])
  }
  const [first = 0, ...others] = read
  assert.ok(first >= 80, `the first claim read ${first} blocks of 20,000 entries`)
  for (const blocks of others) assert.ok(blocks <= 20, `a later claim read ${blocks} blocks`)
})

/** How a delivery comes into a lane, or to another place in it; each gets one that has ended, and one in hand. */
const ways: Readonly<
  Record<string, (room: DeliveryRoom, ended: ClaimedRow, held: ClaimedRow, now: Date) => Promise<unknown>>
> = {
  async 'a dispatch'(room) {
    await room.happen()
    await dispatchStore.dispatchDue(room.workDb, 1)
  },
  async 'a dispatch that hands it over to a worker, which dies'(room) {
    await room.happen()
    assert.equal((await dispatchStore.dispatchDue(room.workDb, 1, handed)).handed.count, 1)
    assert.equal(await handStore.takeOver(room.workDb), 0)
  },
  async 'a dispatch of one by one'(room) {
    await room.happen()
    await dispatchStore.dispatchClaimed(room.workDb, await dispatchStore.claim(room.workDb, 1, 1_000))
  },
  async 'a dispatch that hands it over to a worker, which gives it back'(room) {
    await room.happen()
    const { handed: given } = await dispatchStore.dispatchDue(room.workDb, 1, handed)
    await handStore.giveBack(room.workDb, (await handStore.read(room.workDb, given)).deliveries, [])
  },
  'a resend': (room, { event_id, destination_id }) =>
    room.workDb.tx((tx) => resendStore.resend(tx, event_id, [destination_id])),
  'a recovery': (room, { event_id, destination_id }) =>
    recoverStore.queue(room.workDb, destination_id, [event_id], [1]),
  'a retry': (room, _, held, now) => settleStore.settle(room.workDb, [waiting(held, now)], []),
}

/** A lane that somebody has looked through: one delivery of it has ended, one is in hand, and its head is set. */
async function lookedThrough(room: DeliveryRoom) {
  await room.endpoint('http://127.0.0.1:9/hook')
  await room.happen(2)
  await dispatchStore.dispatchDue(room.workDb, 2)
  const [ended, held] = await claim(room)
  assert.ok(ended && held)
  await settleStore.settle(room.workDb, [over(ended)], [])
  await room.query('update delivery.lanes set look_at = kernel.now()')
  assert.deepEqual(await claim(room), [])
  const [lane] = await room.query<{ late: boolean }>(
    `select head_at > kernel.now() - interval '1 minute' as late from delivery.lanes`,
  )
  assert.equal(lane?.late, true)
  return { ended, held }
}

for (const [way, add] of Object.entries(ways)) {
  test(`a delivery is found that stands before all that a claim has seen, since the clock was set back: ${way}`, async () => {
    await using room = await startDeliveryRoom()
    const { ended, held } = await lookedThrough(room)
    await room.query(`
      create or replace function kernel.now() returns timestamptz language sql stable as $$
        select clock_timestamp() - interval '1 hour'
      $$`)
    await add(room, ended, held, new Date(Date.now() - 3_600_000))
    assert.equal((await claim(room)).length, 1)
  })
}

test('a delivery is found that a process of before adds: it lowers no head, and its statement began before the look', async () => {
  await using room = await startDeliveryRoom()
  const { ended } = await lookedThrough(room)
  await room.query(
    `with lane as (update delivery.lanes set version = version + 1, look_at = least(look_at, kernel.now() - interval '5 seconds'))
     insert into delivery.queue (event_id, destination_id, run_at, dispatched_at)
     values ($1, $2, kernel.now() - interval '5 seconds', kernel.now())`,
    [ended.event_id, ended.destination_id],
  )
  assert.equal((await claim(room)).length, 1)
})
