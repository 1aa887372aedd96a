import { timingSafeEqual } from 'node:crypto'
import type { Principal } from '../../identity/principal.ts'
import type { Identity } from '../../identity/service.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Cursors } from '../../kernel/cursor.ts'
import type { Db, Queries } from '../../kernel/db.ts'
import { firstIdOf, largestId, newId, randomText, smallestId } from '../../kernel/ids.ts'
import { sha256, type Keyring } from '../../kernel/seal.ts'
import { webAddressProblem } from '../../kernel/web-address.ts'
import type { CardInput } from '../../payments/card.ts'
import { intentOfNew, type Intent } from '../../payments/intent.ts'
import type { Payments } from '../../payments/service.ts'
import type { NewIntent } from '../../payments/store.ts'
import { refuse } from './errors.ts'
import type { Idempotency, Request } from './idempotency.ts'
import { ecommerceStore as store, type LineItem, type LinkRow } from './store.ts'

export interface EcommerceSettings {
  readonly currencies: readonly string[]
  readonly addresses: { readonly checkout: string }
  readonly sandbox: boolean
}

export interface EcommerceDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly cursors: Cursors
  readonly identity: Identity
  readonly payments: Payments
  readonly idempotency: Idempotency
  readonly settings: EcommerceSettings
}

type Strings = Readonly<Record<string, string>>

interface OfPayment {
  readonly description?: string
  readonly order_reference?: string
  readonly redirect_urls?: { readonly success?: string; readonly declined?: string; readonly expired?: string }
  readonly metadata?: Strings
  readonly expires_at?: string
  readonly merchant_branch_reference_number?: string
}

export interface NewLink extends OfPayment {
  readonly type: 'one_time' | 'multi_use'
  readonly currency: string
  readonly amount: number
  readonly line_items: readonly LineItem[]
  readonly max_uses?: number | null
}

export interface NewIntentRequest extends OfPayment {
  readonly amount?: number
  readonly currency?: string
  readonly payment_link_id?: string
}

export interface LinkQuery {
  readonly status?: readonly string[]
  readonly merchant_branch_reference_number?: string
  readonly date_from?: string
  readonly date_to?: string
  readonly page_size?: number
  readonly cursor?: string
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly pageSize: number
  readonly nextCursor: string | null
}

/** An intent that was just made, with the two secrets that its maker gets. */
export interface MadeIntent {
  readonly intent: Intent
  readonly clientSecret: string
  readonly checkoutUrl: string
}

const dayMs = 86_400_000
const pageSizeDefault = 20

export type EcommerceService = ReturnType<typeof createEcommerceService>

