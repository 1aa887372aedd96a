import type { FastifyReply } from 'fastify'
import type { Intent } from '../../../payments/intent.ts'
import { refuse } from '../errors.ts'
import type { EcommerceService } from '../service.ts'
import type { LinkRow } from '../store.ts'
import type { CheckoutDependencies } from './dependencies.ts'
import type { PageAddresses, TokenRequest } from './page-addresses.ts'
import { codeRanOut, isUnderWay, leavesCode, waitsForBank, type PageAddress } from './views.ts'

const tokenForm = /^[\w-]{22}$/
/** How many of each are kept: for the pages of one link, and for all pages together, of which those of intents know nothing else. */
const [keptOfLink, keptOfAll] = [5, 10]
// An answer with many lines may be more than a proxy takes; the next ends more.
const endedAtOnceMax = 8

/** What a browser remembers: the tokens of the payments that it made by links, and the nonces of the forms that it was given. */
type Remembered = 'payment' | 'form'

const cookieOf = (what: Remembered): string => `kaha_${what}`

// For all pages each has a cookie of its own, named by its first characters and with when it was remembered: one that held them all would be
// replaced by whichever of two answers to two tabs comes last.
const nameCharacters = 8
/** Milliseconds since 1970 as a text that is as long for any of them, and as short as may be. */
const momentOf = (ms: number): string => ms.toString(36).padStart(9, '0')
const ownCookieOf = (what: Remembered, one: string): string => `${cookieOf(what)}_${one.slice(0, nameCharacters)}`

const pairsOf = (cookies: string | undefined): string[][] =>
  cookies?.split(';').map((pair) => pair.trim().split('=')) ?? []

/** What has a cookie of its own, the last that was remembered first; of one moment what a browser has had for less long, which it sends later. */
function withOwnCookie(what: Remembered, cookies: string | undefined): string[] {
  const start = ownCookieOf(what, '')
  return pairsOf(cookies)
    .filter(([key = '']) => key.startsWith(start))
    .map(([key = '', value = '']) => {
      const [rest = '', at = ''] = value.split('.')
      return { one: key.slice(start.length) + rest, at }
    })
    .filter(({ one }) => tokenForm.test(one))
    .toReversed()
    .toSorted((a, b) => b.at.localeCompare(a.at))
    .map(({ one }) => one)
}

/** All that was remembered, of the link first, read from the `Cookie` of a request. Whatever cannot be ours is not asked about. */
function remembered(what: Remembered, cookies: string | undefined): string[] {
  const listed = pairsOf(cookies).flatMap(([key, value = '']) => (key === cookieOf(what) ? value.split('.') : []))
  const values = [...listed.filter((one) => tokenForm.test(one)), ...withOwnCookie(what, cookies)]
  return [...new Set(values)].slice(0, keptOfLink + keptOfAll)
}

/**
 * `waits`: for the bank to pay its code. `ranOut`: the time of that is over. `isLeft`: it is not paid, or was given back in full, and nothing
 * of it is under way. `hasReceipt`: it was paid, given back or not.
 */
export interface OwnPayment extends PageAddress {
  readonly token: string
  readonly waits: boolean
  readonly ranOut: boolean
  readonly isLeft: boolean
  readonly isPaid: boolean
  readonly hasReceipt: boolean
}

const isPaid = ({ shown }: Intent): boolean => shown.status === 'SUCCEEDED'

// What may still be paid comes first: who pays beside it pays twice.
const ranks: readonly ((intent: Intent) => boolean)[] = [waitsForBank, isUnderWay, isPaid, leavesCode]

/** Past the ranks for an intent that there is nothing to tell of: nothing of it is paid, or may be. */
const rankOf = (intent: Intent): number => [...ranks, () => true].findIndex((is) => is(intent))

/** What a form has to tell of: what is paid or under way, not a code that was left or what was given back. */
export const toldOf = (own: OwnPayment | undefined): OwnPayment | undefined => (own?.isLeft === true ? undefined : own)

