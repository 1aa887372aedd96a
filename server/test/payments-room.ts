import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { paymentOwner } from '../src/areas/ecommerce/index.ts'
import type { Kaha } from '../src/app.ts'
import { createCodeWriter } from '../src/areas/qr/index.ts'
import type { Clock } from '../src/kernel/clock.ts'
import type { Db } from '../src/kernel/db.ts'
import type { Approval, Connector, Outcome } from '../src/payments/connectors/connector.ts'
import type { Intent } from '../src/payments/intent.ts'
import { createPayments, type Payments } from '../src/payments/service.ts'
import { bodyOf, rowsOf, shop, withoutWorker, type Shop } from './conformance/shop.ts'
import { cardOf, cards, platform, type Platform } from './platform.ts'

/** A processor that does as a test says, and keeps what it was asked. It stands for a system that is not ours. */
export interface Processor extends Connector {
  readonly asked: string[]
}

export const approval = (): Approval => ({
  kind: 'approved',
  approvalCode: '123456',
  transactionId: `TEST-${randomUUID()}`,
  reconciliationId: `REC-${randomUUID()}`,
  completedAt: new Date(),
})

export const aChallenge = { kind: 'challenge', url: 'https://issuer.example/challenge' } as const

/** Approves everything, unless told otherwise. */
export function processorThat(does: Partial<Connector> = {}): Processor {
  const asked: string[] = []
  const told = <Args extends unknown[], R>(name: string, does1: (...args: Args) => R) => {
    return (...args: Args): R => {
      asked.push(name)
      return does1(...args)
    }
  }
  const unknown = async (): Promise<Outcome> => ({ kind: 'none' })
  return {
    asked,
    eligibility: told('eligibility', does.eligibility ?? (() => 'eligible')),
    verify: told('verify', does.verify ?? (async () => ({ kind: 'passed' as const }))),
    challenge: told('challenge', does.challenge ?? (async () => ({ kind: 'open' as const, url: aChallenge.url }))),
    authorizeVerified: told('authorizeVerified', does.authorizeVerified ?? (async () => approval())),
    authorize: told('authorize', does.authorize ?? (async () => approval())),
    inquire: told('inquire', does.inquire ?? unknown),
    refund: told('refund', does.refund ?? (async () => ({ kind: 'refunded' as const }))),
    inquireRefund: told('inquireRefund', does.inquireRefund ?? (async () => ({ kind: 'none' as const }))),
  }
}

/** A call that is never answered, whatever its deadline: what a process leaves behind that dies in the middle. */
export const never = (): Promise<never> => new Promise(() => {})

/** One round of everything that is due, as the two loops of a worker do it. Resolves to ms until the next. */
export const runDue = async (payments: Payments): Promise<number> =>
  Math.min(await payments.sweep(), await payments.reconcile())

/** The owner of the payments of a platform's links, as its own process has one. */
export const ownerOf = ({ bus, clock, identity, keyring, addresses, delivery, ...kaha }: Kaha, db: Db = kaha.db) =>
  paymentOwner({
    db,
    bus,
    clock,
    identity,
    keyring,
    addresses,
    appendEvent: (tx, event) => delivery.appendEvent(tx, event),
  })

/** Payments alone on a platform's database, with connectors of a test's own. No worker runs. */
export interface PaymentsRoom extends Platform {
  readonly shop: Shop
  /** Payments as one process has them, by its own clock where one is given. */
  payments(connector: Connector, db?: Db, clock?: Clock): Payments
  /** A new intent, of a link or of its own. */
  intent(fields?: object): Promise<Intent>
  read(id: string): Promise<Intent>
  attempts(intentId: string): Promise<{ id: string; state: string; state_at: Date; leased: boolean }[]>
  /** Types of the events of an intent, in the order of their making. */
  events(intentId: string): Promise<string[]>
  /** The leases of all attempts run out. */
  leasesRunOut(): Promise<void>
}

export const card = cardOf(cards.approved)

export async function paymentsRoom(t: { after(close: () => Promise<void>): void }): Promise<PaymentsRoom> {
  const p = await platform(t, withoutWorker)
  const { db, clock, keyring, identity } = p.kaha
  const ofShop = shop(p)
  const paymentsOf = (connector: Connector, on: Db = db, by: Clock = clock) =>
    createPayments({
      db: on,
      clock: by,
      keyring,
      connector,
      owner: ownerOf(p.kaha, on),
      codeWriter: createCodeWriter({ bank: { bic: 'TESTPHM1XXX', notifyFlags: '010' }, identity }),
      confirmWaitMsMax: 50,
    })
  const reader = paymentsOf(processorThat())
  const read = async (id: string): Promise<Intent> => {
    const intent = await reader.readIntent(id)
    assert.ok(intent)
    return intent
  }
  return {
    ...p,
    shop: ofShop,
    payments: paymentsOf,
    intent: async (fields = {}) => read(bodyOf(await ofShop.createIntent(fields), 201).id),
    read,
    attempts: (intentId) =>
      rowsOf(
        p,
        `select id, state, state_at, coalesce(lease_until > clock_timestamp(), false) as leased
           from payments.attempts where intent_id = $1 order by number`,
        [intentId],
      ),
    events: async (intentId) => {
      const rows = await rowsOf<{ type: string }>(
        p,
        'select type from delivery.events where payment_intent_id = $1 order by created_at, id',
        [intentId],
      )
      return rows.map(({ type }) => type)
    },
    leasesRunOut: async () => {
      await rowsOf(
        p,
        `update payments.attempts set lease_until = clock_timestamp() - interval '1 ms' where lease_until is not null`,
      )
    },
  }
}
