import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { parseCard, type Card } from '../src/payments/card.ts'
import { eventOf } from '../src/payments/connectors/connector.ts'
import { simulator, testCards, type SimulatorStore } from '../src/payments/connectors/simulator.ts'
import { challengeResults, type ChallengeDesk } from '../src/payments/connectors/simulator-challenges.ts'
import { until } from './until.ts'

/** The simulated processor's memory, and what a test looks at in it. */
export interface WatchedStore {
  readonly store: SimulatorStore
  /** What the payer says on the page of a challenge. */
  readonly desk: ChallengeDesk
  /** Everything in it as text. */
  readonly contents: () => Promise<readonly string[]>
}

export function cardNumbered(number: string): Card {
  const cvc = /^3[47]/.test(number) ? '1234' : '123'
  const card = parseCard({ number, exp_month: 12, exp_year: 2040, cvc }, new Date('2030-01-01'))
  assert.ok(!('refusal' in card))
  return card
}

const challengeUrlOf = (token: string) => `https://issuer.example/${token}`

/** A processor with a clock of its own, and calls to it. */
export function processorOn(store: SimulatorStore) {
  const time = { now: Date.UTC(2030, 0, 1) }
  const clock = { now: () => new Date(time.now) }
  const start = () => simulator({ clock, store, challengeUrlOf })
  const processor = start()
  const payment = (number: string, attemptId: string = randomUUID(), signal = new AbortController().signal) => ({
    attemptId,
    card: cardNumbered(number),
    amount: 10_000n,
    currency: 'PHP',
    returnUrl: `https://platform.example/${attemptId}`,
    payee: 'A shop',
    signal,
  })
  return {
    processor,
    clock,
    payment,
    restarted: start,
    advance: (ms: number) => (time.now += ms),
    /** A call that is given up on: resolves to whether it had answered. */
    async abandoned(number: string, attemptId: string) {
      const deadline = new AbortController()
      const call = processor.authorize(payment(number, attemptId, deadline.signal)).then(
        () => 'answered',
        (error: unknown) => error,
      )
      await until('the processor has the call', async () => (await store.find(attemptId)) !== undefined)
      const reason = new Error('deadline')
      deadline.abort(reason)
      return (await call) === reason ? 'silent' : 'answered'
    },
  }
}

/** Calls and inquiries on two attempts, whose reads and writes of the processor's memory are interleaved in any order. */
export function agrees(store: () => SimulatorStore) {
  const numbers = ['4242424242424242', '4000000000000002', '4000000000000119', '4000000000000259']
  const call = fc.record({ kind: fc.constantFrom('authorize', 'inquire', 'wait'), attempt: fc.nat(1) })
  const calls = fc.array(call, { maxLength: 12 })
  return fc.asyncProperty(calls, fc.constantFrom(...numbers), fc.scheduler(), async (made, number, scheduler) => {
    const { find, record, refunds, challenges } = store()
    const { clock, advance, payment } = processorOn({ find, record, refunds, challenges })
    const processor = simulator({
      clock,
      store: {
        find: scheduler.scheduleFunction(find),
        record: scheduler.scheduleFunction(record),
        refunds,
        challenges,
      },
      challengeUrlOf,
    })
    const ids = [randomUUID(), randomUUID()] as const
    const said = new Map<string, Set<string>>()
    const running = made.map(async ({ kind, attempt }) => {
      if (kind === 'wait') return void advance(5_000)
      const id = ids[attempt === 0 ? 0 : 1]
      const outcome = kind === 'inquire' ? await processor.inquire(id) : await processor.authorize(payment(number, id))
      if (outcome.kind !== 'pending') said.set(id, (said.get(id) ?? new Set()).add(eventOf(outcome)))
    })
    await scheduler.waitFor(Promise.all(running))
    for (const events of said.values()) assert.equal(events.size, 1, `it was told ${[...events].join(' and ')}`)
  })
}

