import type { Principal } from '../../identity/principal.ts'
import { newId, randomText } from '../../kernel/ids.ts'
import { listedBy, pageSizeDefault, type Listed } from '../../kernel/list.ts'
import { refuse } from './errors.ts'
import type { Request } from './idempotency.ts'
import type { LinkQuery, NewLink } from './requests.ts'
import { checkCurrency, checkRedirects, checkTotal, expiryOf, idBounds, notFound } from './rules.ts'
import type { EcommerceDependencies } from './service.ts'
import { ecommerceStore as store, type LinkRow } from './store.ts'

const tokenCharacters = 22

export function linkCases({ db, clock, cursors, identity, idempotency, settings }: EcommerceDependencies) {
  /** A link as it will be stored, once everything about it has been found right. */
  const prepareLink = async (principal: Principal, input: NewLink): Promise<LinkRow> => {
    checkCurrency(input.currency, settings.currencies)
    checkTotal(input)
    if (input.type === 'one_time' && input.max_uses != null) {
      throw refuse('INVALID_MAX_USES', 'max_uses: a one_time link takes none.', 'max_uses', 'multi_use_only')
    }
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
      return listedBy(cursors, found, pageSize, bound)
    },

    /** Whether a further payment could start now; a link that ended has none. */
    hasFreeUse: (link: LinkRow) =>
      link.state === 'ACTIVE' &&
      link.reserved_count + link.success_count < (link.type === 'one_time' ? 1 : (link.max_uses ?? Infinity)),
    findLinkOfIntent: (linkId: string) => store.readLink(db, linkId),
    findLinkByToken: (token: string) => store.findLinkByToken(db, token),
  }
}
