import assert from 'node:assert/strict'
import type { Answer } from './conformance/call.ts'
import { bodyOf, jump, refusal } from './conformance/shop.ts'
import { audit } from './ecommerce-audit.ts'
import { groundOf } from './ecommerce-ground.ts'
import {
  cancelIntent,
  cancelLink,
  confirmOf,
  countSuccess,
  deadlinesOf,
  endLink,
  freeOf,
  kinds,
  linkStatus,
  makeAttempt,
  moneyOf,
  numberOf,
  settleRefunds,
  settleSilent,
  sweepCodes,
  updateLink,
  type IntentModel,
  type Kind,
  type LinkChange,
  type LinkModel,
  type World,
} from './ecommerce-model.ts'
import { challengeMoves } from './ecommerce-walk-challenges.ts'
import { codeMoves } from './ecommerce-walk-codes.ts'
import { refundMoves } from './ecommerce-walk-refunds.ts'
import type { Platform } from './platform.ts'

export interface Walk {
  /** One move of the walk; throws where the platform and the model differ. Resolves to what was done. */
  move(): Promise<string>
  /** How often something was done to the platform so far: each payer of a crowd counts. */
  readonly steps: number
  /** Compares everything there is with the model, and the tables with each other. */
  compareAll(): Promise<void>
  readonly world: World
}

const minuteMs = 60_000
// A move is over long before: what is still open when it begins is open when it ends.
const clearMs = 15_000

/**
 * A random walk over links, intents and refunds of one platform without a worker, beside the model of the same. The walk itself decides
 * when somebody comes by to sweep and to ask the processor, so that all that is shown before and after is known.
 */