export function createEcommerceService(deps: EcommerceDependencies) {
  const { db, clock, keyring, cursors, identity, payments, idempotency, settings } = deps

  const checkCurrency = (currency: string) => {
    if (!settings.currencies.includes(currency)) {
      throw refuse(
        'INVALID_CURRENCY',
        `currency: must be one of ${settings.currencies.join(', ')}.`,
        'currency',
        'one_of',
      )
    }
  }

  const checkRedirects = (urls: OfPayment['redirect_urls']) => {
    for (const [name, url] of Object.entries(urls ?? {})) {
      const problem = webAddressProblem(url, { loopbackHttp: settings.sandbox, fragment: true })
      if (problem !== null)
        throw refuse(
          'INVALID_REDIRECT_URLS',
          `redirect_urls.${name}: must be an https address.`,
          `redirect_urls.${name}`,
          problem,
        )
    }
  }

  const expiryOf = (text: string | undefined, at: Date, latest?: Date): Date => {
    const wanted = text === undefined ? new Date(at.getTime() + dayMs) : new Date(text)
    if (text === undefined) return latest !== undefined && latest < wanted ? latest : wanted
    if (wanted <= at) throw refuse('INVALID_EXPIRES_AT', 'expires_at: must be in the future.', 'expires_at', 'future')
    if (latest !== undefined && wanted > latest) {
      throw refuse(
        'INVALID_EXPIRES_AT',
        'expires_at: must not be later than that of the link.',
        'expires_at',
        'not_after_link',
      )
    }
    return wanted
  }

  const secretsOf = (intentId: string) => ({
    clientSecret: `cs_${keyring.mac('client-secret', intentId).toString('base64url')}`,
    checkoutToken: keyring.mac('checkout-token', intentId).subarray(0, 16).toString('base64url'),
  })
  const checkoutUrlOf = (intentId: string) => `${settings.addresses.checkout}/i/${secretsOf(intentId).checkoutToken}`

  /** A link as it will be stored, once everything about it has been found right. */
  const prepareLink = async (principal: Principal, input: NewLink): Promise<LinkRow> => {
    checkCurrency(input.currency)
    checkTotal(input)
    if (input.type === 'one_time' && input.max_uses != null) {
      throw refuse('INVALID_MAX_USES', 'max_uses: a one_time link takes none.', 'max_uses', 'multi_use_only')
    }
    checkRedirects(input.redirect_urls)
    const branch = await identity.branchFor(principal, input.merchant_branch_reference_number)
    const at = clock.now()
    return {
      id: newId(at),
      partner_id: branch.partner_id,
      merchant_id: branch.merchant_id,
      branch_id: branch.id,
      branch_reference_number: branch.reference_number,
      token: randomText(22),
      type: input.type,
      state: 'ACTIVE',
      amount: BigInt(input.amount),
      currency: input.currency,
      line_items: [...input.line_items],
      description: input.description ?? null,
      order_reference: input.order_reference ?? null,
      redirect_urls: input.redirect_urls ?? null,
      metadata: input.metadata ?? {},
      max_uses: input.max_uses ?? null,
      reserved_count: 0,
      success_count: 0,
      expires_at: expiryOf(input.expires_at, at),
      cancelled_at: null,
      cancellation_reason: null,
      created_at: at,
      updated_at: at,
    }
  }

  const prepareIntent = async (principal: Principal, input: NewIntentRequest) => {
    checkRedirects(input.redirect_urls)
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
    checkCurrency(currency)
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
      redirectUrls: (input.redirect_urls as Strings | undefined) ?? null,
      metadata: input.metadata ?? {},
      checkoutTokenHash: sha256(secretsOf(id).checkoutToken),
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

  return {
    /** Stored once per Idempotency-Key; `present` makes the answer that is kept. */
    createLink: (request: Request, input: NewLink, present: (link: LinkRow) => unknown) =>
      idempotency.create(request, {
        prepare: () => prepareLink(request.principal, input),
        answer: (link) => ({ status: 201, body: present(link) }),
        write: (kept, link) => store.insertLinkOnce(db, kept, link),
      }),

    async findLink(principal: Principal, id: string): Promise<LinkRow> {
      const link = await store.findLink(db, principal, id)
      if (link === undefined) throw notFound()
      return link
    },

    async listLinks(principal: Principal, query: LinkQuery): Promise<Page<LinkRow>> {
      const pageSize = query.page_size ?? pageSizeDefault
      const bound = [
        'links',
        principal.entityId,
        query.status ?? null,
        query.merchant_branch_reference_number ?? null,
        query.date_from ?? null,
        query.date_to ?? null,
      ]
      const position = query.cursor === undefined ? undefined : cursors.read(query.cursor, bound)
      if (position === null)
        throw refuse(
          'INVALID_CURSOR',
          'cursor: is not one of this list with these filters; start again without it.',
          'cursor',
          'known',
        )
      const { from, before } = idBounds(query.date_from, query.date_to)
      const found = await store.listLinks(db, principal, {
        before: position?.[0] ?? before,
        from,
        statuses: query.status ?? null,
        branchReference: query.merchant_branch_reference_number ?? null,
        rowsMax: pageSize + 1,
      })
      const rows = found.slice(0, pageSize)
      const last = rows.at(-1)
      return {
        rows,
        pageSize,
        nextCursor: found.length > pageSize && last !== undefined ? cursors.write([last.id], bound) : null,
      }
    },

    /** Stored once per Idempotency-Key; the answer holds both secrets, and is kept sealed. */
    createIntent: (request: Request, input: NewIntentRequest, present: (made: MadeIntent) => unknown) =>
      idempotency.create(request, {
        prepare: () => prepareIntent(request.principal, input),
        answer: (row) => ({
          status: 201,
          body: present({
            intent: intentOfNew(row),
            clientSecret: secretsOf(row.id).clientSecret,
            checkoutUrl: checkoutUrlOf(row.id),
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

    checkoutTokenOf: (intentId: string) => secretsOf(intentId).checkoutToken,

    async findIntent(principal: Principal, id: string): Promise<Intent> {
      const intent = await payments.findIntent(principal, id)
      if (intent === undefined) throw notFound()
      return intent
    },

    /**
     * The intent that a key sees or a client_secret opens. A client_secret is checked whoever sends it; a wrong one, and one of
     * another intent, tell the same.
     */
    async intentToConfirm(principal: Principal | null, id: string, clientSecret: string | undefined): Promise<Intent> {
      if (principal !== null && clientSecret === undefined) return this.findIntent(principal, id)
      const right = Buffer.from(secretsOf(id.toLowerCase()).clientSecret)
      const given = Buffer.from(clientSecret ?? '')
      const opens = given.length === right.length && timingSafeEqual(given, right)
      const intent = !opens
        ? undefined
        : principal === null
          ? await payments.readIntent(id)
          : await payments.findIntent(principal, id)
      if (intent === undefined) throw refuse('UNAUTHORIZED', 'Send a secret key, or the client_secret of this intent.')
      return intent
    },

    /** With `attemptCount`, only while the intent has had just so many attempts: one form pays once. */
    confirm: (intent: Intent, card: CardInput, correlationId: string | null, attemptCount?: number) =>
      payments.confirm(intent, card, correlationId, attemptCount),

    /** Whether a further payment could start now; a link that ended has none. */
    hasFreeUse: (link: LinkRow) =>
      link.state === 'ACTIVE' &&
      link.reserved_count + link.success_count < (link.type === 'one_time' ? 1 : (link.max_uses ?? Infinity)),
    findLinkOfIntent: (linkId: string) => store.readLink(db, linkId),
    findLinkByToken: (token: string) => store.findLinkByToken(db, token),
    findIntentByToken: (token: string) => payments.findIntentByToken(sha256(token)),
    findIntentByForm: (linkId: string, nonce: string) => payments.findIntentByForm(linkId, nonce),

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
      return payments.findIntentByForm(link.id, nonce)
    },
  }
}

const notFound = () => refuse('NOT_FOUND', 'There is no such resource for this key.')

const fromLink = (link: LinkRow | undefined): OfPayment =>
  link === undefined
    ? {}
    : {
        metadata: link.metadata,
        ...(link.description === null ? {} : { description: link.description }),
        ...(link.order_reference === null ? {} : { order_reference: link.order_reference }),
        ...(link.redirect_urls === null ? {} : { redirect_urls: link.redirect_urls }),
      }

function checkTotal(input: NewLink): void {
  const total = input.line_items.reduce((sum, item) => sum + BigInt(item.unit_price) * BigInt(item.quantity), 0n)
  if (total !== BigInt(input.amount)) {
    throw refuse(
      'INVALID_AMOUNT',
      'amount: must equal the sum of unit_price × quantity.',
      'amount',
      'sum_of_line_items',
    )
  }
}

function agreeWithLink(input: NewIntentRequest, link: LinkRow): void {
  if (input.amount !== undefined && BigInt(input.amount) !== link.amount) {
    throw refuse('INVALID_AMOUNT', 'amount: must equal that of the link.', 'amount', 'equal_to_link')
  }
  if (input.currency !== undefined && input.currency !== link.currency) {
    throw refuse('INVALID_CURRENCY', 'currency: must equal that of the link.', 'currency', 'equal_to_link')
  }
  const reference = input.merchant_branch_reference_number
  if (reference !== undefined && reference !== link.branch_reference_number) {
    throw refuse(
      'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
      'merchant_branch_reference_number: must be that of the link.',
      'merchant_branch_reference_number',
      'equal_to_link',
    )
  }
  if (link.state !== 'ACTIVE') throw refuse('INVALID_STATE', `The link is ${link.state}; it takes no more payments.`)
}

/** Both dates exclusive: after `from`, before `to`. A millisecond is the grain of an id. */
function idBounds(from: string | undefined, to: string | undefined): { from: string; before: string } {
  const fromMs = from === undefined ? undefined : Date.parse(from)
  // Within a millisecond a bound lies after the whole of it.
  const toMs = to === undefined ? undefined : Date.parse(to) + (/\.\d{3}\d*[1-9]/.test(to) ? 1 : 0)
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) {
    throw refuse('INVALID_DATE_RANGE', 'date_from: must not be later than date_to.', 'date_from', 'not_after_date_to')
  }
  return {
    from: fromMs === undefined ? smallestId : firstIdOf(Math.max(0, fromMs + 1)),
    before: toMs === undefined ? largestId : firstIdOf(Math.max(0, toMs)),
  }
}
