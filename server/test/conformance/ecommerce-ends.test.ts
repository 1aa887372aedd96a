import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cards, platform, type Platform } from '../platform.ts'
import { bodyOf, hourMs, jump, refusal, rowsOf, shop, withoutWorker, type Shop } from './shop.ts'

// Deadlines and ends: what an intent is when a time has passed or its link has ended, before and after somebody has stored it.
const silentThenFailed = '4000000000006728'

const newIntent = async (fields: object = {}, of: Shop) => bodyOf(await of.createIntent(fields), 201)
const read = async (id: string, of: Shop) => bodyOf(await of.retrieveIntent(id), 200)
const attemptOf = async (on: Platform, intentId: string) => {
  const [row] = await rowsOf<{ state: string; intent_state: string }>(
    on,
    `select a.state, i.state as intent_state from payments.intents i left join payments.attempts a on a.id = i.latest_attempt_id
      where i.id = $1`,
    [intentId],
  )
  return row
}
test('C4.machine.requires-action.abandoned: a challenge that nobody takes for 15 minutes is declined then, whether or not somebody has come by', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const [left, used] = [await newIntent({}, own), await newIntent({}, own)]
  const { next_action: _, ...waiting } = bodyOf(await own.confirm(left.id, cards.challenge), 200)
  bodyOf(await own.confirm(used.id, cards.challenge), 200)
  await jump(one, 14 * 60_000)
  assert.deepEqual(await read(left.id, own), waiting)
  assert.equal(refusal(await own.confirm(used.id)), '409 INVALID_STATE')

  await jump(one, 60_000)

  const declined = await read(left.id, own)
  assert.deepEqual([declined.status, declined.failure_category], ['DECLINED', 'VERIFICATION_REJECTED'])
  assert.equal(Date.parse(declined.updated_at) - Date.parse(waiting.updated_at), 15 * 60_000)
  assert.equal((await attemptOf(one, left.id))?.state, 'REQUIRES_ACTION', 'the control: a sweeper has come by')
  // Another card pays, though the challenge still stands in the way as a row.
  assert.equal(bodyOf(await own.confirm(used.id), 200).status, 'SUCCEEDED')

  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.deepEqual(await read(left.id, own), declined)
  assert.equal((await attemptOf(one, left.id))?.state, 'DECLINED')
})

test('[C4.machine.processing.ends, C4.machine.processing.ended-approved, C4.projection.succeeded] an intent that expires while it is being paid stays PROCESSING, and an approval is a success', async (t) => {
  const one = await platform(t, { choices: withoutWorker.choices })
  const own = shop(one)
  for (const withLink of [false, true]) {
    const link = bodyOf(await own.createLink(), 201)
    const fields = withLink ? { payment_link_id: link.id } : {}
    const expires_at = new Date(one.kaha.clock.now().getTime() + 10_000).toISOString()
    const { id } = await newIntent({ ...fields, expires_at }, own)
    const processing = bodyOf(await own.confirm(id, cards.slow), 202)
    await one.advance(12)
    assert.deepEqual(await read(id, own), processing)
    assert.deepEqual(await attemptOf(one, id), { state: 'PROCESSING', intent_state: 'EXPIRED' })

    await one.advance(12)
    const paid = await read(id, own)
    assert.equal(paid.status, 'SUCCEEDED')
    assert.ok(paid.receipt.completed_at > expires_at)
    assert.equal((await attemptOf(one, id))?.intent_state, 'EXPIRED')
    await one.advance(48 * 3_600)
    assert.deepEqual(await read(id, own), paid)
    assert.equal(bodyOf(await own.retrieveLink(link.id), 200).successful_payment_count, withLink ? 1 : 0)
  }
})

test('C4.machine.processing.ended-refused: an intent that expired while it was being paid is EXPIRED once that payment is refused, and each thing is told once', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id } = await newIntent({}, own)
  bodyOf(await own.confirm(id, silentThenFailed), 202)
  await jump(one, 25 * hourMs)
  assert.equal((await read(id, own)).status, 'PROCESSING')

  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()

  const ended = await read(id, own)
  assert.equal(ended.status, 'EXPIRED')
  assert.ok(!('failure_category' in ended))
  assert.deepEqual(await attemptOf(one, id), { state: 'FAILED', intent_state: 'EXPIRED' })
  const events = await Array.fromAsync(one.sdk.webhooks.listAllEvents({ branch_id: one.branch.id }))
  assert.deepEqual(events.map(({ type }) => type).toSorted(), ['payment.expired', 'payment.failed'])
})

test('[C4.machine.waiting.expires, C4.projection.ended, C4.projection.abandoned] open or waiting for a challenge, an intent whose time passes is EXPIRED, and the challenge is abandoned', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const expires_at = new Date(one.kaha.clock.now().getTime() + 10 * 60_000).toISOString()
  const ids: string[] = []
  for (const card of [undefined, cards.declined, cards.error, cards.challenge]) {
    const { id } = await newIntent({ expires_at }, own)
    if (card !== undefined) bodyOf(await own.confirm(id, card), 200)
    ids.push(id)
  }
  await jump(one, 10 * 60_000)
  const unswept = await Promise.all(ids.map((id) => read(id, own)))
  for (const intent of unswept) {
    assert.deepEqual([intent.status, intent.updated_at], ['EXPIRED', expires_at])
    assert.ok(!('failure_category' in intent))
  }
  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.deepEqual(await Promise.all(ids.map((id) => read(id, own))), unswept)
  assert.deepEqual(await attemptOf(one, ids[3] ?? ''), { state: 'ABANDONED', intent_state: 'EXPIRED' })
  assert.deepEqual(await attemptOf(one, ids[1] ?? ''), { state: 'DECLINED', intent_state: 'EXPIRED' })
  // The time of the challenge passes as well, and changes nothing any more.
  await one.advance(3_600)
  assert.deepEqual(await read(ids[3] ?? '', own), unswept[3])
})