export function startWalk(p: Platform, seed: number): Walk {
  const ground = groundOf(p, seed)
  const { merchant, world, random, below, one, recent, now, check } = ground
  const challenges = challengeMoves(ground)
  const codes = codeMoves(ground)
  const refunds = refundMoves(ground)
  let steps = 0

  const makeLink = async (): Promise<string> => {
    const cap = one([1, 1, 2, 3, 5, Infinity])
    const expiresAt = now() + (30 + below(600)) * minuteMs
    const fields = cap === 1 ? {} : { type: 'multi_use', max_uses: cap === Infinity ? null : cap }
    const made = bodyOf(await merchant.createLink({ ...fields, expires_at: new Date(expiresAt).toISOString() }), 201)
    const link = { id: made.id, multi: cap !== 1, cap, expiresAt, successes: 0, ended: null }
    world.links.push(link)
    return `link for ${cap}`
  }

  const createIntent = async (link: LinkModel | null): Promise<Answer> => {
    const latest = Math.min(now() + 600 * minuteMs, link?.expiresAt ?? Infinity)
    const expiresAt = random() < 0.5 ? latest : Math.min(latest, now() + (1 + below(40)) * minuteMs)
    const fields = link === null ? {} : { payment_link_id: link.id }
    const at = now()
    const answer = await merchant.createIntent({
      ...fields,
      expires_at: new Date(Math.max(expiresAt, at + 1)).toISOString(),
    })
    if (answer.status === 201) {
      const { id, checkout_url: page } = answer.json
      world.intents.push({ id, page, link, expiresAt, attempts: 0, latest: null, ended: null, refunds: [] })
    }
    return answer
  }

  const makeIntent = async (): Promise<string> => {
    const link = random() < 0.75 && world.links.length > 0 ? one(recent(world.links)) : null
    const active = link === null || linkStatus(link, now()) === 'ACTIVE'
    const answer = await createIntent(link)
    if (active) bodyOf(answer, 201)
    else assert.match(refusal(answer), /^(422 INVALID_STATE|400 INVALID_EXPIRES_AT)/)
    return `intent of ${link === null ? 'its own' : `a link that is ${linkStatus(link, now())}`}`
  }

  const confirm = async (): Promise<string> => {
    const intent = one(recent(world.intents))
    const kind = one(kinds)
    const at = now()
    const expected = confirmOf(world, intent, kind, at)
    const answer = await merchant.confirm(intent.id, numberOf[kind])
    if (typeof expected === 'string') assert.equal(refusal(answer), expected, kind)
    else {
      makeAttempt(world, intent, expected, at)
      const told = bodyOf(answer, expected.state === 'PROCESSING' ? 202 : 200)
      assert.deepEqual([told.status, told.failure_category ?? null], [expected.state, expected.category], kind)
      challenges.note(intent, answer)
    }
    const counts = answer.json.status === 'SUCCEEDED' || random() < 0.2
    await check([intent], counts && intent.link !== null ? [intent.link] : [])
    return `confirm ${kind}: ${refusal(answer)}`
  }

  const changeOf = (link: LinkModel): LinkChange => ({
    ...(random() < 0.7 ? { cap: one([1, 2, 3, 5, 8, Infinity]) } : {}),
    ...(random() < 0.5 ? { expiresAt: link.expiresAt + (below(300) - 60) * minuteMs } : {}),
  })
  const sendChange = (link: LinkModel, { cap, expiresAt }: LinkChange): Promise<Answer> =>
    merchant.updateLink(link.id, {
      description: `Changed ${steps}`,
      ...(cap === undefined ? {} : { max_uses: cap === Infinity ? null : cap }),
      ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
    })
  /** What the model says in one line: the status that a success shows, or the refusal. */
  const told = (answer: Answer): string => (answer.status === 200 ? answer.json.status : refusal(answer))

  const update = async (): Promise<string> => {
    const link = one(recent(world.links))
    const change = changeOf(link)
    const expected = updateLink(world, link, change, now())
    assert.equal(told(await sendChange(link, change)), expected, `update of link ${link.id}`)
    await check([], [link])
    return `update: ${expected}`
  }

  const endOneLink = async (): Promise<string> => {
    const link = one(recent(world.links))
    const expected = cancelLink(world, link, now())
    assert.equal(told(await merchant.cancelLink(link.id, { reason: 'The walk says so.' })), expected)
    await check(world.intents.filter((intent) => intent.link === link).slice(-4), [link])
    return `cancel link: ${expected}`
  }

  const endOneIntent = async (): Promise<string> => {
    const intent = one(recent(world.intents))
    const expected = cancelIntent(intent, now())
    assert.equal(told(await merchant.cancelIntent(intent.id)), expected, `cancel of intent ${intent.id}`)
    await check([intent], intent.link === null ? [] : [intent.link])
    return `cancel intent: ${expected}`
  }

  /** What a merchant may do while many pay; what came of it goes to the model before the payments do. */
  const meddle = async (link: LinkModel, payers: readonly IntentModel[]): Promise<() => void> => {
    const intent = one(payers)
    const change = { cap: one([1, 2, 3, 5, 8, Infinity]) }
    const [which, answer] = await one([
      async () => ['update', await sendChange(link, change)] as const,
      async () => ['cancel link', await merchant.cancelLink(link.id)] as const,
      async () => ['cancel intent', await merchant.cancelIntent(intent.id)] as const,
    ])()
    assert.match(
      told(answer),
      /^(ACTIVE|CANCELLED|422 INVALID_STATE|400 INVALID_MAX_USES .*|409 (INVALID_STATE|INTENT_PROCESSING))$/,
    )
    return () => {
      if (answer.status !== 200) return
      // What lifts the limit changes nothing of a link of a single use.
      if (which === 'update') link.cap = link.multi ? change.cap : link.cap
      else if (which === 'cancel intent') intent.ended = 'CANCELLED'
      else endLink(world, link, 'CANCELLED', now())
    }
  }

  /**
   * Many payers of one link at the same moment, and perhaps somebody who makes a further intent meanwhile, or a merchant who changes or
   * ends something.
   */
  const crowd = async (): Promise<string> => {
    const open = recent(world.links).filter((link) => linkStatus(link, now()) === 'ACTIVE')
    if (open.length === 0) return makeLink()
    const link = one(open)
    for (let i = below(6); i > 0; i--) bodyOf(await createIntent(link), 201)
    const payers = world.intents.filter((intent) => intent.link === link).slice(-8)
    const approving = random() < 0.4
    const at = now()
    const free = freeOf(world, link, at)
    const able = payers.filter((intent) => typeof confirmOf(world, intent, 'approved', at) !== 'string').length
    const tries = payers.map((intent) => ({ intent, kind: approving ? ('approved' as const) : one(kinds) }))
    if (random() < 0.3) tries.push(...tries.slice(0, 2))
    const extras = random() < 0.3 ? [createIntent(link)] : []
    const meddles = random() < 0.3 && payers.length > 0 ? [meddle(link, payers)] : []
    const answers = await Promise.all(tries.map(({ intent, kind }) => merchant.confirm(intent.id, numberOf[kind])))
    await Promise.all(extras)
    for (const apply of await Promise.all(meddles)) apply()
    steps += tries.length + meddles.length
    await adopt(link, tries, answers, at)
    if (approving && meddles.length === 0)
      assert.equal(answers.filter(({ status }) => status === 200).length, Math.min(free, able))
    return `crowd of ${tries.length}: ${answers.map((answer) => answer.json.status ?? refusal(answer)).join(', ')}`
  }

  const mayRefuse =
    /^(409 (LINK_FULLY_RESERVED|INVALID_STATE|INTENT_PROCESSING|ATTEMPT_LIMIT_REACHED)|400 INVALID_CARD .*)$/

  /** Which of many came first is for the platform to say; that it adds up is for the model. */
  const adopt = async (
    link: LinkModel,
    tries: readonly { intent: IntentModel; kind: Kind }[],
    answers: readonly Answer[],
    at: number,
  ): Promise<void> => {
    const unlimited: World = { links: [], intents: [] }
    let successes = 0
    // Of two attempts of one intent the later one is shown; the platform says which.
    const shown = await Promise.all(tries.map(({ intent }) => merchant.retrieveIntent(intent.id)))
    for (const [index, { intent, kind }] of tries.entries()) {
      const answer = answers[index]
      assert.ok(answer)
      if (answer.status >= 400) {
        assert.match(refusal(answer), mayRefuse)
        continue
      }
      // What such a card leads to on an intent that nothing stands in the way of.
      const attempt = confirmOf(unlimited, anOpenIntent, kind, at)
      assert.ok(typeof attempt !== 'string')
      intent.attempts += 1
      if (attempt.state === 'SUCCEEDED') successes += 1
      const { payment_attempt_id: latestId } = bodyOf(shown[index], 200)
      if (latestId !== answer.json.payment_attempt_id) continue
      intent.latest = attempt
      challenges.note(intent, answer)
    }
    for (; successes > 0; successes--) countSuccess(world, link, at)
    assert.ok(freeOf(world, link, at) >= 0, 'more uses were taken than there are')
    await check(
      [
        ...new Set(tries.map(({ intent }) => intent)),
        ...world.intents.filter((intent) => intent.link === link).slice(-2),
      ],
      [link],
    )
  }

  /** Somebody comes by: everything overdue is stored, and silent calls are asked about. */
  const sweep = async (): Promise<string> => {
    const at = now()
    sweepCodes(world, at)
    const silent = world.intents.filter(({ latest }) => latest?.state === 'PROCESSING')
    const workers = 1 + below(2)
    await ground.work(workers)
    for (const intent of silent) if ((intent.latest?.until ?? 0) <= at) settleSilent(world, intent, at)
    await check(
      silent,
      silent.flatMap(({ link }) => (link === null ? [] : [link])),
    )
    const settled = settleRefunds(world, at)
    await refunds.checkAll(settled)
    return `sweep by ${workers}: ${silent.length} silent, ${settled.length} refunds`
  }

  const pass = async (): Promise<string> => {
    const ms = one([2_000, 2_000, 30_000, 5 * minuteMs, 16 * minuteMs, 60 * minuteMs])
    await jump(p, ms)
    if (world.intents.length > 0) await check([one(recent(world.intents))], [])
    return `${ms / 1000} s pass`
  }

  /** No deadline may fall into the move that begins now. */
  const clear = async (): Promise<void> => {
    for (;;) {
      const at = now()
      const near = deadlinesOf(world).filter((deadline) => deadline > at - 1_000 && deadline < at + clearMs)
      if (near.length === 0) return
      await jump(p, Math.max(...near) - at + 2_000)
    }
  }

  /** To the centavo, as the merchant reads it in the reports. */
  const compareMoney = async (): Promise<void> => {
    const shown = { received: 0, refunded: 0 }
    for await (const { amount_details: money } of p.sdk.reports.listAllTransactions({ page_size: 100 })) {
      shown.received += money.amount_received
      shown.refunded += money.amount_refunded
    }
    assert.deepEqual(shown, moneyOf(world))
  }

  const weighted: readonly (readonly [weight: number, move: () => Promise<string>])[] = [
    [5, makeLink],
    [16, makeIntent],
    [50, confirm],
    [8, crowd],
    [6, sweep],
    [9, pass],
    [5, update],
    [2, endOneLink],
    [5, endOneIntent],
    [5, codes.showOne],
    [6, codes.answerOne],
    [2, codes.answerTogether],
    [9, challenges.answerOne],
    [2, challenges.comeBackTogether],
    [7, refunds.refundOne],
    [2, refunds.repeatOne],
    [2, refunds.refundTogether],
  ]
  const total = weighted.reduce((sum, [weight]) => sum + weight, 0)

  return {
    world,
    get steps() {
      return steps
    },
    async move() {
      await clear()
      if (world.links.length === 0) return makeLink()
      if (world.intents.length < 3) return makeIntent()
      let at = random() * total
      steps += 1
      const [, chosen] = weighted.find(([weight]) => (at -= weight) < 0) ?? [0, confirm]
      return chosen()
    },
    async compareAll() {
      await clear()
      const links = await Array.fromAsync(p.sdk.paymentLinks.listAll({ page_size: 200 }))
      assert.deepEqual(
        links.map(({ id, status, successful_payment_count: count }) => `${id} ${status} ${count}`).toSorted(),
        world.links.map((link) => `${link.id} ${linkStatus(link, now())} ${link.successes}`).toSorted(),
      )
      await check(world.intents.slice(-40), [])
      await compareMoney()
      await audit(p)
    },
  }
}

/** One that nothing stands in the way of. */
const anOpenIntent: IntentModel = {
  id: '',
  page: '',
  link: null,
  expiresAt: Infinity,
  attempts: 0,
  latest: null,
  ended: null,
  refunds: [],
}
