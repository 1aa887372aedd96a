import assert from 'node:assert/strict'
import { ecommerceStore } from '../src/areas/ecommerce/store.ts'
import { paymentOwner } from '../src/areas/ecommerce/index.ts'
import { simulatorStore } from '../src/payments/connectors/simulator-store.ts'
import { simulator } from '../src/payments/connectors/simulator.ts'
import { createPayments } from '../src/payments/service.ts'
import type { Answer } from './conformance/call.ts'
import { bodyOf, jump, refusal, shop } from './conformance/shop.ts'
import { audit } from './ecommerce-audit.ts'
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
  numberOf,
  settleSilent,
  shownIntent,
  updateLink,
  type IntentModel,
  type Kind,
  type LinkChange,
  type LinkModel,
  type World,
} from './ecommerce-model.ts'
import { runDue } from './payments-room.ts'
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

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const minuteMs = 60_000
// A move is over long before: what is still open when it begins is open when it ends.
const clearMs = 15_000
const recentMax = 12

/**
 * A random walk over links and intents of one platform without a worker, beside the model of the same. The walk itself decides when
 * somebody comes by to sweep and to ask the processor, so that all that is shown before and after is known.
 */
export function startWalk(p: Platform, seed: number): Walk {
  const random = randomFrom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const one = <T>(list: readonly T[]): T => {
    const found = list[below(list.length)]
    assert.ok(found !== undefined)
    return found
  }
  const world: World = { links: [], intents: [] }
  let steps = 0
  const lastUpdate = new Map<string, string>()
  const { db, bus, clock, keyring, identity, delivery, addresses } = p.kaha
  const owner = paymentOwner({
    db,
    bus,
    clock,
    identity,
    keyring,
    addresses,
    appendEvent: (tx, event) => delivery.appendEvent(tx, event),
  })
  const connector = simulator({ clock, store: simulatorStore({ db }), challengeUrlOf: (token) => token })
  const reconciler = createPayments({ db, clock, keyring, connector, owner })
  const merchant = shop(p)
  const now = (): number => clock.now().getTime()
  const recent = <T>(list: readonly T[]): readonly T[] => list.slice(-recentMax)

  const checkIntent = async (intent: IntentModel): Promise<void> => {
    const read = bodyOf(await merchant.retrieveIntent(intent.id), 200)
    const { status, category } = shownIntent(intent, now())
    assert.deepEqual([read.status, read.failure_category ?? null], [status, category], `intent ${intent.id}`)
    assert.equal(read.receipt !== undefined, status === 'SUCCEEDED')
    assert.equal(read.payment_attempt_id !== undefined, intent.attempts > 0)
    movesOn(read)
  }
  const checkLink = async (link: LinkModel): Promise<void> => {
    const read = bodyOf(await merchant.retrieveLink(link.id), 200)
    assert.deepEqual(
      [read.status, read.successful_payment_count],
      [linkStatus(link, now()), link.successes],
      `link ${link.id}`,
    )
    movesOn(read)
  }
  const movesOn = ({ id, updated_at }: { id: string; updated_at: string }) => {
    assert.ok(updated_at >= (lastUpdate.get(id) ?? ''), `updated_at of ${id} went back`)
    assert.ok(Date.parse(updated_at) <= now())
    lastUpdate.set(id, updated_at)
  }
  const check = async (intents: readonly IntentModel[], links: readonly LinkModel[]) => {
    await Promise.all([...intents.map(checkIntent), ...links.map(checkLink)])
  }

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
    if (answer.status === 201)
      world.intents.push({ id: answer.json.id, link, expiresAt, attempts: 0, latest: null, ended: null })
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
      if (which === 'update') link.cap = change.cap
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
    const free = freeOf(world, link)
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
      const fresh = { id: '', link: null, expiresAt: Infinity, attempts: 0, latest: null, ended: null }
      const attempt = confirmOf(unlimited, fresh, kind, at)
      assert.ok(typeof attempt !== 'string')
      intent.attempts += 1
      if (attempt.state === 'SUCCEEDED') successes += 1
      const { payment_attempt_id: latestId } = bodyOf(shown[index], 200)
      if (latestId === answer.json.payment_attempt_id) intent.latest = attempt
    }
    for (; successes > 0; successes--) countSuccess(world, link, at)
    assert.ok(freeOf(world, link) >= 0, 'more uses were taken than there are')
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
    const silent = world.intents.filter(({ latest }) => latest?.state === 'PROCESSING')
    const workers = 1 + below(2)
    await Promise.all(Array.from({ length: workers }, () => runDue(reconciler)))
    for (let rounds = 0; (await runDue(reconciler)) === 0; rounds += 1)
      assert.ok(rounds < 10, 'the timers never come to rest')
    await db.tx(async (tx) => {
      for (const { id } of await ecommerceStore.expireLinks(tx, 200)) await owner.announceExpiry(tx, id)
    })
    for (const intent of silent) if ((intent.latest?.until ?? 0) <= at) settleSilent(world, intent, at)
    await check(
      silent,
      silent.flatMap(({ link }) => (link === null ? [] : [link])),
    )
    return `sweep by ${workers}: ${silent.length} silent`
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
      await audit(p)
    },
  }
}
