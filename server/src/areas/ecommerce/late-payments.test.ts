import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, hourMs, jump, rowsOf } from '../../../test/conformance/shop.ts'
import { approval, card, ownerOf, paymentsRoom, processorThat, runDue } from '../../../test/payments-room.ts'
import { until } from '../../../test/until.ts'
import type { Answer } from '../../payments/connectors/connector.ts'
import { ecommerceStore as store } from './store.ts'

// Payments that are still being processed when their link expires. No worker runs: each test says when somebody comes by.
const room = await paymentsRoom({ after })
const { db, clock } = room.kaha
const owner = ownerOf(room.kaha)

/** What the worker does with links whose time has passed. */
const sweepLinks = () =>
  db.tx(async (tx) => {
    for (const { id } of await store.expireLinks(tx, { rowsMax: 100 })) await owner.announceExpiry(tx, id)
  })

const linkNow = async (id: string) => bodyOf(await room.shop.retrieveLink(id), 200)
const storedState = async (id: string): Promise<string | undefined> => {
  const [row] = await rowsOf<{ state: string }>(room, 'select state from ecommerce.links where id = $1', [id])
  return row?.state
}
const expiriesTold = async (linkId: string): Promise<number> => {
  const rows = await rowsOf(
    room,
    `select from delivery.events where payment_link_id = $1 and payment_intent_id is null and type = 'payment.expired'`,
    [linkId],
  )
  return rows.length
}

/** A link and a payment of it that is answered two hours after the link's time; `sweep` comes by before the answer, or does not. */
async function payLate(answer: () => Answer, sweep: boolean) {
  const expires_at = new Date(clock.now().getTime() + hourMs).toISOString()
  const link = bodyOf(await room.shop.createLink({ expires_at }), 201)
  const { id } = await room.intent({ payment_link_id: link.id })
  const processor = processorThat({
    authorize: async () => {
      await jump(room, 3 * hourMs)
      if (sweep) await sweepLinks()
      // Nothing is told while the payment may still succeed.
      assert.equal(await expiriesTold(link.id), 0)
      return answer()
    },
  })
  const intent = await room.payments(processor).confirm(await room.read(id), card, null)
  return { link, intent }
}

for (const swept of [false, true]) {
  const when = swept ? 'after its expiry was stored' : 'before anybody stored its expiry'

  test(`C4.link-state.final: a payment that succeeds late, ${when}, counts and has its receipt, and the link stays EXPIRED`, async () => {
    const { link, intent } = await payLate(approval, swept)
    assert.equal(intent.shown.status, 'SUCCEEDED')
    assert.ok(intent.receipt)
    assert.equal(await storedState(link.id), swept ? 'EXPIRED' : 'ACTIVE')
    const told = await linkNow(link.id)
    assert.deepEqual([told.status, told.successful_payment_count], ['EXPIRED', 1])
    assert.ok(told.updated_at > link.expires_at, 'the payment has moved updated_at')

    await sweepLinks()
    assert.deepEqual(await linkNow(link.id), told)
    assert.equal(await storedState(link.id), 'EXPIRED')
    assert.equal(await expiriesTold(link.id), 0)
  })

  test(`C4.uses.released: a payment that is refused late, ${when}, gives its use back, and the expiry of the link is told once`, async () => {
    const { link, intent } = await payLate(() => ({ kind: 'declined', reason: 'generic' }), swept)
    assert.equal(intent.shown.status, 'EXPIRED')
    for (let round = 0; round < 2; round++) await sweepLinks()
    const told = await linkNow(link.id)
    assert.deepEqual([told.status, told.successful_payment_count, told.updated_at], ['EXPIRED', 0, link.expires_at])
    assert.equal(await expiriesTold(link.id), 1)
    const events = await rowsOf<{ type: string; of: string }>(
      room,
      `select type, case when payment_intent_id is null then 'link' else 'intent' end as of
         from delivery.events where payment_link_id = $1 order by id`,
      [link.id],
    )
    const ofLink = events.findIndex(({ of }) => of === 'link')
    const declined = events.findIndex(({ type }) => type === 'payment.declined')
    assert.ok(
      declined !== -1 && declined < ofLink,
      'the end of the link is told after that of the attempt that held it back',
    )
    const [uses] = await rowsOf(room, 'select reserved_count from ecommerce.links where id = $1', [link.id])
    assert.deepEqual(uses, { reserved_count: 0 })
  })
}

