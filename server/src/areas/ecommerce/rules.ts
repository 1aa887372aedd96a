import { idsBetween } from '../../kernel/ids.ts'
import { linesTotal } from '../../kernel/money.ts'
import { msOf } from '../../kernel/timestamp.ts'
import { webAddressProblem, webAddressWords } from '../../kernel/web-address.ts'
import { refuse } from './errors.ts'
import type { LinkChange, NewIntentRequest, NewLink } from './requests.ts'
import type { LinkRow } from './store.ts'

const dayMs = 86_400_000

export const notFound = () => refuse('NOT_FOUND', 'There is no such resource for this key.')

export const checkCurrency = (currency: string, currencies: readonly string[]): void => {
  if (!currencies.includes(currency)) {
    throw refuse('INVALID_CURRENCY', `currency: must be one of ${currencies.join(', ')}.`, 'currency', 'one_of')
  }
}

export const checkRedirects = (urls: LinkChange['redirect_urls'], sandbox: boolean): void => {
  for (const [name, url] of Object.entries(urls ?? {})) {
    if (url === null) continue
    const problem = webAddressProblem(url, { loopbackHttp: sandbox, fragment: true })
    if (problem !== null)
      throw refuse(
        'INVALID_REDIRECT_URLS',
        `redirect_urls.${name}: ${webAddressWords(problem, { loopbackHttp: sandbox })}`,
        `redirect_urls.${name}`,
        problem,
      )
  }
}

/** When a payment ends that asks for this time or for none: in a day, and never after its link. */
export const expiryOf = (text: string | undefined, at: Date, latest?: Date): Date => {
  const wanted = text === undefined ? new Date(at.getTime() + dayMs) : new Date(msOf(text))
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

export function checkTotal(input: NewLink): void {
  const total = linesTotal(
    input.line_items.map(({ unit_price, quantity }) => ({ unitPrice: BigInt(unit_price), quantity: BigInt(quantity) })),
  )
  if ('refusal' in total || total.minor !== BigInt(input.amount)) {
    throw refuse(
      'INVALID_AMOUNT',
      'amount: must equal the sum of unit_price × quantity.',
      'amount',
      'sum_of_line_items',
    )
  }
}

/** Null is no number of uses, and so none that a one_time link would not take. */
export function checkUsesOfType({ type, max_uses }: Pick<NewLink, 'type' | 'max_uses'>): void {
  if (type === 'one_time' && max_uses != null) {
    throw refuse('INVALID_MAX_USES', 'max_uses: a one_time link takes none.', 'max_uses', 'multi_use_only')
  }
}

export function agreeWithLink(input: NewIntentRequest, link: LinkRow): void {
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

export const linkEnded = (state: string) =>
  refuse('INVALID_STATE', `The link is ${state}; it cannot be changed any more.`)

/** Of the redirect_urls each is named by itself. */
export const namesNothing = ({ redirect_urls, ...others }: LinkChange): boolean =>
  Object.keys({ ...redirect_urls, ...others }).length === 0

/** A link as a change leaves it. Throws where its uses or its time do not allow that. */
export function changedLink(link: LinkRow, change: LinkChange): LinkRow {
  const { description, order_reference, redirect_urls, max_uses, metadata } = change
  if (max_uses !== undefined) checkMaxUses(link, max_uses)
  const expiresAt = change.expires_at === undefined ? link.expires_at : new Date(msOf(change.expires_at))
  if (change.expires_at !== undefined && expiresAt <= link.expires_at) {
    throw refuse('INVALID_EXPIRES_AT', 'expires_at: must be later than the present one.', 'expires_at', 'later')
  }
  return {
    ...link,
    description: description === undefined ? link.description : description,
    order_reference: order_reference === undefined ? link.order_reference : order_reference,
    redirect_urls: redirect_urls === undefined ? link.redirect_urls : mergedUrls(link.redirect_urls, redirect_urls),
    max_uses: max_uses === undefined ? link.max_uses : max_uses,
    expires_at: expiresAt,
    metadata: metadata ?? link.metadata,
  }
}

/** Successful payments and those being processed. A code whose time is over counts until that is stored. */
export const takenUses = ({ reserved_count, success_count }: LinkRow): number => reserved_count + success_count

function checkMaxUses(link: LinkRow, maxUses: number | null): void {
  checkUsesOfType({ type: link.type, max_uses: maxUses })
  if (maxUses !== null && maxUses <= takenUses(link)) {
    throw refuse(
      'INVALID_MAX_USES',
      'max_uses: must be greater than the successful payments and those being processed together.',
      'max_uses',
      'greater_than_taken',
    )
  }
}

/** Null when there are none. */
export function mergedUrls(
  present: LinkRow['redirect_urls'],
  changed: NonNullable<LinkChange['redirect_urls']>,
): LinkRow['redirect_urls'] {
  const merged = Object.entries({ ...present, ...changed }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  return merged.length === 0 ? null : Object.fromEntries(merged)
}

/** Both dates exclusive. Throws INVALID_DATE_RANGE where the first is the later one. */
export function idBounds(from: string | undefined, to: string | undefined): { from: string; before: string } {
  const bounds = idsBetween(from, to)
  if (bounds !== null) return bounds
  throw refuse('INVALID_DATE_RANGE', 'date_from: must not be later than date_to.', 'date_from', 'not_after_date_to')
}
