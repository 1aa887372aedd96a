import type { Queries } from '../kernel/db.ts'
import type { Intent } from './intent.ts'
import type { PaymentEvent, PaymentMethod } from './machine.ts'

/**
 * Whoever made an intent, seen from here: it lends what an attempt needs (a use of a link) and tells the world how the attempt
 * ended. What is taken and given back is so in the transaction of the move itself, before the intent's row is locked wherever the use is known
 * by then, so that locks go one way; what is told is told under that lock.
 */
export interface PaymentOwner {
  /** Has whoever takes or gives back a use of the link wait until the transaction ends. */
  hold(tx: Queries, linkId: string): Promise<void>
  /** Takes what an attempt needs. `taken`, or why there is nothing to take. */
  reserve(
    tx: Queries,
    use: { linkId: string; attemptId: string; method: PaymentMethod },
  ): Promise<'taken' | 'full' | 'ended'>
  /** Whether `reserve` would succeed right now; asked before a card is looked at. */
  isFree(linkId: string): Promise<boolean>
  /** Spends or gives back what the attempt took. True when that used up the link, so that its other intents end. */
  settle(tx: Queries, use: { attemptId: string; succeeded: boolean; at: Date }): Promise<{ linkConsumed: boolean }>
  /** Tells that the link has expired, once, if it was left without any payment: after what is told of the attempt that gave its use back. */
  announceExpiry(tx: Queries, linkId: string): Promise<void>
  /** Where the payer comes back to after the challenge of an attempt. */
  returnUrl(intentId: string, attemptId: string): string
  /** Tells of an outcome, in the transaction that brought it about. */
  announce(tx: Queries, intent: Intent, event: PaymentEvent | 'payment.expired'): Promise<void>
  /** After the commit: something was announced. */
  announced(): void
  /** Something falls due earlier than was thought. */
  dueSooner(): void
}
