import assert from 'node:assert/strict'
import { startPayer } from './conformance/code-payer.ts'
import { bodyOf, refusal, rowsOf } from './conformance/shop.ts'
import type { Ground } from './ecommerce-ground.ts'
import { codeOf, confirmOf, endCode, makeAttempt, shownIntent, type IntentModel } from './ecommerce-model.ts'

interface ShownCode {
  readonly intent: IntentModel
  readonly attemptId: string
  readonly page: string
  readonly text: string
}

const outcomes = ['SUCCESS', 'SUCCESS', 'SUCCESS', 'DECLINED', 'EXPIRED'] as const

/** The moves of payers who choose QR Ph, and of their banks. */
export interface CodeMoves {
  /** A payer asks for a code, once or by a double click. */
  showOne(): Promise<string>
  /** A bank answers a code, in time or late, once or twice; or its payer gives it up. */
  answerOne(): Promise<string>
  /** Banks, the payer and the merchant at the same moment: one of them is first. */
  answerTogether(): Promise<string>
}

export function codeMoves(ground: Ground): CodeMoves {
  const { p, merchant, world, random, below, one, recent, now, check } = ground
  const payer = startPayer(p)
  const codes: ShownCode[] = []

  const isLatest = (code: ShownCode): boolean => codes.findLast(({ intent }) => intent === code.intent) === code
  const waits = (code: ShownCode): boolean =>
    isLatest(code) && code.intent.latest?.code === true && shownIntent(code.intent, now()).status === 'REQUIRES_ACTION'
  const told = (intent: IntentModel) => check([intent], intent.link === null ? [] : [intent.link])
  const unmatched = async (): Promise<number> => {
    const [row] = await rowsOf<{ count: number }>(p, 'select count(*)::integer as count from qr.unmatched_payments')
    return row?.count ?? 0
  }

  const showOne = async (): Promise<string> => {
    const intent = one(recent(world.intents))
    const at = now()
    const expected = confirmOf(world, intent, 'approved', at)
    const form = await payer.get(intent.page)
    const before = intent.attempts
    const clicks = await Promise.all(Array.from({ length: 1 + below(2) }, () => payer.askCode(intent.page, form)))
    if (typeof expected === 'string') {
      // Its page has no form to ask by, and one that is posted all the same makes nothing.
      for (const { status } of clicks) assert.match(String(status), /^(303|403)$/)
      await told(intent)
      return `no code: ${expected}`
    }
    for (const { status } of clicks) assert.equal(status, 303)
    makeAttempt(world, intent, codeOf(intent, at), at)
    const { payment_attempt_id: attemptId } = bodyOf(await merchant.retrieveIntent(intent.id), 200)
    const [row] = await rowsOf<{ code_text: string; number: number }>(
      p,
      'select code_text, number from payments.attempts where id = $1',
      [attemptId],
    )
    assert.ok(row)
    assert.equal(row.number, before + 1, 'one code for one form')
    codes.push({ intent, attemptId, page: intent.page, text: row.code_text })
    await told(intent)
    return 'code'
  }

  const answerOne = async (): Promise<string> => {
    if (codes.length === 0) return showOne()
    const waiting = codes.filter(waits)
    const code = random() < 0.8 && waiting.length > 0 ? one(recent(waiting)) : one(recent(codes))
    const due = waits(code)
    if (random() < 0.2) {
      await payer.giveUp(code.page)
      const latest = codes.findLast(({ intent }) => intent === code.intent)
      if (latest !== undefined && waits(latest)) endCode(world, code.intent, 'given up', now())
      await told(code.intent)
      return `code given up ${due ? 'in time' : 'late'}`
    }
    const outcome = one(outcomes)
    const taken = await unmatched()
    const answer = await payer.answer(code.text, outcome)
    assert.equal(refusal(answer).startsWith(due ? '200' : '422 CODE_FINAL'), true, `${outcome}: ${answer.text}`)
    if (due) endCode(world, code.intent, outcome, now())
    assert.equal(await unmatched(), taken + (!due && outcome === 'SUCCESS' ? 1 : 0))
    await told(code.intent)
    return `code ${due ? 'in time' : 'late'}: ${outcome}`
  }

  const answerTogether = async (): Promise<string> => {
    const waiting = codes.filter(waits)
    if (waiting.length === 0) return showOne()
    const { intent, text, page } = one(recent(waiting))
    const form = await payer.get(page)
    const taken = await unmatched()
    const banks = Array.from({ length: 1 + below(3) }, () => one(outcomes))
    const [answers] = await Promise.all([
      Promise.all(banks.map((outcome) => payer.answer(text, outcome))),
      random() < 0.6 ? payer.giveUp(page, form) : null,
      random() < 0.2 ? merchant.cancelIntent(intent.id) : null,
    ])
    const first = answers.findIndex(({ status }) => status === 200)
    for (const [index, answer] of answers.entries())
      if (index !== first) assert.match(refusal(answer), /^422 CODE_FINAL/)
    const late = banks.filter((outcome, index) => index !== first && outcome === 'SUCCESS').length
    assert.equal(await unmatched(), taken + late, 'each success that came too late is recorded')
    const outcome = first === -1 ? 'given up' : (banks[first] ?? 'given up')
    endCode(world, intent, outcome, now())
    // The merchant may have been first, or come after an outcome that left the intent open.
    const { status } = bodyOf(await merchant.retrieveIntent(intent.id), 200)
    if (status === 'CANCELLED' && outcome !== 'SUCCESS') intent.ended = 'CANCELLED'
    await told(intent)
    return `${banks.join('+')} together: ${status}`
  }

  return { showOne, answerOne, answerTogether }
}