test('C4.uses.cap: settled twice, by two processes at once, a payment spends one use', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 3 }), 201)
  const { id } = await room.intent({ payment_link_id: link.id })
  const said = approval()
  await room
    .payments(processorThat({ authorize: async () => ({ kind: 'pending' }) }))
    .confirm(await room.read(id), card, null)
  await jump(room, 5_000)
  // Both have asked before either settles: the lease of the first ran out in between.
  const gate = Promise.withResolvers<void>()
  const first = processorThat({
    inquire: async () => {
      await gate.promise
      return said
    },
  })
  const second = processorThat({
    inquire: async () => {
      gate.resolve()
      return said
    },
  })
  const running = runDue(room.payments(first))
  await until('the first has asked', () => first.asked.length === 1)
  await room.leasesRunOut()
  await Promise.all([running, runDue(room.payments(second))])
  assert.deepEqual([first.asked, second.asked], [['inquire'], ['inquire']])
  const told = await linkNow(link.id)
  assert.deepEqual([told.status, told.successful_payment_count], ['ACTIVE', 1])
  assert.deepEqual(await room.events(id), ['payment.succeeded'])
})

test('C4.uses.released: a use that is given back twice is given back once', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 2 }), 201)
  const [attemptId, other] = [crypto.randomUUID(), crypto.randomUUID()]
  for (const one of [attemptId, other]) assert.ok(await store.takeUse(db, link.id, one, false))
  for (let round = 0; round < 2; round++) await store.releaseUse(db, attemptId)
  const uses = await rowsOf(room, 'select reserved_count from ecommerce.links where id = $1', [link.id])
  assert.deepEqual(uses, [{ reserved_count: 1 }])
})

test('C4.link.updated-at: a payment that waited for the link while that was changed does not turn updated_at back', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use' }), 201)
  const { id } = await room.intent({ payment_link_id: link.id })
  const silent = processorThat({ authorize: async () => ({ kind: 'pending' }) })
  const { latestAttempt } = await room.payments(silent).confirm(await room.read(id), card, null)
  const at = clock.now()
  await jump(room, 1_000)
  const { updated_at } = bodyOf(await room.shop.updateLink(link.id, { description: 'Changed meanwhile' }), 200)

  const attemptId = latestAttempt?.id ?? ''
  await db.tx((tx) => owner.settle(tx, { attemptId, succeeded: true, at }))
  const told = await linkNow(link.id)
  assert.deepEqual([told.successful_payment_count, told.updated_at], [1, updated_at])
})

test('while the processor takes its time over a question, other intents expire at their time and are told of', async () => {
  const { id: silent } = await room.intent()
  await room
    .payments(processorThat({ authorize: async () => ({ kind: 'pending' }) }))
    .confirm(await room.read(silent), card, null)
  const expires_at = new Date(clock.now().getTime() + hourMs / 2).toISOString()
  const { id } = await room.intent({ expires_at })
  await jump(room, hourMs)
  const { promise: answer, resolve: answerNow } = Promise.withResolvers<Answer>()
  const processor = processorThat({ inquire: () => answer })
  const payments = room.payments(processor)
  const asking = payments.reconcile()
  await until('the processor has been asked', () => processor.asked.length > 0)

  assert.ok((await payments.sweep()) > 0)
  assert.deepEqual(await room.events(id), ['payment.expired'])
  assert.deepEqual(await room.events(silent), [])
  answerNow(approval())
  await asking
  assert.deepEqual(await room.events(silent), ['payment.succeeded'])
})
