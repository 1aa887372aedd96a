import { Fault } from '../../../kernel/fault.ts'
import type { Intent } from '../../../payments/intent.ts'
import type { EcommerceService } from '../service.ts'
import type { LinkRow } from '../store.ts'
import type { PageAddresses, TokenRequest } from './page-addresses.ts'
import { codeRanOut, isUnderWay, leavesCode, waitsForBank, type PageAddress } from './views.ts'

const tokenForm = /^[\w-]{22}$/
const names = { payment: 'kaha_payment', form: 'kaha_form' } as const

/** What a browser remembers of a link: the token of the payment that it made there, and the nonce of the form that it was given last. */
type Remembered = keyof typeof names

/**
 * The `Set-Cookie` by which a browser remembers something for one link and until it is closed: its way back leads to the result, by the form
 * where the answer to that never came. Both values are in the pages that this browser has anyway.
 */
export function remember(what: Remembered, value: string, linkUrl: string): string {
  const { pathname, protocol } = new URL(linkUrl)
  return `${names[what]}=${value}; Path=${pathname}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`
}

/** What `remember` left in a browser, read from the `Cookie` of a request. */
function remembered(what: Remembered, cookies: string | undefined): string | undefined {
  const pairs = cookies?.split(';').map((pair) => pair.trim().split('=')) ?? []
  return pairs.find(([key]) => key === names[what])?.[1]
}

/** `waits`: for the bank to pay its code. `ranOut`: the time of that is over. `isLeft`: it is not paid, and nothing of it is under way. */
export interface OwnPayment extends PageAddress {
  readonly token: string
  readonly waits: boolean
  readonly ranOut: boolean
  readonly isLeft: boolean
  readonly isPaid: boolean
}

/** What a payer came for: the link or the intent of the address, and what this browser did with the link before. */
export function createVisits({
  ecommerce,
  pageAddressOf,
}: {
  readonly ecommerce: EcommerceService
  readonly pageAddressOf: PageAddresses['pageAddressOf']
}) {
  const findLink = async (request: TokenRequest): Promise<LinkRow> => {
    const link = await found(request.params.token, ecommerce.findLinkByToken)
    if (link === undefined) throw new Fault('NOT_FOUND', 'There is no such payment link.')
    return link
  }

  const findIntent = async (request: TokenRequest): Promise<Intent> => {
    const intent = await found(request.params.token, ecommerce.findIntentByToken)
    if (intent === undefined) throw new Fault('NOT_FOUND', 'There is no such payment.')
    return intent
  }

  /** The page of the payment that this browser has made with the link, is making, or has shown a code for. */
  const ownPayment = async (request: TokenRequest, link: LinkRow): Promise<OwnPayment | undefined> => {
    const { cookie } = request.headers
    const byForm = (nonce: string) => ecommerce.findIntentByForm(link.id, nonce)
    const made = [
      await found(remembered('form', cookie) ?? '', byForm),
      await found(remembered('payment', cookie) ?? '', ecommerce.findIntentByToken),
    ]
    for (const intent of made) {
      if (intent?.linkId !== link.id) continue
      const waits = waitsForBank(intent)
      const isPaid = intent.shown.status === 'SUCCEEDED'
      const isLeft = leavesCode(intent)
      if (!isPaid && !isLeft && !isUnderWay(intent)) continue
      const token = ecommerce.checkoutTokenOf(intent.id)
      return { ...pageAddressOf(request, 'i', token), token, waits, ranOut: codeRanOut(intent), isLeft, isPaid }
    }
    return undefined
  }

  return { findLink, findIntent, ownPayment }
}

/** Whatever cannot be a token of ours, NUL bytes included, is not asked about. */
const found = async <T>(token: string, find: (token: string) => Promise<T | undefined>): Promise<T | undefined> =>
  tokenForm.test(token) ? find(token) : undefined
