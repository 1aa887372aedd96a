import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, hourMs, jump, rowsOf, whileHeld } from '../../test/conformance/shop.ts'
import { aChallenge, approval, card, never, paymentsRoom, processorThat, runDue } from '../../test/payments-room.ts'
import { until } from '../../test/until.ts'
import type { Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import type { Outcome } from './connectors/connector.ts'
import { simulatorStore } from './connectors/simulator-store.ts'
import { simulator } from './connectors/simulator.ts'

// One room for all: a test leaves no payment behind that another one's processes would have to look after.
const room = await paymentsRoom({ after })
const soon = (minutes: number): string => new Date(room.kaha.clock.now().getTime() + minutes * 60_000).toISOString()

const ends: readonly (readonly [
  says: string,
  outcome: () => Outcome,
  shown: string,
  events: string[],
  spent: number,
])[] = [
  ['authorized it', approval, 'SUCCEEDED', ['payment.succeeded'], 1],
  ['refused it', () => ({ kind: 'declined', reason: 'generic' }), 'DECLINED', ['payment.declined'], 0],
  ['failed', () => ({ kind: 'failed', category: 'PROCESSOR_UNAVAILABLE' }), 'FAILED', ['payment.failed'], 0],
  ['never heard of it', () => ({ kind: 'none' }), 'FAILED', ['payment.failed'], 0],
]

for (const [says, outcome, shown, events, spent] of ends) {
  test(`a payment whose process died before it could settle is settled by another when its lease has run out: the processor ${says}`, async () => {
    const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 2 }), 201)
    const { id } = await room.intent({ payment_link_id: link.id })
    const dying = room.payments(processorThat({ authorize: never }))
    void dying.confirm(await room.read(id), card, null)
    await until('the attempt has been started', async () => (await room.attempts(id)).length === 1)

    // The control: as long as the lease lasts, its owner may still answer, and nobody asks.
    const processor = processorThat({ inquire: async () => outcome() })
    const other = room.payments(processor)
    await runDue(other)
    assert.deepEqual(processor.asked, [])
    assert.equal((await room.read(id)).shown.status, 'PROCESSING')

    await room.leasesRunOut()
    await runDue(other)
    assert.deepEqual(processor.asked, ['inquire'])
    assert.equal((await room.read(id)).shown.status, shown)
    await runDue(other)
    assert.deepEqual(processor.asked, ['inquire'])
    assert.deepEqual(await room.events(id), events)
    const [uses] = await rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [
      link.id,
    ])
    assert.deepEqual(uses, { reserved_count: 0, success_count: spent })
  })
}

test('while the processor does not know, or cannot be asked, a payment stays as it is and is asked about again later', async () => {
  const { id } = await room.intent()
  await room
    .payments(processorThat({ authorize: async () => ({ kind: 'pending' }) }))
    .confirm(await room.read(id), card, null)
  const answers: (() => Promise<Outcome>)[] = [
    async () => ({ kind: 'pending' }),
    async () => {
      throw new Error('connection refused')
    },
    async () => ({ kind: 'pending' }),
    async () => approval(),
  ]
  const processor = processorThat({ inquire: () => (answers.shift() ?? never)() })
  const payments = room.payments(processor)
  for (let asked = 1; asked <= 4; asked++) {
    assert.equal((await room.read(id)).shown.status, 'PROCESSING')
    // Not asked again before its time.
    const waitMs = await runDue(payments)
    assert.equal(processor.asked.length, asked - 1)
    assert.ok(waitMs > 0)
    await jump(room, 5_000)
    await runDue(payments)
    assert.equal(processor.asked.length, asked)
  }
  assert.equal((await room.read(id)).shown.status, 'SUCCEEDED')
  assert.deepEqual(await room.events(id), ['payment.succeeded'])
})

test('an old payment without an answer is asked about ever more rarely, and at least every five minutes', async () => {
  const { id } = await room.intent()
  await room
    .payments(processorThat({ authorize: async () => ({ kind: 'pending' }) }))
    .confirm(await room.read(id), card, null)
  const processor = processorThat({ inquire: async () => ({ kind: 'pending' }) })
  const payments = room.payments(processor)
  const waits: number[] = []
  for (const ageMs of [0, 60_000, hourMs, 10 * hourMs]) {
    await jump(room, ageMs + 2_000)
    await runDue(payments)
    const [row] = await rowsOf<{ ms: number }>(
      room,
      `select (extract(epoch from run_at - kernel.now()) * 1000)::float8 as ms from payments.attempts where intent_id = $1`,
      [id],
    )
    waits.push(row?.ms ?? 0)
  }
  assert.deepEqual(
    waits,
    waits.toSorted((a, b) => a - b),
  )
  assert.ok((waits.at(-1) ?? 0) <= 300_000 && (waits[0] ?? 0) <= 1_000)
})

