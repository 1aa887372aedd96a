import type { Principal } from '../../identity/principal.ts'
import type { Queries } from '../../kernel/db.ts'
import { newId, randomText } from '../../kernel/ids.ts'
import { listedBy, pageSizeDefault, positionIn, type Listed } from '../../kernel/list.ts'
import { notOfThisList } from './errors.ts'
import type { KeyedRequest } from './idempotency.ts'
import type { LinkChange, LinkQuery, NewLink } from './requests.ts'
import {
  changedLink,
  checkCurrency,
  checkRedirects,
  checkTotal,
  checkUsesOfType,
  expiryOf,
  idBounds,
  linkEnded,
  mergedUrls,
  namesNothing,
  notFound,
  takenUses,
} from './rules.ts'
import type { EcommerceDependencies } from './service.ts'
import { ecommerceStore as store, type LinkRow } from './store.ts'

const tokenCharacters = 22

export function linkCases({ db, clock, cursors, identity, payments, idempotency, settings }: EcommerceDependencies) {
  /** A link as it will be stored, once everything about it has been found right. */
  const prepareLink = async (principal: Principal, input: NewLink): Promise<LinkRow> => {
    checkCurrency(input.currency, settings.currencies)
    checkTotal(input)
    checkUsesOfType(input)
    checkRedirects(input.redirect_urls, settings.sandbox)
    const branch = await identity.branchFor(principal, input.merchant_branch_reference_number)
    const at = clock.now()
    return {
      id: newId(at),
      partner_id: branch.partner_id,
      merchant_id: branch.merchant_id,
      branch_id: branch.id,
      branch_reference_number: branch.reference_number,
      token: randomText(tokenCharacters),
      type: input.type,
      state: 'ACTIVE',
      amount: BigInt(input.amount),
      currency: input.currency,
      line_items: [...input.line_items],
      description: input.description ?? null,
      order_reference: input.order_reference ?? null,
      redirect_urls: mergedUrls(null, input.redirect_urls ?? {}),
      metadata: input.metadata ?? {},
      max_uses: input.max_uses ?? null,
      reserved_count: 0,
      success_count: 0,
      had_code: false,
      expires_at: expiryOf(input.expires_at, at),
      cancelled_at: null,
      cancellation_reason: null,
      created_at: at,
      updated_at: at,
    }
  }

  const lockLink = async (tx: Queries, principal: Principal, id: string): Promise<LinkRow> => {
    const link = await store.lockLink(tx, principal, id)
    if (link === undefined) throw notFound()
    return link
  }

  return {
    /** Stored once per Idempotency-Key; `present` makes the answer that is kept. */
    createLink: (request: KeyedRequest, input: NewLink, present: (link: LinkRow) => unknown) =>
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

    /** Changes an ACTIVE link. Throws INVALID_STATE, INVALID_MAX_USES, INVALID_EXPIRES_AT, INVALID_REDIRECT_URLS. */
    async updateLink(principal: Principal, id: string, change: LinkChange): Promise<LinkRow> {
      checkRedirects(change.redirect_urls, settings.sandbox)
      return db.tx(async (tx) => {
        let link = await lockLink(tx, principal, id)
        if (link.state !== 'ACTIVE') throw linkEnded(link.state)
        if (namesNothing(change)) return link
        while (
          change.max_uses != null &&
          change.max_uses <= takenUses(link) &&
          (await payments.endOverdueCodes(tx, id))
        )
          link = await lockLink(tx, principal, id)
        const changed = await store.updateLink(tx, changedLink(link, change), clock.now())
        if (changed === undefined) throw linkEnded('EXPIRED')
        return changed
      })
    },

    /** Ends an ACTIVE link and what is open of it; one that is CANCELLED stays as it is. Throws INVALID_STATE. */
    cancelLink: (request: KeyedRequest, id: string, reason: string | undefined, present: (link: LinkRow) => unknown) =>
      idempotency.change(request, async (tx) => {
        const link = await lockLink(tx, request.principal, id)
        if (link.state === 'CANCELLED') return { status: 200, body: present(link) }
        if (link.state !== 'ACTIVE') throw linkEnded(link.state)
        const at = clock.now()
        const cancelled = await store.cancelLink(tx, id, reason ?? null, at)
        if (cancelled === undefined) throw linkEnded('EXPIRED')
        await payments.endIntentsOfLink(tx, id, 'CANCELLED', at)
        return { status: 200, body: present(cancelled) }
      }),

    async listLinks(principal: Principal, query: LinkQuery): Promise<Listed<LinkRow>> {
      const pageSize = query.page_size ?? pageSizeDefault
      const bound = [
        'links',
        principal.entityId,
        query.status ?? null,
        query.merchant_branch_reference_number ?? null,
        query.date_from ?? null,
        query.date_to ?? null,
      ]
      const position = positionIn(cursors, query.cursor, bound, notOfThisList)
      const { from, before } = idBounds(query.date_from, query.date_to)
      const { rows, stoppedAt } = await store.listLinks(db, principal, {
        before: position ?? before,
        from,
        statuses: query.status ?? null,
        branchReference: query.merchant_branch_reference_number ?? null,
        rowsMax: pageSize + 1,
      })
      return listedBy(cursors, rows, pageSize, bound, stoppedAt)
    },

    /** Whether a further payment could start now; a link that ended has none. */
    hasFreeUse: async (link: LinkRow): Promise<boolean> =>
      link.state === 'ACTIVE' &&
      (takenUses(link) < (link.type === 'one_time' ? 1 : (link.max_uses ?? Infinity)) ||
        (await payments.hasFreeUse(link.id))),
    findLinkOfIntent: (linkId: string) => store.readLink(db, linkId),
    findLinkByToken: (token: string) => store.findLinkByToken(db, token),
  }
}
