import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, rowsOf } from '../../test/conformance/shop.ts'
import { card, paymentsRoom, processorThat, runDue } from '../../test/payments-room.ts'

// Links that end with more open intents than are ended while a payer waits. No worker runs.
const room = await paymentsRoom({ after })
const payments = room.payments(processorThat())

/** As many payers have opened the link, beside this one. */
async function crowd(linkId: string, count: number) {
  const one = await room.intent({ payment_link_id: linkId })
  await rowsOf(
    room,
    `insert into payments.intents (id, partner_id, merchant_id, branch_id, branch_name, link_id, amount, currency, metadata,
       checkout_token_hash, expires_at, created_at, state_at)
     select gen_random_uuid(), partner_id, merchant_id, branch_id, branch_name, link_id, amount, currency, metadata,
            uuid_send(gen_random_uuid()), expires_at, created_at, state_at from payments.intents, generate_series(1, $2) where id = $1`,
    [one.id, count],
  )
  return one
}
const statesOf = async (linkId: string) => {
  const rows = await rowsOf<{ state: string; count: number; ends: number }>(
    room,
    `select state, count(*)::int as count, count(distinct state_at)::int as ends from payments.intents
      where link_id = $1 and succeeded_at is null group by state order by state`,
    [linkId],
  )
  return rows.map(({ state, count, ends }) => [state, count, state === 'ACTIVE' ? 0 : ends])
}
const usesOf = (linkId: string) =>
  rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [linkId])

test('a payment that uses up a link is stored however many intents are open, and these end with it, some later, and can be paid no more', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'one_time' }), 201)
  const { id } = await crowd(link.id, 2_500)
  const other = await room.intent({ payment_link_id: link.id })
  const paid = await payments.confirm(await room.read(id), card, null)
  assert.equal(paid.shown.status, 'SUCCEEDED')
  assert.deepEqual(await usesOf(link.id), [{ reserved_count: 0, success_count: 1 }])
  assert.deepEqual(await statesOf(link.id), [
    ['ACTIVE', 1_501, 0],
    ['CONSUMED', 1_000, 1],
  ])

  await rowsOf(room, `update payments.intents set state = 'ACTIVE' where id = $1`, [other.id])
  const processor = processorThat()
  const late = room.payments(processor)
  for (const confirming of [late.confirm(other, card, null), late.codes.make(other, null)])
    await assert.rejects(confirming, { code: 'INTENT_INVALID_STATE' })
  assert.ok(!processor.asked.includes('authorize'))

  assert.equal(await payments.sweep(), 0)
  await runDue(payments)
  // In one moment, that of the link.
  assert.deepEqual(await statesOf(link.id), [['CONSUMED', 2_501, 1]])
  assert.ok((await payments.sweep()) > 0)
})

test('a link that is cancelled gives back the uses of codes that end with it later', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 5 }), 201)
  await crowd(link.id, 1_500)
  const shown = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const { id } = await room.intent({ payment_link_id: link.id })
      return payments.codes.make(await room.read(id), null)
    }),
  )
  assert.deepEqual(await usesOf(link.id), [{ reserved_count: 3, success_count: 0 }])
  bodyOf(await room.shop.cancelLink(link.id), 200)
  await runDue(payments)
  assert.deepEqual(await statesOf(link.id), [['CANCELLED', 1_504, 1]])
  assert.deepEqual(await usesOf(link.id), [{ reserved_count: 0, success_count: 0 }])
  for (const { id } of shown) assert.equal((await room.read(id)).shown.status, 'CANCELLED')
})
