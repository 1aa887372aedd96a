import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, rowsOf, whileHeld } from '../../test/conformance/shop.ts'
import { paymentsRoom, processorThat } from '../../test/payments-room.ts'
import { until } from '../../test/until.ts'
import type { Db } from '../kernel/db.ts'
import type { Fault } from '../kernel/fault.ts'
import type { Intent } from './intent.ts'

// A cancel beside others that change the intent in the same moment.
const room = await paymentsRoom({ after })

test('a cancel between two codes of its intent waits for its turn and locks nobody out: each is one transaction, done once', async () => {
  const { db } = room.kaha
  let done = 0
  const counted: Db = {
    ...db,
    tx: (work) =>
      db.tx((tx) => {
        done += 1
        return work(tx)
      }),
  }
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 5 }), 201)
  const { id } = await room.intent({ payment_link_id: link.id })
  const payments = room.payments(processorThat(), counted)
  const intent = await room.read(id)
  const told = (ending: Promise<Intent>) =>
    ending.then(
      ({ shown }) => shown.status,
      ({ code }: Fault) => code,
    )
  const show = () => told(payments.codes.make(intent, null))
  const cancel = () => told(counted.tx((tx) => payments.cancelIntent(tx, id)))
  const waiting = () =>
    rowsOf(room, `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  const lock = { text: 'select from payments.intents where id = $1 for update', values: [id] }
  const later: Promise<string>[] = []
  const [first] = await whileHeld(room, lock, [show], async () => {
    for (const one of [cancel, show]) {
      later.push(one())
      await until('that it waits, too', async () => (await waiting()).length > later.length)
    }
  })
  assert.deepEqual([first, ...(await Promise.all(later))], ['REQUIRES_ACTION', 'CANCELLED', 'INTENT_INVALID_STATE'])
  assert.equal(done, 3)
  assert.deepEqual(
    await rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [link.id]),
    [{ reserved_count: 0, success_count: 0 }],
  )
})
