import { timingSafeEqual } from 'node:crypto'
import type { Principal } from '../../identity/principal.ts'
import type { Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import { sha256 } from '../../kernel/seal.ts'
import type { CardInput } from '../../payments/card.ts'
import { intentOfNew, type Intent } from '../../payments/intent.ts'
import type { PaymentMethod } from '../../payments/machine.ts'
import type { Confirmed } from '../../payments/service.ts'
import type { NewIntent } from '../../payments/store.ts'
import { refuse } from './errors.ts'
import type { KeyedRequest } from './idempotency.ts'
import type { NewIntentRequest, OfPayment } from './requests.ts'
import { agreeWithLink, checkCurrency, checkRedirects, expiryOf, notFound } from './rules.ts'
import { checkoutUrlOf, secretsOf } from './secrets.ts'
import type { EcommerceDependencies } from './service.ts'
import { ecommerceStore as store, type LinkRow } from './store.ts'

/** An intent that was just made, with the two secrets that its maker gets. */
export interface MadeIntent {
  readonly intent: Intent
  readonly clientSecret: string
  readonly checkoutUrl: string
}

export function intentCases({ db, clock, keyring, identity, payments, idempotency, settings }: EcommerceDependencies) {
  const prepareIntent = async (principal: Principal, input: NewIntentRequest) => {
    checkRedirects(input.redirect_urls, settings.sandbox)
    const link =
      input.payment_link_id === undefined ? undefined : await store.findLink(db, principal, input.payment_link_id)
    if (input.payment_link_id !== undefined && link === undefined) throw notFound()
    if (link !== undefined) agreeWithLink(input, link)
    const branch = await identity.branchFor(
      principal,
      input.merchant_branch_reference_number ?? link?.branch_reference_number,
    )
    const amount = link?.amount ?? (input.amount === undefined ? undefined : BigInt(input.amount))
    const currency = link?.currency ?? input.currency
    if (amount === undefined) throw refuse('BAD_REQUEST', 'amount: is missing.', 'amount', 'required')
    if (currency === undefined) throw refuse('BAD_REQUEST', 'currency: is missing.', 'currency', 'required')
    // That of a link was offered when it was made: what its page takes, its intents do.
    if (link === undefined) checkCurrency(currency, settings.currencies)
    return newIntentRow(branch, { ...fromLink(link), ...input }, { amount, currency, link, formNonce: null })
  }

  const newIntentRow = (
    branch: { partner_id: string; merchant_id: string; id: string; name: string },
    input: OfPayment,
    more: { amount: bigint; currency: string; link: LinkRow | undefined; formNonce: string | null },
  ) => {
    const at = clock.now()
    const id = newId(at)
    return {
      id,
      partnerId: branch.partner_id,
      merchantId: branch.merchant_id,
      branchId: branch.id,
      branchName: branch.name,
      linkId: more.link?.id ?? null,
      amount: more.amount,
      currency: more.currency,
      description: input.description ?? null,
      orderReference: input.order_reference ?? null,
      redirectUrls: (input.redirect_urls as Readonly<Record<string, string>> | undefined) ?? null,
      metadata: input.metadata ?? {},
      checkoutTokenHash: sha256(secretsOf(keyring, id).checkoutToken),
      formNonce: more.formNonce,
      expiresAt: expiryOf(input.expires_at, at, more.link?.expires_at),
      at,
    }
  }

  /** False when the link of the intent has ended: whatever ends it later, in its own transaction, finds this intent and ends it too. */
  const insertIntent = async (tx: Queries, row: NewIntent): Promise<boolean> => {
    if (row.linkId !== null && !(await store.holdActiveLink(tx, row.linkId))) return false
    await payments.createIntent(tx, row)
    return true
  }

  const findIntent = async (principal: Principal, id: string): Promise<Intent> => {
    const intent = await payments.findIntent(principal, id)
    if (intent === undefined) throw notFound()
    return intent
  }

  const findIntentByForm = async (linkId: string, nonce: string): Promise<Intent | undefined> =>
    (await payments.findIntentsMade(linkId, [nonce], []))[0]

  return {
    /** Stored once per Idempotency-Key; the answer holds both secrets, and is kept sealed. */
    createIntent: (request: KeyedRequest, input: NewIntentRequest, present: (made: MadeIntent) => unknown) =>
      idempotency.create(request, {
        prepare: () => prepareIntent(request.principal, input),
        answer: (row) => ({
          status: 201,
          body: present({
            intent: intentOfNew(row),
            clientSecret: secretsOf(keyring, row.id).clientSecret,
            checkoutUrl: checkoutUrlOf(keyring, settings.addresses.checkout, row.id),
          }),
        }),
        write: (kept, row) =>
          db.tx(async (tx) => {
            if (!(await store.insertAnswer(tx, kept))) return false
            if (!(await insertIntent(tx, row)))
              throw refuse('INVALID_STATE', 'The link has ended; it takes no more payments.')
            return true
          }),
      }),

    checkoutTokenOf: (intentId: string) => secretsOf(keyring, intentId).checkoutToken,

    findIntent,

    /**
     * The intent that a key sees or a client_secret opens. A client_secret is checked whoever sends it; a wrong one, and one of
     * another intent, tell the same.
     */
    async intentToConfirm(principal: Principal | null, id: string, clientSecret: string | undefined): Promise<Intent> {
      if (principal !== null && clientSecret === undefined) return findIntent(principal, id)
      const right = Buffer.from(secretsOf(keyring, id.toLowerCase()).clientSecret)
      const given = Buffer.from(clientSecret ?? '')
      const opens = given.length === right.length && timingSafeEqual(given, right)
      if (opens && principal !== null) return findIntent(principal, id)
      const intent = opens ? await payments.readIntent(id) : undefined
      if (intent === undefined) throw refuse('UNAUTHORIZED', 'Send a secret key, or the client_secret of this intent.')
      return intent
    },

    /** Throws INTENT_PROCESSING, INTENT_INVALID_STATE where the intent takes no confirm. */
    refuseUnlessOpen: (intent: Intent) => payments.refuseUnlessOpen(intent),

    /** Whether a payer may begin a payment there: an account that is not ACTIVE takes none. */
    takesPayments: (branchId: string) => identity.isActive(branchId),

    /**
     * With `attemptCount`, only while the intent has had just so many attempts: one form pays once, or makes one code. FORBIDDEN where the
     * merchant takes no payments, whoever asks: a payer has no key that would be refused.
     */
    async confirm(
      intent: Intent,
      { type, card }: PaymentMethodInput,
      correlationId: string | null,
      attemptCount?: number,
    ): Promise<Confirmed> {
      // An intent that can be paid no more says so first, for that may be the only word of a charge whose answer was lost.
      payments.refuseUnlessOpen(intent)
      if (!(await identity.isActive(intent.branchId)))
        throw refuse('FORBIDDEN', 'The account that this payment is for is not active: it takes no payments now.')
      if ((card === undefined) !== (type === 'qrph')) throw wrongCard(type)
      if (card !== undefined) return payments.confirm(intent, card, correlationId, attemptCount)
      const waiting = await payments.codes.make(intent, correlationId, attemptCount)
      return { ...waiting, nextUrl: checkoutUrlOf(keyring, settings.addresses.checkout, intent.id) }
    },

    /** Whether a payment can be made by QR Ph. */
    offersCode: (payment: Pick<Intent, 'currency' | 'amount'>) => payments.codes.offered(payment),
    giveUpCode: (intent: Intent) => payments.codes.giveUp(intent),

    challengeOf: (intent: Intent) => payments.challengeOf(intent),
    takeChallenge: (intent: Intent, attemptId: string) => payments.takeChallenge(intent, attemptId),

    /** Ends an intent that is neither paid nor being paid. Throws INTENT_PROCESSING, INTENT_INVALID_STATE. */
    async cancelIntent(request: KeyedRequest, id: string, present: (intent: Intent) => unknown) {
      const intent = await findIntent(request.principal, id)
      return idempotency.change(request, async (tx) => ({
        status: 200,
        body: present(await payments.cancelIntent(tx, intent.id)),
      }))
    },

    findIntentByToken: (token: string) => payments.findIntentByToken(sha256(token)),
    findIntentByForm,
    /** The intents of a link that were made by one of these forms, or have one of these tokens. */
    findIntentsMade: (linkId: string, nonces: readonly string[], tokens: readonly string[]) =>
      payments.findIntentsMade(linkId, nonces, tokens.map(sha256)),

    /** The intent of one visit to a link: made by the first submission of its form, found by every later one. None once the link has ended. */
    async intentOfVisit(link: LinkRow, nonce: string): Promise<Intent | undefined> {
      const branch = await identity.entity(link.branch_id)
      if (branch === undefined) throw notFound()
      const row = newIntentRow(
        { partner_id: link.partner_id, merchant_id: link.merchant_id, id: link.branch_id, name: branch.name },
        fromLink(link),
        { amount: link.amount, currency: link.currency, link, formNonce: nonce },
      )
      await db.tx((tx) => insertIntent(tx, row))
      return findIntentByForm(link.id, nonce)
    },
  }
}

/** How a payer wants to pay: the card comes with its type and with no other. */
export interface PaymentMethodInput {
  readonly type: PaymentMethod
  readonly card?: CardInput
}

const wrongCard = (type: PaymentMethod) =>
  type === 'card'
    ? refuse('BAD_REQUEST', 'payment_method.card: is missing.', 'payment_method.card', 'required')
    : refuse('BAD_REQUEST', 'payment_method.card: does not go with qrph.', 'payment_method.card', 'unknown')

const fromLink = (link: LinkRow | undefined): OfPayment =>
  link === undefined
    ? {}
    : {
        metadata: link.metadata,
        ...(link.description === null ? {} : { description: link.description }),
        ...(link.order_reference === null ? {} : { order_reference: link.order_reference }),
        ...(link.redirect_urls === null ? {} : { redirect_urls: link.redirect_urls }),
      }
