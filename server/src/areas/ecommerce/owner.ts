import type { NewEvent } from '../../delivery/index.ts'
import type { Identity } from '../../identity/service.ts'
import type { Bus } from '../../kernel/bus.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db, Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import type { Keyring } from '../../kernel/seal.ts'
import type { PaymentOwner } from '../../payments/owner.ts'
import { eventDataOfIntent, eventDataOfLink, eventBody } from './present.ts'
import { challengeReturnUrl } from './secrets.ts'
import { ecommerceStore as store, type LinkRow } from './store.ts'

export interface OwnerDependencies {
  readonly db: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly identity: Identity
  readonly keyring: Keyring
  readonly addresses: { readonly checkout: string }
  readonly appendEvent: (tx: Queries, event: NewEvent) => Promise<void>
}

/** What this area does for the payments of its links and intents: uses of links, and events of area A. */
export function paymentOwner({
  db,
  bus,
  clock,
  identity,
  keyring,
  addresses,
  appendEvent,
}: OwnerDependencies): PaymentOwner {
  // An event is of the moment that it is written, for its id is its place: a deadline that was noticed late may lie where no place is any more.
  // This process may hear of an advance later than the database that says what is over: nothing is told before its deadline.
  const newEvent = (type: string, notBefore: Date | null) => {
    const at = new Date(Math.max(clock.now().getTime(), notBefore?.getTime() ?? 0))
    return { id: newId(at), type, at }
  }

  const announceLink = async (tx: Queries, link: LinkRow) => {
    const branch = await identity.entity(link.branch_id, tx)
    const event = newEvent('payment.expired', link.expires_at)
    await appendEvent(tx, {
      ...event,
      dialect: 'signed',
      partnerId: link.partner_id,
      merchantId: link.merchant_id,
      branchId: link.branch_id,
      paymentIntentId: null,
      paymentLinkId: link.id,
      body: eventBody(event, eventDataOfLink(link, branch?.name ?? '')),
    })
  }

  const announceExpiry = async (tx: Queries, linkId: string) => {
    const link = await store.takeExpiryNotice(tx, linkId)
    if (link !== undefined) await announceLink(tx, link)
  }

  return {
    announceExpiry,
    async hold(tx, linkId) {
      await store.holdLink(tx, linkId)
    },
    async reserve(tx, { linkId, attemptId, method }) {
      if (await store.takeUse(tx, linkId, attemptId, method === 'qrph')) return 'taken'
      return (await store.readUses(tx, linkId))?.active === true ? 'full' : 'ended'
    },
    async isFree(linkId) {
      const uses = await store.readUses(db, linkId)
      // A link that ended is the intent's state to tell, not a lack of uses.
      return uses === undefined || !uses.active || uses.free
    },
    async settle(tx, { attemptId, succeeded, at }) {
      if (succeeded) return { linkConsumed: await store.spendUse(tx, attemptId, at) }
      await store.releaseUse(tx, attemptId)
      return { linkConsumed: false }
    },
    async announce(tx, intent, type) {
      const event = newEvent(type, type === 'payment.expired' ? intent.expiresAt : null)
      const status = type === 'payment.expired' ? 'EXPIRED' : type.slice('payment.'.length).toUpperCase()
      await appendEvent(tx, {
        ...event,
        dialect: 'signed',
        partnerId: intent.partnerId,
        merchantId: intent.merchantId,
        branchId: intent.branchId,
        paymentIntentId: intent.id,
        paymentLinkId: intent.linkId,
        body: eventBody(event, eventDataOfIntent(intent, status)),
      })
    },
    returnUrl: (intentId, attemptId) => challengeReturnUrl(keyring, addresses.checkout, intentId, attemptId),
    announced: () => bus.hint('events'),
    dueSooner: () => bus.hint('payments'),
  }
}