test('two processes that look after payments at once ask about each of them once', async () => {
  const silent = room.payments(processorThat({ authorize: async () => ({ kind: 'pending' }) }))
  const ids = await Promise.all(Array.from({ length: 8 }, async () => (await room.intent()).id))
  for (const id of ids) await silent.confirm(await room.read(id), card, null)
  await jump(room, 2_000)
  const asked: string[] = []
  const inquire = async (attemptId: string): Promise<Outcome> => {
    asked.push(attemptId)
    await until('everything has been asked about', () => asked.length >= ids.length)
    return approval()
  }
  await Promise.all([1, 2, 3].map(() => runDue(room.payments(processorThat({ inquire })))))
  assert.equal(asked.length, ids.length)
  assert.equal(new Set(asked).size, ids.length)
  for (const id of ids) assert.deepEqual(await room.events(id), ['payment.succeeded'])
})

test('an answer that comes after another process has settled the payment changes nothing', async () => {
  const { id } = await room.intent()
  const said = approval()
  const { promise: answer, resolve: answerNow } = Promise.withResolvers<typeof said>()
  const slow = room.payments(processorThat({ authorize: () => answer }))
  const confirmed = slow.confirm(await room.read(id), card, null)
  await until('the attempt has been started', async () => (await room.attempts(id)).length === 1)
  await room.leasesRunOut()
  await runDue(room.payments(processorThat({ inquire: async () => said })))
  const settled = await room.read(id)
  assert.equal(settled.shown.status, 'SUCCEEDED')

  answerNow(said)
  const { readAt: _late, ...late } = await confirmed
  const { readAt: _settled, ...before } = settled
  assert.deepEqual(late, before)
  assert.deepEqual(await room.events(id), ['payment.succeeded'])
})

test('an authorization and an inquiry that race each other agree, whoever reaches the processor first: no charge that nobody knows of', async (t) => {
  const { db, clock } = room.kaha
  const processor = simulator({ clock, store: simulatorStore({ db }), challengeUrlOf: (token) => token })
  const seen = new Set<string>()
  for (let round = 0; round < 24; round++) {
    const { id } = await room.intent()
    const gate = Promise.withResolvers<void>()
    const caller = room.payments({
      ...processor,
      authorize: async (payment) => {
        await gate.promise
        // The caller is early in one round and late in another.
        for (let turn = 0; turn < round % 8; turn++) await new Promise(setImmediate)
        return processor.authorize({ ...payment, signal: new AbortController().signal })
      },
    })
    const confirmed = caller.confirm(await room.read(id), card, null)
    await until('the attempt has been started', async () => (await room.attempts(id)).length === 1)
    await room.leasesRunOut()
    const reconciler = room.payments({
      ...processor,
      inquire: async (attemptId) => {
        gate.resolve()
        for (let turn = 0; turn < 8 - (round % 8); turn++) await new Promise(setImmediate)
        return processor.inquire(attemptId)
      },
    })
    await Promise.all([confirmed, runDue(reconciler)])

    const [attempt] = await room.attempts(id)
    const [authorization] = await rowsOf<{ outcome: string }>(
      room,
      'select outcome from sandbox.authorizations where attempt_id = $1',
      [attempt?.id],
    )
    const said = `${authorization?.outcome} ${attempt?.state}`
    assert.ok(['approved SUCCEEDED', 'none FAILED'].includes(said), said)
    assert.equal((await room.events(id)).length, 1)
    seen.add(said)
  }
  t.diagnostic([...seen].join(', '))
})

for (const [outcome, shown, events] of [
  [{ kind: 'declined', reason: 'generic' }, 'EXPIRED', ['payment.declined', 'payment.expired']],
  [{ kind: 'failed', category: 'PAYMENT_PROCESSING_ERROR' }, 'EXPIRED', ['payment.expired', 'payment.failed']],
  [approval(), 'SUCCEEDED', ['payment.succeeded']],
] as const) {
  for (const swept of [true, false]) {
    test(`an intent whose time passes during its payment, ${swept ? 'and is stored' : 'before anybody stores it'}: ${outcome.kind} makes it ${shown}, and each thing is told once`, async () => {
      const sweeper = room.payments(processorThat({ inquire: async () => ({ kind: 'pending' }) }))
      const { id } = await room.intent({ expires_at: soon(1) })
      const payments = room.payments(
        processorThat({
          authorize: async () => {
            await jump(room, hourMs)
            if (swept) await runDue(sweeper)
            return outcome
          },
        }),
      )
      const { shown: told } = await payments.confirm(await room.read(id), card, null)
      assert.equal(told.status, shown)
      for (let round = 0; round < 3; round++) await runDue(sweeper)
      assert.equal((await room.read(id)).shown.status, shown)
      assert.deepEqual((await room.events(id)).toSorted(), events.toSorted())
    })
  }
}

