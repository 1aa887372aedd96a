import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claim, startDeliveryRoom } from '../../test/delivery-room.ts'
import { createDb } from '../kernel/db.ts'
import { byIndex } from './store-plan.ts'

const lanes = 10
const perClaim = 4

// PostgreSQL makes the plan of a claim anew whenever it has counted the rows of a table, and may then join in another way.
const joins = {
  'as it likes': {},
  'by hashes': { enable_nestloop: 'off', enable_mergejoin: 'off' },
  'by merging': { enable_nestloop: 'off', enable_hashjoin: 'off' },
  'by loops': { enable_hashjoin: 'off', enable_mergejoin: 'off' },
}

for (const [how, settings] of Object.entries(joins)) {
  test(`lanes take turns when more is due than a claim takes, also where PostgreSQL joins ${how}`, async () => {
    await using room = await startDeliveryRoom()
    for (let lane = 0; lane < lanes; lane += 1) await room.endpoint(`http://127.0.0.1:9/${lane}`)
    await room.query(
      `insert into delivery.queue (event_id, destination_id, run_at, dispatched_at)
       select e.id, l.destination_id, kernel.now(), kernel.now() from delivery.lanes l cross join unnest($1::uuid[]) as e (id)`,
      [(await room.happen(100)).map(({ id }) => id)],
    )
    await room.query(`update delivery.lanes set look_at = kernel.now(), version = version + 1`)
    await using workDb = createDb({ target: room.target, settings: { ...byIndex, ...settings }, onError: () => {} })

    const counts = new Map<string, number>()
    for (let turn = 0; turn < 2 * lanes; turn += 1) {
      const taken = await claim({ ...room, workDb }, { rowsMax: perClaim, quickRoom: perClaim - 1 })
      assert.equal(taken.length, perClaim)
      for (const { destination_id } of taken) counts.set(destination_id, (counts.get(destination_id) ?? 0) + 1)
    }
    const each = [...counts.values()]
    assert.equal(each.length, lanes, `${lanes - each.length} lanes were left out of ${2 * lanes} claims`)
    const even = (2 * lanes * perClaim) / lanes
    assert.ok(Math.max(...each) <= even + perClaim && Math.min(...each) >= even - perClaim, each.join(' '))
  })
}