/** What the simulated processor promises, on any memory that it may have. */
export function simulatorSuite(where: string, open: () => WatchedStore, { numRuns }: { numRuns: number }): void {
  const sandbox = () => {
    const watched = open()
    return { ...processorOn(watched.store), ...watched }
  }

  test(`${where}: the same attempt asked for again, after a restart too, is the same payment; another attempt is another`, async () => {
    const { processor, payment, restarted, advance } = sandbox()
    const id = randomUUID()
    const first = await processor.authorize(payment('4242424242424242', id))
    advance(60_000)
    assert.deepEqual(await processor.authorize(payment('4242424242424242', id)), first)
    assert.deepEqual(await restarted().authorize(payment('4242424242424242', id)), first)
    assert.deepEqual(await restarted().inquire(id), first)
    assert.notDeepEqual(await processor.authorize(payment('4242424242424242')), first)
  })

  test(`${where}: every kind of decision is remembered whole, and told again as it was`, async () => {
    const { processor, payment, restarted, advance } = sandbox()
    for (const number of testCards.keys()) {
      // A call that is never answered is shown below.
      if (['4000000000004954', '4000000000006728'].includes(number)) continue
      const id = randomUUID()
      const first = await processor.authorize(payment(number, id))
      if (first.kind === 'pending') advance(20_000)
      const told = await restarted().inquire(id)
      if (first.kind !== 'pending') assert.deepEqual(told, first)
      assert.deepEqual(await processor.authorize(payment(number, id)), told)
    }
  })

  test(`${where}: a slow card is pending until 20 seconds of the clock have passed, and then was approved at that moment`, async () => {
    const { processor, payment, advance } = sandbox()
    const id = randomUUID()
    assert.deepEqual(await processor.authorize(payment('4000000000000259', id)), { kind: 'pending' })
    advance(19_999)
    assert.deepEqual(await processor.inquire(id), { kind: 'pending' })
    assert.deepEqual(await processor.authorize(payment('4000000000000259', id)), { kind: 'pending' })
    advance(1)
    const outcome = await processor.inquire(id)
    assert.ok(outcome.kind === 'approved')
    assert.deepEqual(outcome.completedAt, new Date('2030-01-01T00:00:20Z'))
  })

  test(`${where}: a card without an answer keeps the call waiting until its deadline, and an inquiry tells what happened`, async () => {
    const { processor, abandoned } = sandbox()
    const [yes, no, control] = [randomUUID(), randomUUID(), randomUUID()]
    assert.equal(await abandoned('4000000000004954', yes), 'silent')
    assert.equal((await processor.inquire(yes)).kind, 'approved')
    assert.equal(await abandoned('4000000000006728', no), 'silent')
    assert.deepEqual(await processor.inquire(no), { kind: 'failed', category: 'PAYMENT_PROCESSING_ERROR' })
    assert.equal(await abandoned('4242424242424242', control), 'answered')
  })

  test(`${where}: a call whose deadline has passed already does nothing`, async () => {
    const { processor, payment, store } = sandbox()
    const id = randomUUID()
    const gone = AbortSignal.abort(new Error('deadline'))
    await assert.rejects(processor.authorize(payment('4242424242424242', id, gone)), /deadline/)
    await assert.rejects(processor.verify(payment('4242424242424242', id, gone)), /deadline/)
    await assert.rejects(processor.inquire(id, gone), /deadline/)
    assert.equal(await store.find(id), undefined)
  })

  test(`${where}: an attempt that the processor says it does not know is never charged by a call that comes late`, async () => {
    const { processor, payment, restarted } = sandbox()
    const id = randomUUID()
    assert.deepEqual(await processor.inquire(id), { kind: 'none' })
    const late = await processor.authorize(payment('4242424242424242', id))
    assert.deepEqual(late, { kind: 'failed', category: 'PAYMENT_PROCESSING_ERROR' })
    assert.deepEqual(await restarted().inquire(id), { kind: 'none' })
    assert.equal(eventOf({ kind: 'none' }), eventOf(late))
  })

  test(`${where}: of many calls and inquiries at once one decides, and all are told the same`, async () => {
    const { processor, payment } = sandbox()
    for (let round = 0; round < 10; round++) {
      const id = randomUUID()
      const calls = Array.from({ length: 12 }, (_, i) =>
        (i + round) % 2 === 0 ? processor.inquire(id) : processor.authorize(payment('4242424242424242', id)),
      )
      const told = new Set((await Promise.all(calls)).map((outcome) => eventOf(outcome)))
      assert.equal(told.size, 1, [...told].join())
    }
  })

  test(`${where}: in whatever order calls and inquiries reach the processor, what it has once said stays true`, async (t) => {
    const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)
    t.diagnostic(`seed ${seed}`)
    await fc.assert(
      agrees(() => open().store),
      { seed, numRuns },
    )
  })

  test(`${where}: a challenge has one page, which the payer answers once, and what is authorized afterwards is decided by that answer`, async () => {
    const { processor, payment, restarted, desk } = sandbox()
    const ways = [
      ['4000002500003155', 'passed', 'approved'],
      ['4000000000003220', 'passed', 'approved'],
      ['4000008400001629', 'passed', 'declined'],
      ['4000002500003155', 'refused', 'declined'],
      ['4000002500003155', 'unavailable', 'declined'],
      ['4000002500003155', null, 'declined'],
    ] as const
    for (const [number, result, outcome] of ways) {
      const id = randomUUID()
      assert.deepEqual(await processor.challenge(id), { kind: 'none' })
      const needed = await processor.verify(payment(number, id))
      assert.ok(needed.kind === 'challenge')
      assert.deepEqual(await restarted().verify(payment(number, id)), needed)
      assert.deepEqual(await restarted().challenge(id), { kind: 'open', url: needed.url })
      const token = needed.url.split('/').at(-1) ?? ''
      assert.match(token, /^[\w-]{22}$/)
      assert.equal((await desk.findByToken(token))?.returnUrl, `https://platform.example/${id}`)
      if (result !== null) {
        assert.equal(await desk.answer(token, result), true)
        for (const late of challengeResults) assert.equal(await desk.answer(token, late), false)
        assert.deepEqual(await restarted().challenge(id), { kind: result })
      }
      const { signal } = new AbortController()
      const answer = await processor.authorizeVerified({ attemptId: id, signal })
      assert.equal(answer.kind, outcome, `${number} ${result}`)
      assert.deepEqual(await restarted().authorizeVerified({ attemptId: id, signal }), answer)
      assert.deepEqual(await processor.inquire(id), answer)
    }
    const { signal } = new AbortController()
    assert.equal((await processor.authorizeVerified({ attemptId: randomUUID(), signal })).kind, 'declined')
    assert.equal(await desk.findByToken('AAAAAAAAAAAAAAAAAAAAAA'), undefined)
  })

  test(`${where}: a challenge that was passed authorizes nothing where the processor has said that it knows of no payment`, async () => {
    const { processor, payment, desk } = sandbox()
    const id = randomUUID()
    const needed = await processor.verify(payment('4000002500003155', id))
    assert.ok(needed.kind === 'challenge')
    await desk.answer(needed.url.split('/').at(-1) ?? '', 'passed')
    assert.deepEqual(await processor.inquire(id), { kind: 'none' })
    const { signal } = new AbortController()
    assert.equal(eventOf(await processor.authorizeVerified({ attemptId: id, signal })), 'processor_error')
    await assert.rejects(
      processor.authorizeVerified({ attemptId: id, signal: AbortSignal.abort(new Error('deadline')) }),
    )
    await assert.rejects(processor.challenge(id, AbortSignal.abort(new Error('deadline'))), /deadline/)
  })

  test(`${where}: the processor remembers nothing of a card`, async () => {
    const { processor, payment, contents } = sandbox()
    const numbers = [...testCards.keys()].filter((one) => !['4000000000004954', '4000000000006728'].includes(one))
    for (const number of numbers) {
      await processor.verify(payment(number))
      await processor.authorize(payment(number))
    }
    const remembered = await contents()
    assert.ok(remembered.length >= numbers.length)
    for (const line of remembered)
      for (const number of testCards.keys()) assert.ok(!line.includes(number) && !line.includes(number.slice(0, 12)))
  })
}
