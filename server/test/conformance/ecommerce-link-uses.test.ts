import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform, type Platform } from '../platform.ts'
import { bodyOf, hourMs, jump, refusal, rowsOf, shop, lockOf, whileHeld, withoutWorker } from './shop.ts'

// How payments use a link up, and how a link ends. No worker runs unless a test starts one: what was stored stays as it is.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const silentThenFailed = '4000000000006728'

const intentOf = async (linkId: string, of = merchant): Promise<string> =>
  bodyOf(await of.createIntent({ payment_link_id: linkId }), 201).id
const linkNow = async (id: string, of = merchant) => bodyOf(await of.retrieveLink(id), 200)
const statusOf = async (intentId: string, of = merchant): Promise<string> =>
  bodyOf(await of.retrieveIntent(intentId), 200).status

interface Uses {
  readonly state: string
  readonly reserved: number
  readonly spent: number
}

/** What is stored of a link, and that its counters say the same as its uses one by one. */
async function usesOf(on: Platform, linkId: string): Promise<Uses> {
  const [row] = await rowsOf<Uses & { reserved_rows: number; spent_rows: number }>(
    on,
    `select l.state, l.reserved_count as reserved, l.success_count as spent,
            count(u.*) filter (where u.state = 'RESERVED')::int as reserved_rows,
            count(u.*) filter (where u.state = 'SPENT')::int as spent_rows
       from ecommerce.links l left join ecommerce.link_uses u on u.link_id = l.id where l.id = $1 group by l.id`,
    [linkId],
  )
  assert.ok(row)
  assert.deepEqual([row.reserved_rows, row.spent_rows], [row.reserved, row.spent])
  return { state: row.state, reserved: row.reserved, spent: row.spent }
}

test('[C4.link-state.consumed-one-time, C4.link.successful-payment-count, C4.link.updated-at] the first success uses a one_time link up, and the link says when', async () => {
  const { id, updated_at: made } = bodyOf(await merchant.createLink(), 201)
  const intent = await intentOf(id)
  await jump(p, 60_000)
  bodyOf(await merchant.confirm(intent, cards.declined), 200)
  const declined = await linkNow(id)
  assert.deepEqual([declined.status, declined.successful_payment_count], ['ACTIVE', 0])

  await jump(p, 60_000)
  const paid = bodyOf(await merchant.confirm(intent), 200)
  assert.equal(paid.status, 'SUCCEEDED')
  const link = await linkNow(id)
  assert.deepEqual([link.status, link.successful_payment_count], ['CONSUMED', 1])
  assert.ok(link.updated_at > made && link.updated_at >= paid.receipt.completed_at)
  assert.ok(new Date(link.updated_at) <= p.kaha.clock.now())
})

test('[C4.link-state.consumed-multi-use, C4.link.updated-at] max_uses successes use a multi_use link up, and each of them moves updated_at', async () => {
  const { id, updated_at: made } = bodyOf(await merchant.createLink({ type: 'multi_use', max_uses: 3 }), 201)
  let before = made
  for (const [status, count] of [
    ['ACTIVE', 1],
    ['ACTIVE', 2],
    ['CONSUMED', 3],
  ]) {
    await jump(p, 1_000)
    bodyOf(await merchant.confirm(await intentOf(id)), 200)
    const link = await linkNow(id)
    assert.deepEqual([link.status, link.successful_payment_count], [status, count])
    assert.ok(link.updated_at > before)
    before = link.updated_at
  }
  assert.equal(refusal(await merchant.createIntent({ payment_link_id: id })), '422 INVALID_STATE')
})

