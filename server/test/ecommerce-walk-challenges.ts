import assert from 'node:assert/strict'
import type { Answer } from './conformance/call.ts'
import { bodyOf, refusal } from './conformance/shop.ts'
import type { Ground } from './ecommerce-ground.ts'
import {
  challengeAnswers,
  confirmOf,
  countSuccess,
  endChallenge,
  freeOf,
  linkStatus,
  makeAttempt,
  numberOf,
  shownIntent,
  type ChallengeAnswer,
  type IntentModel,
  type LinkModel,
} from './ecommerce-model.ts'

interface Challenge {
  readonly intent: IntentModel
  readonly attemptId: string
  /** The page of the bank. */
  readonly url: string
  /** The first answer counts, whoever comes back with it and whenever. */
  said: ChallengeAnswer | null
}

/** The moves of payers whose bank wants to know who they are. */
export interface ChallengeMoves {
  /** Remembers where the payer is sent, if the answer to a confirm says so. */
  note(intent: IntentModel, answer: Answer): void
  /** A payer answers the bank, once or again, and comes back, once or more often, or not at all. */
  answerOne(): Promise<string>
  /** Many payers of one link come back from their banks at the same moment, while others pay without. */
  comeBackTogether(): Promise<string>
}

export function challengeMoves(ground: Ground): ChallengeMoves {
  const { merchant, world, random, below, one, recent, now, check } = ground
  const challenges: Challenge[] = []

  const note = (intent: IntentModel, { status, json }: Answer): void => {
    if (status !== 200 || json.next_action === undefined) return
    challenges.push({ intent, attemptId: json.payment_attempt_id, url: json.next_action.url, said: null })
  }

  const say = async (challenge: Challenge, answer: ChallengeAnswer): Promise<void> => {
    const body = new URLSearchParams({ result: answer })
    const { status } = await fetch(challenge.url, { method: 'POST', body, redirect: 'manual' })
    assert.equal(status, 303)
    challenge.said ??= answer
  }
  const comeBack = async ({ intent, attemptId }: Challenge): Promise<void> => {
    const { status } = await fetch(`${intent.page}/challenge/${attemptId}`, { redirect: 'manual' })
    assert.equal(status, 303)
  }
  /** The one that its intent's latest attempt waits for; a result for an earlier one changes nothing. */
  const isLatest = ({ intent, attemptId }: Challenge): boolean =>
    challenges.findLast((other) => other.intent === intent)?.attemptId === attemptId
  const waits = (challenge: Challenge): boolean =>
    isLatest(challenge) &&
    challenge.intent.latest?.code !== true &&
    shownIntent(challenge.intent, now()).status === 'REQUIRES_ACTION'

  const answerOne = async (): Promise<string> => {
    const waiting = challenges.filter(waits)
    // Mostly one that somebody waits for; now and then a late or a second answer.
    const challenge = random() < 0.8 && waiting.length > 0 ? one(waiting) : one(recent(challenges))
    const said = random() < 0.6 ? 'passed' : one(challengeAnswers)
    if (random() < 0.95) await say(challenge, said)
    if (random() < 0.15) return `challenge: ${said}, and never back`
    const due = waits(challenge)
    await Promise.all(Array.from({ length: 1 + below(3) }, () => comeBack(challenge)))
    if (due && challenge.said !== null) endChallenge(world, challenge.intent, challenge.said, now())
    const { intent } = challenge
    await check([intent], intent.link === null ? [] : [intent.link])
    return `challenge ${due ? 'in time' : 'late'}: ${challenge.said}, ${shownIntent(intent, now()).status}`
  }

  /** Payers of a link whose banks say yes, each with the bank's page before them. */
  const challenged = async (link: LinkModel): Promise<Challenge[]> => {
    for (let payers = 2 + below(4); payers > 0; payers--) {
      const at = now()
      const { id, checkout_url: page } = bodyOf(await merchant.createIntent({ payment_link_id: link.id }), 201)
      const expiresAt = Math.min(at + dayMs, link.expiresAt)
      const intent: IntentModel = { id, page, link, expiresAt, attempts: 0, latest: null, ended: null, refunds: [] }
      const expected = confirmOf(world, intent, 'challenge', at)
      assert.ok(typeof expected !== 'string')
      makeAttempt(world, intent, expected, at)
      note(intent, await merchant.confirm(id, numberOf.challenge))
      world.intents.push(intent)
    }
    return challenges
      .filter((challenge) => challenge.intent.link === link && waits(challenge))
      .filter(({ intent, said }) => intent.latest?.endsAs === 'SUCCEEDED' && (said ?? 'passed') === 'passed')
      .slice(-8)
  }

  const comeBackTogether = async (): Promise<string> => {
    const open = recent(world.links).filter(
      (link) => linkStatus(link, now()) === 'ACTIVE' && freeOf(world, link, now()) > 0,
    )
    if (open.length === 0) return 'nobody to come back'
    const link = one(open)
    const together = await challenged(link)
    for (const challenge of together) await say(challenge, 'passed')
    const mayPay = (intent: IntentModel) => typeof confirmOf(world, intent, 'approved', now()) !== 'string'
    const payers = world.intents.filter((intent) => intent.link === link && mayPay(intent)).slice(0, below(3))
    const free = freeOf(world, link, now())
    const [answers] = await Promise.all([
      Promise.all(payers.map(({ id }) => merchant.confirm(id, numberOf.approved))),
      ...together.flatMap((challenge) => Array.from({ length: 1 + below(2) }, () => comeBack(challenge))),
    ])
    return adopt(link, free, together, payers, answers)
  }

  /** Who was first is for the platform to say; that no use too many was taken, and none was lost, is for the model. */
  const adopt = async (
    link: LinkModel,
    free: number,
    together: readonly Challenge[],
    payers: readonly IntentModel[],
    answers: readonly Answer[],
  ): Promise<string> => {
    const came = together.map(({ intent }) => intent)
    const shown = await Promise.all(came.map(async ({ id }) => bodyOf(await merchant.retrieveIntent(id), 200).status))
    for (const [i, intent] of came.entries()) {
      assert.match(shown[i], /^(SUCCEEDED|ACTIVE|CONSUMED)$/)
      // No use was free, or the link was used up meanwhile.
      intent.latest = { state: shown[i] === 'SUCCEEDED' ? 'SUCCEEDED' : 'ABANDONED', category: null }
    }
    for (const [i, intent] of payers.entries()) {
      const answer = answers[i]
      assert.ok(answer)
      if (answer.status !== 200) assert.match(refusal(answer), /^409 (LINK_FULLY_RESERVED|INVALID_STATE)$/)
      else makePaid(intent)
    }
    const paid = [...came, ...payers].filter(({ latest }) => latest?.state === 'SUCCEEDED').length
    assert.equal(
      paid,
      Math.min(free, came.length + payers.length),
      `${shown.join()} beside ${answers.map(refusal).join()}`,
    )
    for (let left = paid; left > 0; left--) countSuccess(world, link, now())
    await check([...came, ...payers], [link])
    return `${came.length} back from their banks beside ${payers.length}: ${shown.join()}`
  }

  return {
    note,
    answerOne: () => (challenges.length === 0 ? comeBackTogether() : answerOne()),
    comeBackTogether,
  }
}

function makePaid(intent: IntentModel): void {
  intent.attempts += 1
  intent.latest = { state: 'SUCCEEDED', category: null }
}

const dayMs = 24 * 3_600_000