test('C4.machine.requires-action.abandoned: a challenge that was left alone is declined at its time, first thing when another card is tried', async () => {
  const { id } = await room.intent()
  await room.payments(processorThat({ verify: async () => aChallenge })).confirm(await room.read(id), card, null)
  const [challenge] = await room.attempts(id)
  assert.equal(challenge?.state, 'REQUIRES_ACTION')
  const payments = room.payments(processorThat())
  await jump(room, 14 * 60_000)
  await assert.rejects(payments.confirm(await room.read(id), card, null), { code: 'INTENT_INVALID_STATE' })

  await jump(room, 2 * 60_000)
  const paid = await payments.confirm(await room.read(id), card, null)
  assert.equal(paid.shown.status, 'SUCCEEDED')
  const attempts = await room.attempts(id)
  assert.deepEqual(
    attempts.map(({ state }) => state),
    ['DECLINED', 'SUCCEEDED'],
  )
  assert.equal((attempts[0]?.state_at.getTime() ?? 0) - (challenge.state_at.getTime() ?? 0), 15 * 60_000)
  assert.deepEqual((await room.events(id)).toSorted(), ['payment.declined', 'payment.succeeded'])
  await runDue(payments)
  assert.equal((await room.events(id)).length, 2)
})

test('of two cards tried at once on an intent with a challenge left alone, one is taken and the challenge is declined once', async () => {
  const { id } = await room.intent()
  await room.payments(processorThat({ verify: async () => aChallenge })).confirm(await room.read(id), card, null)
  await jump(room, 16 * 60_000)
  const payments = room.payments(processorThat())
  const tried = await Promise.allSettled(
    Array.from({ length: 4 }, async () => payments.confirm(await room.read(id), card, null)),
  )
  await runDue(payments)
  assert.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.deepEqual((await room.events(id)).toSorted(), ['payment.declined', 'payment.succeeded'])
})

test('a challenge that begins while the last use of its link is being paid is abandoned with its intent', async () => {
  const link = bodyOf(await room.shop.createLink(), 201)
  const [winner, late] = [
    await room.intent({ payment_link_id: link.id }),
    await room.intent({ payment_link_id: link.id }),
  ]
  const hold = { text: 'select from payments.intents where id = $1 for update', values: [late.id] }
  const pay = async () => room.payments(processorThat()).confirm(await room.read(winner.id), card, null)
  // The payment has to wait for the late intent, which has got its challenge in a transaction that commits first.
  await whileHeld(room, hold, [pay], async (_backends, holder) => {
    await holder.query(
      `with attempt as (
         insert into payments.attempts (id, intent_id, number, state, card_last_four, card_fingerprint, challenge_expires_at, created_at, state_at)
         values (gen_random_uuid(), $1, 1, 'REQUIRES_ACTION', '0000', '', kernel.now() + interval '15 minutes', kernel.now(), kernel.now())
         returning id)
       update payments.intents set latest_attempt_id = attempt.id, attempt_count = 1 from attempt where intents.id = $1`,
      [late.id],
    )
  })
  assert.equal((await room.read(winner.id)).shown.status, 'SUCCEEDED')
  assert.equal((await room.read(late.id)).shown.status, 'CONSUMED')
  assert.deepEqual(
    (await room.attempts(late.id)).map(({ state }) => state),
    ['ABANDONED'],
  )
})

test('C4.confirm.order: eligibility comes before verification, and the processor is reached after both', async () => {
  const both = processorThat({ eligibility: () => 'ineligible', verify: async () => ({ kind: 'refused' }) })
  const { id } = await room.intent()
  const first = await room.payments(both).confirm(await room.read(id), card, null)
  assert.deepEqual([first.shown.failureCategory, both.asked], ['CARD_NOT_ELIGIBLE', ['eligibility']])
  for (const [kind, category] of [
    ['refused', 'VERIFICATION_REJECTED'],
    ['unavailable', 'VERIFICATION_UNAVAILABLE'],
    ['challenge', undefined],
  ] as const) {
    const processor = processorThat({ verify: async () => (kind === 'challenge' ? aChallenge : { kind }) })
    const { shown } = await room.payments(processor).confirm(await room.read(id), card, null)
    assert.equal(shown.failureCategory, category)
    assert.deepEqual(processor.asked, ['eligibility', 'verify'])
  }
  const refusedCard = processorThat()
  const other = await room.intent()
  await assert.rejects(room.payments(refusedCard).confirm(other, { ...card, number: '4242424242424241' }, null), {
    code: 'INVALID_CARD',
  })
  assert.deepEqual(refusedCard.asked, [])
})