test('[C4.link-state.expired, C4.link-state.expired-updated-at] a link is EXPIRED in every read from its expires_at on, with updated_at equal to it, though nothing has stored it', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const made = bodyOf(
    await own.createLink({ expires_at: new Date(one.kaha.clock.now().getTime() + hourMs).toISOString() }),
    201,
  )
  await jump(one, hourMs - 60_000)
  assert.deepEqual(await linkNow(made.id, own), made)

  await jump(one, 60_000)

  const expired = { ...made, status: 'EXPIRED', updated_at: made.expires_at }
  assert.deepEqual(await linkNow(made.id, own), expired)
  assert.deepEqual(bodyOf(await own.listLinks(), 200).data, [expired])
  assert.equal(refusal(await own.createIntent({ payment_link_id: made.id })), '422 INVALID_STATE')
  assert.equal((await usesOf(one, made.id)).state, 'ACTIVE', 'the control: a sweeper has come by')

  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.equal((await usesOf(one, made.id)).state, 'EXPIRED')
  assert.deepEqual(await linkNow(made.id, own), expired)
})

test('C4.link-state.final: a link that was used up or cancelled stays so when its time passes, swept or not', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const consumed: string = bodyOf(await own.createLink(), 201).id
  bodyOf(await own.confirm(await intentOf(consumed, own)), 200)
  const cancelled: string = bodyOf(await own.createLink(), 201).id
  bodyOf(await own.cancelLink(cancelled), 200)
  const before = [await linkNow(consumed, own), await linkNow(cancelled, own)]
  assert.deepEqual(
    before.map(({ status }) => status),
    ['CONSUMED', 'CANCELLED'],
  )

  await jump(one, 25 * hourMs)
  assert.deepEqual([await linkNow(consumed, own), await linkNow(cancelled, own)], before)
  await one.another({ KAHA_ROLES: 'worker' })
  await one.idle()
  assert.deepEqual([await linkNow(consumed, own), await linkNow(cancelled, own)], before)
})

for (const swept of [false, true]) {
  test(`C4.link-state.final: a payment that succeeds after its link has expired counts, and the link stays EXPIRED, ${swept ? 'stored as such' : 'stored or not'}`, async (t) => {
    const one = await platform(t, withoutWorker)
    const own = shop(one)
    const { id } = bodyOf(await own.createLink(), 201)
    const intent = await intentOf(id, own)
    assert.equal(bodyOf(await own.confirm(intent, cards.noAnswer), 202).status, 'PROCESSING')
    await jump(one, 25 * hourMs)
    if (swept)
      await rowsOf(one, `update ecommerce.links set state = 'EXPIRED', updated_at = expires_at where id = $1`, [id])

    // The processor is asked by a process that looks after payments first and after links at the same time: either order must do.
    await one.another({ KAHA_ROLES: 'worker' })
    await one.idle()

    const paid = bodyOf(await own.retrieveIntent(intent), 200)
    assert.equal(paid.status, 'SUCCEEDED')
    const link = await linkNow(id, own)
    assert.deepEqual([link.status, link.successful_payment_count], ['EXPIRED', 1])
    assert.ok(link.updated_at >= link.expires_at)
    assert.deepEqual(await usesOf(one, id), { state: 'EXPIRED', reserved: 0, spent: 1 })
  })
}

test('[C4.uses.reserved, C4.confirm.link-full] while an attempt is being processed its use is taken: the next payer is told so and no attempt is made', async () => {
  const { id } = bodyOf(await merchant.createLink({ type: 'multi_use', max_uses: 2 }), 201)
  const [first, second, third] = [await intentOf(id), await intentOf(id), await intentOf(id)]
  assert.equal(bodyOf(await merchant.confirm(first, cards.noAnswer), 202).status, 'PROCESSING')
  assert.deepEqual(await usesOf(p, id), { state: 'ACTIVE', reserved: 1, spent: 0 })
  bodyOf(await merchant.confirm(second), 200)
  assert.deepEqual(await usesOf(p, id), { state: 'ACTIVE', reserved: 1, spent: 1 })

  const before = bodyOf(await merchant.retrieveIntent(third), 200)
  for (const card of [cards.approved, cards.declined, cards.ineligible, cards.challenge])
    assert.equal(refusal(await merchant.confirm(third, card)), '409 LINK_FULLY_RESERVED')
  assert.deepEqual(bodyOf(await merchant.retrieveIntent(third), 200), before)
  assert.equal(before.status, 'ACTIVE')
  assert.ok(!('payment_attempt_id' in before))
  const link = await linkNow(id)
  assert.deepEqual([link.status, link.successful_payment_count], ['ACTIVE', 1])
})