test('C4.machine.waiting.expires: where a challenge was over before the intent expired, it was declined first, and each is told once', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const [early, late] = await Promise.all(
    [10, 20].map(async (minutes) => {
      const expires_at = new Date(one.kaha.clock.now().getTime() + minutes * 60_000).toISOString()
      const { id } = await newIntent({ expires_at }, own)
      bodyOf(await own.confirm(id, cards.challenge), 200)
      return { id, expires_at }
    }),
  )
  assert.ok(early && late)
  // Nobody came by for an hour, so both times pass at once.
  await jump(one, hourMs)
  const unswept = await Promise.all([early, late].map(({ id }) => read(id, own)))
  assert.deepEqual(
    unswept.map(({ status, updated_at }) => [status, updated_at]),
    [early, late].map(({ expires_at }) => ['EXPIRED', expires_at]),
  )
  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.deepEqual(await Promise.all([early, late].map(({ id }) => read(id, own))), unswept)
  assert.deepEqual(await attemptOf(one, early.id), { state: 'ABANDONED', intent_state: 'EXPIRED' })
  assert.deepEqual(await attemptOf(one, late.id), { state: 'DECLINED', intent_state: 'EXPIRED' })
  const events = await Array.fromAsync(one.sdk.webhooks.listAllEvents({ branch_id: one.branch.id }))
  const told = events.map(({ type, payment_intent_id: of }) => `${of === early.id ? 'early' : 'late'} ${type}`)
  assert.deepEqual(told.toSorted(), ['early payment.expired', 'late payment.declined', 'late payment.expired'])
})

test('[C4.machine.waiting.link-consumed, C4.projection.ended] when the last use of a link is paid, its other intents are CONSUMED, and an open challenge is abandoned', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const link = bodyOf(await own.createLink(), 201)
  const of = { payment_link_id: link.id }
  const others: string[] = []
  for (const card of [undefined, cards.declined, cards.error, cards.ineligible, cards.challenge]) {
    const { id } = await newIntent(of, own)
    if (card !== undefined) bodyOf(await own.confirm(id, card), 200)
    others.push(id)
  }
  const winner = await newIntent(of, own)
  const apart = await newIntent({}, own)
  const before = one.kaha.clock.now().toISOString()
  bodyOf(await own.confirm(winner.id), 200)

  for (const id of others) {
    const intent = await read(id, own)
    assert.equal(intent.status, 'CONSUMED')
    assert.ok(intent.updated_at >= before && !('failure_category' in intent))
    assert.match(intent.user_message, /already been used/)
  }
  assert.deepEqual(await attemptOf(one, others[4] ?? ''), { state: 'ABANDONED', intent_state: 'CONSUMED' })
  assert.equal((await read(winner.id, own)).status, 'SUCCEEDED')
  assert.equal((await read(apart.id, own)).status, 'ACTIVE')
  // Their time passes as well, and changes nothing any more.
  const settled = await Promise.all(others.map((id) => read(id, own)))
  await one.another({ KAHA_ROLES: 'worker' })
  await one.advance(25 * 3_600)
  assert.deepEqual(await Promise.all(others.map((id) => read(id, own))), settled)
})

test('C4.machine.waiting.link-consumed: an intent that had expired before stays EXPIRED, though nothing had stored it yet', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const link = bodyOf(await own.createLink(), 201)
  const expires_at = new Date(one.kaha.clock.now().getTime() + hourMs).toISOString()
  const short = await newIntent({ payment_link_id: link.id, expires_at }, own)
  await jump(one, 2 * hourMs)
  const expired = await read(short.id, own)
  assert.deepEqual([expired.status, expired.updated_at], ['EXPIRED', expires_at])
  bodyOf(await own.confirm((await newIntent({ payment_link_id: link.id }, own)).id), 200)
  assert.deepEqual(await read(short.id, own), expired)
  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.deepEqual(await read(short.id, own), expired)
})

test('C4.machine.waiting.link-expired: the intents of a link that expires are EXPIRED with it', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const expires_at = new Date(one.kaha.clock.now().getTime() + hourMs).toISOString()
  const link = bodyOf(await own.createLink({ expires_at }), 201)
  const ids: string[] = []
  for (const card of [undefined, cards.declined, cards.challenge]) {
    const { id } = await newIntent({ payment_link_id: link.id }, own)
    if (card === cards.challenge) await jump(one, hourMs - 60_000)
    if (card !== undefined) bodyOf(await own.confirm(id, card), 200)
    ids.push(id)
  }
  await jump(one, 60_000)
  for (const id of ids) {
    const intent = await read(id, own)
    assert.deepEqual([intent.status, intent.updated_at], ['EXPIRED', expires_at])
    assert.equal(refusal(await own.confirm(id)), '409 INVALID_STATE')
  }
  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.equal((await attemptOf(one, ids[2] ?? ''))?.state, 'ABANDONED')
  // A link tells of its end once; its intents do not tell as well.
  const events = await Array.fromAsync(
    one.sdk.webhooks.listAllEvents({ branch_id: one.branch.id, type: 'payment.expired' }),
  )
  assert.deepEqual(
    events.map(({ payment_link_id, payment_intent_id }) => [payment_link_id, payment_intent_id ?? null]),
    [[link.id, null]],
  )
})
