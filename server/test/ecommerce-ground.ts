import assert from 'node:assert/strict'
import { ecommerceStore } from '../src/areas/ecommerce/store.ts'
import { simulatorStore } from '../src/payments/connectors/simulator-store.ts'
import { simulator } from '../src/payments/connectors/simulator.ts'
import { createPayments } from '../src/payments/service.ts'
import { bodyOf, shop, type Shop } from './conformance/shop.ts'
import { linkStatus, shownIntent, type IntentModel, type LinkModel, type World } from './ecommerce-model.ts'
import { randomFrom } from './faults/random.ts'
import { ownerOf, runDue } from './payments-room.ts'
import type { Platform } from './platform.ts'

/** What the moves of a walk stand on: a platform without a worker, the model of it, and chance. */
export interface Ground {
  readonly p: Platform
  readonly merchant: Shop
  readonly world: World
  random(): number
  below(count: number): number
  one<T>(list: readonly T[]): T
  /** The newest of a list: what is old is left alone. */
  recent<T>(list: readonly T[]): readonly T[]
  now(): number
  /** Compares what these show with the model. */
  check(intents: readonly IntentModel[], links: readonly LinkModel[]): Promise<void>
  /** Workers of another process come by: everything overdue is stored, and the processor is asked about what it has not answered. */
  work(workers: number): Promise<void>
  /** One round of questions about refunds, beside whatever else goes on. */
  askAboutRefunds(): Promise<unknown>
}

const recentMax = 12

export function groundOf(p: Platform, seed: number): Ground {
  const random = randomFrom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const world: World = { links: [], intents: [] }
  const lastUpdate = new Map<string, string>()
  const { db, clock, keyring } = p.kaha
  const owner = ownerOf(p.kaha)
  const connector = simulator({ clock, store: simulatorStore({ db }), challengeUrlOf: (token) => token })
  const payments = createPayments({ db, clock, keyring, connector, owner, codeWriter: null, confirmWaitMsMax: 10_000 })
  const merchant = shop(p)
  const now = (): number => clock.now().getTime()

  const movesOn = ({ id, updated_at }: { id: string; updated_at: string }) => {
    assert.ok(updated_at >= (lastUpdate.get(id) ?? ''), `updated_at of ${id} went back`)
    assert.ok(Date.parse(updated_at) <= now())
    lastUpdate.set(id, updated_at)
  }
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
  const runRefunds = (): Promise<number> => payments.refunds.reconcile()
  const round = async (): Promise<number> => Math.min(await runDue(payments), await runRefunds())

  return {
    p,
    merchant,
    world,
    random,
    below,
    one<T>(list: readonly T[]) {
      assert.ok(list.length > 0)
      return list[below(list.length)] as T
    },
    recent: (list) => list.slice(-recentMax),
    now,
    async check(intents, links) {
      await Promise.all([...intents.map(checkIntent), ...links.map(checkLink)])
    },
    async work(workers) {
      await Promise.all(Array.from({ length: workers }, round))
      for (let rounds = 0; (await round()) === 0; rounds += 1) assert.ok(rounds < 10, 'the timers never come to rest')
      await db.tx(async (tx) => {
        for (const { id } of await ecommerceStore.expireLinks(tx, { rowsMax: 200 })) await owner.announceExpiry(tx, id)
      })
    },
    askAboutRefunds: runRefunds,
  }
}
