import assert from 'node:assert/strict'
import type { Answer } from './conformance/call.ts'
import { bodyOf, refusal } from './conformance/shop.ts'
import type { Ground } from './ecommerce-ground.ts'
import {
  amountOfAll,
  leftOf,
  refundFor,
  refundOf,
  settleRefunds,
  type IntentModel,
  type RefundModel,
} from './ecommerce-model.ts'
import { newKey } from './platform.ts'

/** The moves of a merchant who gives money back. */
export interface RefundMoves {
  refundOne(): Promise<string>
  /** The same request again, with its key: it is the same refund. */
  repeatOne(): Promise<string>
  /** Many refunds of one payment at the same moment, perhaps while a worker asks about earlier ones. */
  refundTogether(): Promise<string>
  /** Compares refunds that a worker has just asked about. */
  checkAll(refunds: readonly RefundModel[]): Promise<void>
}

// By their last three digits: refused, made but unanswered, lost on the way, slow; all others are made at once.
const amounts = [
  1,
  500,
  5_000,
  991,
  992,
  1_992,
  993,
  2_993,
  994,
  3_994,
  amountOfAll,
  amountOfAll + 1,
  undefined,
] as const
const mayRefuse = /^422 (INVALID_STATE|AMOUNT_EXCEEDS_REMAINING amount remaining)$/
// A key is kept for 24 hours.
const repeatMsMax = 12 * 3_600_000

interface Request {
  readonly intent: IntentModel
  readonly amount: number | undefined
  readonly idempotencyKey: string
  readonly refund: RefundModel
  readonly at: number
}

export function refundMoves({
  merchant,
  world,
  random,
  below,
  one,
  recent,
  now,
  check,
  askAboutRefunds,
}: Ground): RefundMoves {
  const requests: Request[] = []

  const ask = (intent: IntentModel, amount: number | undefined, idempotencyKey: string): Promise<Answer> =>
    merchant.createRefund(intent.id, amount === undefined ? {} : { amount }, { idempotencyKey })
  const checkAll = async (refunds: readonly RefundModel[]): Promise<void> => {
    for (const { id, amount, state } of refunds) {
      const read = bodyOf(await merchant.retrieveRefund(id), 200)
      assert.deepEqual([read.amount, read.status], [amount, state], `refund ${id}`)
    }
  }
  /** Mostly of something that is paid. */
  const payment = (): IntentModel => {
    const paid = world.intents.filter((intent) => leftOf(intent) > 0)
    return random() < 0.9 && paid.length > 0 ? one(recent(paid)) : one(recent(world.intents))
  }

  const refundOne = async (): Promise<string> => {
    const intent = payment()
    const amount = one(amounts)
    const at = now()
    const expected = refundOf(intent, amount, at)
    const idempotencyKey = newKey()
    const answer = await ask(intent, amount, idempotencyKey)
    if (typeof expected === 'string') assert.equal(refusal(answer), expected, `refund of ${amount}`)
    else {
      const { id, amount: given, status } = bodyOf(answer, 201)
      assert.deepEqual([given, status], [expected.amount, expected.state])
      const refund = { id, ...expected }
      intent.refunds.push(refund)
      requests.push({ intent, amount, idempotencyKey, refund, at })
    }
    await check([intent], [])
    return `refund of ${amount ?? 'the rest'}: ${refusal(answer)}`
  }

  const repeatOne = async (): Promise<string> => {
    const young = requests.filter(({ at }) => at > now() - repeatMsMax)
    if (young.length === 0) return refundOne()
    const { intent, amount, idempotencyKey, refund } = one(recent(young))
    const answers = await Promise.all(Array.from({ length: 1 + below(3) }, () => ask(intent, amount, idempotencyKey)))
    for (const answer of answers) {
      if (answer.status === 409) assert.equal(refusal(answer), '409 IDEMPOTENCY_IN_PROGRESS')
      else assert.deepEqual([bodyOf(answer, 201).id, answer.json.status], [refund.id, refund.state])
    }
    return `refund again: ${refund.state}`
  }

  const refundTogether = async (): Promise<string> => {
    const intent = payment()
    const before = leftOf(intent)
    const amount = one([500, 700, 2_000, 992, 994, 4_901])
    const at = now()
    const asking = random() < 0.4
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 3 + below(5) }, () => ask(intent, amount, newKey()))),
      ...(asking ? [askAboutRefunds()] : []),
    ])
    await checkAll(asking ? settleRefunds(world, at) : [])
    const made = answers.filter(({ status }) => status === 201)
    for (const answer of answers) if (answer.status !== 201) assert.match(refusal(answer), mayRefuse)
    // What failed meanwhile was free for some of them, or came too late.
    const most = Math.floor(leftOf(intent) / amount)
    const least = Math.floor(before / amount)
    for (const { json } of made) intent.refunds.push({ id: json.id, ...refundFor(amount, at) })
    const count = made.length
    const fits = count >= Math.min(answers.length, least) && count <= Math.min(answers.length, most)
    assert.ok(fits, `${count} of ${amount} from ${before}`)
    await checkAll(intent.refunds)
    return `${answers.length} refunds of ${amount}, ${made.length} made`
  }

  return { refundOne, repeatOne, refundTogether, checkAll }
}