test('a verification service that breaks off counts as down, and the card is not charged', async () => {
  const { id } = await room.intent()
  const processor = processorThat({
    verify: async () => {
      throw new Error('connection reset')
    },
  })
  const { shown } = await room.payments(processor).confirm(await room.read(id), card, null)
  assert.deepEqual([shown.status, shown.failureCategory], ['FAILED', 'VERIFICATION_UNAVAILABLE'])
  assert.ok(!processor.asked.includes('authorize'))
})

test('the processor is called in no transaction: while it thinks, others write to the same rows', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use' }), 201)
  const { id } = await room.intent({ payment_link_id: link.id })
  const payments = room.payments(
    processorThat({
      authorize: async () => {
        const [open] = await rowsOf<{ count: number }>(
          room,
          `select count(*)::int as count from pg_stat_activity
            where datname = current_database() and state = 'idle in transaction'`,
        )
        assert.equal(open?.count, 0)
        await rowsOf(room, 'select from payments.intents where id = $1 for update nowait', [id])
        await rowsOf(room, 'select from ecommerce.links where id = $1 for update nowait', [link.id])
        return approval()
      },
    }),
  )
  assert.equal((await payments.confirm(await room.read(id), card, null)).shown.status, 'SUCCEEDED')
})

test('a settlement whose commit was answered by nobody is done again, and counts once', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 5 }), 201)
  let lost = 0
  const { db } = room.kaha
  const lossy: Db = {
    run: (query, values) => db.run(query, values),
    stats: () => db.stats(),
    [Symbol.asyncDispose]: async () => {},
    async tx(work) {
      const result = await db.tx(work)
      // The transaction that starts an attempt is committed; of the one that settles it the answer is lost, once.
      lost += 1
      if (lost === 2) throw new Fault('UNAVAILABLE', 'The database is away for a moment. Try again.')
      return result
    },
  }
  const { id } = await room.intent({ payment_link_id: link.id })
  const paid = await room.payments(processorThat(), lossy).confirm(await room.read(id), card, null)
  assert.equal(lost, 3)
  assert.equal(paid.shown.status, 'SUCCEEDED')
  assert.deepEqual(await room.events(id), ['payment.succeeded'])
  const [uses] = await rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [
    link.id,
  ])
  assert.deepEqual(uses, { reserved_count: 0, success_count: 1 })
})

test('a payment that finds its intent open and gets hold of it only after its time is refused, not charged', async () => {
  const { id } = await room.intent({ expires_at: soon(1) })
  const open = await room.read(id)
  const processor = processorThat()
  const confirm = () =>
    room
      .payments(processor)
      .confirm(open, card, null)
      .then(
        () => 'paid',
        (error: unknown) => (error instanceof Fault ? error.code : error),
      )
  const hold = { text: 'select from payments.intents where id = $1 for update', values: [id] }
  const [said] = await whileHeld(room, hold, [confirm], () => jump(room, hourMs))
  assert.equal(said, 'INTENT_INVALID_STATE')
  assert.equal((await room.read(id)).shown.status, 'EXPIRED')
  assert.deepEqual([await room.attempts(id), processor.asked], [[], ['eligibility', 'verify']])
})

test('a payer who confirms twice at once is told that the payment is being processed, not that others use the link up', async () => {
  const link = bodyOf(await room.shop.createLink(), 201)
  const [intent, other] = [
    await room.intent({ payment_link_id: link.id }),
    await room.intent({ payment_link_id: link.id }),
  ]
  const payments = room.payments(processorThat({ authorize: async () => ({ kind: 'pending' }) }))
  await payments.confirm(intent, card, null)
  // Both read the intent before either had begun.
  await assert.rejects(payments.confirm(intent, card, null), { code: 'INTENT_PROCESSING' })
  await assert.rejects(payments.codes.make(intent, null), { code: 'INTENT_PROCESSING' })
  await assert.rejects(payments.confirm(other, card, null), { code: 'LINK_FULLY_RESERVED' })
  await jump(room, 5_000)
  await runDue(payments)
})