/** What a payer came for: the link or the intent of the address, and what this browser did with the link before. */
export function createVisits({
  ecommerce,
  clock,
  addresses,
  pageAddressOf,
}: {
  readonly ecommerce: EcommerceService
  readonly clock: CheckoutDependencies['clock']
  readonly addresses: CheckoutDependencies['addresses']
  readonly pageAddressOf: PageAddresses['pageAddressOf']
}) {
  const findLink = async (request: TokenRequest): Promise<LinkRow> => {
    const link = await found(request.params.token, ecommerce.findLinkByToken)
    if (link === undefined) throw refuse('NOT_FOUND', 'There is no such payment link.')
    return link
  }

  const findIntent = async (request: TokenRequest): Promise<Intent> => {
    const intent = await found(request.params.token, ecommerce.findIntentByToken)
    if (intent === undefined) throw refuse('NOT_FOUND', 'There is no such payment.')
    return intent
  }

  /**
   * The page of the payment that this browser has made with the link, is making, or has shown a code for, except by the intent `but`. Of
   * several the one that most is to be told of, whichever it began last: others may have failed since.
   */
  const ownPayment = async (request: TokenRequest, linkId: string, but?: Intent): Promise<OwnPayment | undefined> => {
    const { cookie } = request.headers
    const [nonces, tokens] = [remembered('form', cookie), remembered('payment', cookie)]
    if (nonces.length === 0 && tokens.length === 0) return undefined
    const made = await ecommerce.findIntentsMade(linkId, nonces, tokens)
    const refunded = await Promise.all(made.filter(isPaid).map(ecommerce.refundedOf))
    const givenBack = new Set(made.filter(isPaid).filter(({ amount }, index) => refunded[index] === amount))
    const rank = (one: Intent): number => (givenBack.has(one) ? ranks.length - 1 : rankOf(one))
    const [intent] = made
      .filter((one) => one.id !== but?.id && rank(one) < ranks.length)
      .toSorted((a, b) => rank(a) - rank(b) || b.shown.updatedAt.getTime() - a.shown.updatedAt.getTime())
    if (intent === undefined) return undefined
    const token = ecommerce.checkoutTokenOf(intent.id)
    return {
      ...pageAddressOf(request, 'i', token),
      token,
      waits: waitsForBank(intent),
      ranOut: codeRanOut(intent),
      isLeft: givenBack.has(intent) || leavesCode(intent),
      isPaid: isPaid(intent) && !givenBack.has(intent),
      hasReceipt: isPaid(intent),
    }
  }

  /**
   * Has a browser remember something until it is closed, beside what it did before: its way back leads to the result, by the form where the
   * answer to that never came. For one link, in one cookie that goes to no other page, for a browser keeps some hundred and eighty of a site;
   * and the last for all pages, as another tab may still show the form of an intent. All of it is in the pages that this browser has anyway.
   */
  const remember = (
    request: TokenRequest,
    reply: FastifyReply,
    what: Remembered,
    newest: readonly string[],
    link?: LinkRow,
  ): void => {
    const { cookie } = request.headers
    const set = (name: string, value: string, address: string) => {
      const { pathname, protocol } = new URL(address)
      const secure = protocol === 'https:' ? '; Secure' : ''
      reply.header('set-cookie', `${name}=${value}; Path=${pathname}; HttpOnly; SameSite=Lax${secure}`)
    }
    if (link !== undefined) {
      const values = [...new Set([...newest, ...remembered(what, cookie)])].slice(0, keptOfLink)
      set(cookieOf(what), values.join('.'), `${addresses.checkout}/l/${link.token}`)
    }
    const at = momentOf(clock.wall())
    for (const one of newest) set(ownCookieOf(what, one), `${one.slice(nameCharacters)}.${at}`, addresses.checkout)
    const others = withOwnCookie(what, cookie).filter((one) => !newest.includes(one))
    for (const one of others.slice(keptOfAll - newest.length).slice(-endedAtOnceMax))
      set(ownCookieOf(what, one), '; Max-Age=0', addresses.checkout)
  }

  return { findLink, findIntent, ownPayment, remember }
}

/** Whatever cannot be a token of ours, NUL bytes included, is not asked about. */
const found = async <T>(token: string, find: (token: string) => Promise<T | undefined>): Promise<T | undefined> =>
  tokenForm.test(token) ? find(token) : undefined