test('C4.uses.reserved: an attempt that waits for a challenge has taken no use', async () => {
  const { id } = bodyOf(await merchant.createLink(), 201)
  const waiting = await intentOf(id)
  assert.equal(bodyOf(await merchant.confirm(waiting, cards.challenge), 200).status, 'REQUIRES_ACTION')
  assert.deepEqual(await usesOf(p, id), { state: 'ACTIVE', reserved: 0, spent: 0 })
  assert.equal(bodyOf(await merchant.confirm(await intentOf(id)), 200).status, 'SUCCEEDED')
  assert.equal(await statusOf(waiting), 'CONSUMED')
})

for (const [name, card] of Object.entries({
  declined: cards.declined,
  'cut off by the processor': cards.error,
  'refused by an unavailable processor': cards.unavailable,
  'refused before the processor': cards.ineligible,
})) {
  test(`C4.uses.released: a payment that is ${name} leaves its use to the next payer`, async () => {
    const { id } = bodyOf(await merchant.createLink(), 201)
    const first = await intentOf(id)
    assert.match(bodyOf(await merchant.confirm(first, card), 200).status, /^(DECLINED|FAILED)$/)
    assert.deepEqual(await usesOf(p, id), { state: 'ACTIVE', reserved: 0, spent: 0 })
    assert.equal(bodyOf(await merchant.confirm(await intentOf(id)), 200).status, 'SUCCEEDED')
    assert.deepEqual(await usesOf(p, id), { state: 'CONSUMED', reserved: 0, spent: 1 })
  })
}

test('C4.uses.released: a payment that stayed unanswered keeps its use until the processor says that it failed', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  const { id } = bodyOf(await own.createLink(), 201)
  const [silent, next] = [await intentOf(id, own), await intentOf(id, own)]
  bodyOf(await own.confirm(silent, silentThenFailed), 202)
  assert.equal(refusal(await own.confirm(next)), '409 LINK_FULLY_RESERVED')

  await one.another({ KAHA_ROLES: 'worker' })
  await one.advance(10)

  assert.equal(await statusOf(silent, own), 'FAILED')
  assert.equal(bodyOf(await own.confirm(next), 200).status, 'SUCCEEDED')
  assert.deepEqual(await usesOf(one, id), { state: 'CONSUMED', reserved: 0, spent: 1 })
})

const payers = 24

test(`C4.uses.cap: of ${payers} payers at once, at two processes, exactly as many succeed as the link takes`, async (t) => {
  const one = await platform(t, withoutWorker)
  const second = await one.another(withoutWorker.settings)
  const desks = [shop(one), shop({ ...one, url: second.localUrl })] as const
  for (const [fields, cap] of [
    [{}, 1],
    [{ type: 'multi_use', max_uses: 3 }, 3],
    [{ type: 'multi_use', max_uses: payers + 1 }, payers],
  ] as const) {
    const { id } = bodyOf(await desks[0].createLink(fields), 201)
    const intents = await Promise.all(Array.from({ length: payers }, () => intentOf(id, desks[0])))
    const answers = await Promise.all(intents.map((intent, i) => desks[i % 2 === 0 ? 0 : 1].confirm(intent)))

    const told = answers.map((answer) => (answer.status === 200 ? answer.json.status : refusal(answer)))
    assert.equal(told.filter((said) => said === 'SUCCEEDED').length, cap)
    const others = new Set(told.filter((said) => said !== 'SUCCEEDED'))
    assert.ok(others.isSubsetOf(new Set(['409 LINK_FULLY_RESERVED', '409 INVALID_STATE'])), [...others].join())
    assert.deepEqual(await usesOf(one, id), { state: cap <= 3 ? 'CONSUMED' : 'ACTIVE', reserved: 0, spent: cap })
    assert.equal((await linkNow(id, desks[0])).successful_payment_count, cap)
    const shown = await Promise.all(intents.map((intent) => statusOf(intent, desks[1])))
    assert.equal(shown.filter((status) => status === 'SUCCEEDED').length, cap)
    assert.equal(shown.filter((status) => status === 'CONSUMED').length, cap <= 3 ? payers - cap : 0)
  }
})

test('C4.uses.cap: with cards of every kind at once the cap holds, and what is free in the end can be paid', async () => {
  const { id } = bodyOf(await merchant.createLink({ type: 'multi_use', max_uses: 4 }), 201)
  const kinds = [cards.declined, cards.approved, cards.error, cards.ineligible, cards.challenge, cards.approved]
  const intents = await Promise.all(Array.from({ length: payers }, () => intentOf(id)))
  await Promise.all(intents.map((intent, i) => merchant.confirm(intent, kinds[i % kinds.length])))
  let { reserved, spent } = await usesOf(p, id)
  assert.ok(reserved === 0 && spent <= 4)
  for (; spent < 4; spent++) assert.equal(bodyOf(await merchant.confirm(await intentOf(id)), 200).status, 'SUCCEEDED')
  assert.deepEqual(await usesOf(p, id), { state: 'CONSUMED', reserved: 0, spent: 4 })
})

test('the tests of the cap can fail: whoever reads first and counts afterwards exceeds it under the same load', async (t) => {
  const one = await platform(t, withoutWorker)
  const { id } = bodyOf(await shop(one).createLink({ type: 'multi_use', max_uses: 3 }), 201)
  // The table holds the cap as well; the control goes without it.
  await rowsOf(
    one,
    `do $$ declare held record; begin
       for held in select conname from pg_constraint where conrelid = 'ecommerce.links'::regclass and contype = 'c'
       loop execute format('alter table ecommerce.links drop constraint %I', held.conname); end loop;
     end $$`,
  )
  const pay = async () => {
    const [free] = await rowsOf<{ free: boolean }>(
      one,
      'select success_count < max_uses as free from ecommerce.links where id = $1',
      [id],
    )
    if (free?.free)
      await rowsOf(one, 'update ecommerce.links set success_count = success_count + 1 where id = $1', [id])
  }
  await Promise.all(Array.from({ length: payers }, pay))
  const [row] = await rowsOf<{ success_count: number }>(
    one,
    'select success_count from ecommerce.links where id = $1',
    [id],
  )
  assert.ok((row?.success_count ?? 0) > 3)
})

test('a link that ends while an intent of it is being made takes that intent with it, or refuses it', async () => {
  // The create is held back between its look at the link and its write, by a lock on a table that payments never touch.
  const { id } = bodyOf(await merchant.createLink(), 201)
  const intent = await intentOf(id)
  const [created] = await whileHeld(
    p,
    lockOf('ecommerce.idempotency'),
    [() => merchant.createIntent({ payment_link_id: id })],
    async () => {
      assert.equal(bodyOf(await merchant.confirm(intent), 200).status, 'SUCCEEDED')
    },
  )
  assert.equal(refusal(created), '422 INVALID_STATE')
  // The control: without a payment in between the same create goes through.
  const other = bodyOf(await merchant.createLink(), 201)
  const [again] = await whileHeld(
    p,
    lockOf('ecommerce.idempotency'),
    [() => merchant.createIntent({ payment_link_id: other.id })],
    async () => {},
  )
  assert.equal(bodyOf(again, 201).status, 'ACTIVE')
})
