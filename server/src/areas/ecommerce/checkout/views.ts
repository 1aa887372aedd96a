import type { Language } from '../../../kernel/language.ts'
import { formatMoney } from '../../../kernel/money.ts'
import type { Intent, Receipt } from '../../../payments/intent.ts'
import { attemptsMax, type ShownStatus } from '../../../payments/machine.ts'
import {
  linkInUseAfterCode,
  paidLink,
  refusedAndClosed,
  refusedAndClosedAfterCode,
  takesNone,
  userMessageOf,
} from '../../../payments/messages.ts'
import type { LinkRow } from '../store.ts'
import type { CodeView } from './code-page.ts'
import type { Following } from './page.ts'
import type { LineItemView, PayView } from './pay-page.ts'
import type { ResultView } from './result-page.ts'
import { texts } from './texts.ts'
import type { ResultKind, Texts } from './texts.ts'

/** Where a page stands: its language, and its own address in that language and in the other. */
export interface PageAddress {
  readonly language: Language
  readonly sandbox: boolean
  readonly url: string
  readonly otherLanguageUrl: string
}

/** The page with a word of what it is to show, or to leave. */
export const urlWith = ({ url }: Pick<PageAddress, 'url'>, word: 'stay' | 'full' | 'untried'): string =>
  `${url}${url.includes('?') ? '&' : '?'}${word}=1`

const following = (address: PageAddress, { attemptCount }: Intent, seconds: number, stay: boolean): Following =>
  stay ? { againUrl: address.url } : { seconds, stayUrl: urlWith(address, 'stay'), attempts: attemptCount }

export interface Payee {
  readonly merchantName: string
}

// As long as a payer must have to stop it (WCAG 2.2.1).
const redirectSeconds = 20
const followSeconds = 3
const challengeFollowSeconds = 10

// Who opens a receipt again wants to read it, and a payment that was given back is no success to lead back from.
const newsMs = 60_000
const leadsBackByItself = ({ readAt, shown }: Intent, refunded: bigint): boolean =>
  refunded === 0n && readAt.getTime() - shown.updatedAt.getTime() < newsMs

const lines = (link: LinkRow, language: Language): LineItemView[] =>
  link.line_items.map((item) => ({
    name: item.name,
    quantity: item.quantity,
    unitPrice: formatMoney(BigInt(item.unit_price), link.currency, language),
    total: formatMoney(BigInt(item.unit_price) * BigInt(item.quantity), link.currency, language),
  }))

export type FormOf = Pick<PayView, 'nonce' | 'csrf' | 'givenAt'> &
  Partial<Pick<PayView, 'problem' | 'declined' | 'offersCode' | 'expiresAt'>>

const common = ({ language, sandbox, otherLanguageUrl }: PageAddress, { merchantName }: Payee) => ({
  language,
  sandbox,
  otherLanguageUrl,
  merchantName,
})

export function payViewOfLink(link: LinkRow, payee: Payee, address: PageAddress, form: FormOf): PayView {
  return {
    ...common(address, payee),
    currency: link.currency,
    amount: formatMoney(link.amount, link.currency, address.language),
    description: link.description ?? undefined,
    orderReference: link.order_reference ?? undefined,
    lineItems: lines(link, address.language),
    expiresAt: link.expires_at,
    action: address.url,
    ...form,
  }
}

/** The form of an intent. Of an intent of a link it shows the link's lines; after a refusal, the refusal and the merchant's way out. */
export function payViewOfIntent(
  intent: Intent,
  link: LinkRow | undefined,
  payee: Payee,
  address: PageAddress,
  form: FormOf,
): PayView {
  const refused = intent.shown.status === 'DECLINED' || intent.shown.status === 'FAILED'
  const message = intent.shown.userMessage?.[address.language]
  return {
    ...common(address, payee),
    currency: intent.currency,
    amount: formatMoney(intent.amount, intent.currency, address.language),
    description: intent.description ?? undefined,
    orderReference: intent.orderReference ?? undefined,
    lineItems: link === undefined ? [] : lines(link, address.language),
    expiresAt: intent.expiresAt,
    action: address.url,
    backUrl: refused ? intent.redirectUrls?.['declined'] : undefined,
    ...(refused && message !== undefined ? { problem: { message }, declined: true } : {}),
    ...(codeRanOut(intent) ? { problem: codeIsOver(texts(address.language)) } : {}),
    ...form,
  }
}

/** Whether the processor or the payer's bank may still bring the intent's success on. */
export const isUnderWay = ({ shown }: Intent): boolean =>
  shown.status === 'PROCESSING' || shown.status === 'REQUIRES_ACTION'

/** Whether the intent waits for the bank to pay its code. */
export const waitsForBank = ({ shown, latestAttempt }: Intent): boolean =>
  shown.status === 'REQUIRES_ACTION' && latestAttempt?.method === 'qrph'

const leavingCode: ReadonlySet<ShownStatus> = new Set(['ACTIVE', 'EXPIRED', 'CANCELLED', 'CONSUMED'])

/** Whether an unpaid intent had a code that has ended: nobody here knows what its bank has taken for it. */
export const leavesCode = ({ shown, hadCode }: Intent): boolean => hadCode && leavingCode.has(shown.status)

/** Whether the latest thing that happened to an open intent is that its code expired. */
export const codeRanOut = ({ shown, latestAttempt }: Intent): boolean =>
  shown.status === 'ACTIVE' && latestAttempt?.code?.hasExpired === true

const codeIsOver = ({ codeExpired: message, codeExpiredHeading: heading }: Texts) => ({ message, heading })

/** What an open intent says whose challenge was passed while others had the last use of its link, once one is free. */
export const problemWhenFree = (intent: Intent, { language }: PageAddress): FormOf['problem'] => {
  const { freeAgain: message, freeAgainHeading: heading } = texts(language)
  return intent.shown.status === 'ACTIVE' && intent.latestAttempt?.method !== 'qrph' ? { message, heading } : undefined
}

/** What an intent says to whoever sent a card, or asked for a code, that was not tried. Of a code that ran out it tells rather. */
export const untriedOf = (intent: Intent, { language }: PageAddress): string | undefined =>
  intent.attemptCount > 0 && !codeRanOut(intent) ? texts(language).untried : undefined

/** The code that an intent waits for the bank to pay; undefined where it waits for none. */
export function codeViewOfIntent(
  intent: Intent,
  payee: Payee,
  address: PageAddress,
  at: { readonly form: FormOf; readonly stay: boolean } & Pick<CodeView, 'imageUrl' | 'bankUrl' | 'otherWayAction'>,
): CodeView | undefined {
  const code = intent.latestAttempt?.code
  if (!waitsForBank(intent) || code == null) return undefined
  return {
    ...common(address, payee),
    amount: formatMoney(intent.amount, intent.currency, address.language),
    expiresAt: code.expiresAt,
    msLeft: Math.max(code.expiresAt.getTime() - at.form.givenAt.getTime(), 0),
    imageUrl: at.imageUrl,
    text: code.text,
    bankUrl: at.bankUrl,
    otherWayAction: at.otherWayAction,
    nonce: at.form.nonce,
    csrf: at.form.csrf,
    following: following(address, intent, followSeconds, at.stay),
  }
}

const kindOfEnd = { CONSUMED: 'used_up', EXPIRED: 'expired', CANCELLED: 'cancelled' } as const satisfies Record<
  string,
  ResultKind
>

/** Whether the intent was not paid, and never will be. */
export const hasEnded = ({ shown }: Intent): boolean => shown.status in kindOfEnd

const open: ReadonlySet<ShownStatus> = new Set(['ACTIVE', 'DECLINED', 'FAILED'])

/** Whether the intent is open, and was tried as often as it may be. */
export const isWornOut = ({ shown, attemptCount }: Intent): boolean =>
  open.has(shown.status) && attemptCount >= attemptsMax

/** Whether somebody has paid with it, or is paying. */
const hasPayment = (link: LinkRow): boolean => link.success_count + link.reserved_count > 0

/** A link that cannot be paid any more. */
export function endViewOfLink(link: LinkRow, payee: Payee, address: PageAddress): ResultView | undefined {
  if (link.state === 'ACTIVE') return undefined
  const unpaid = { status: link.state, category: null, reason: null, byCode: link.had_code }
  const message = hasPayment(link) ? paidLink[link.state] : userMessageOf(unpaid)
  const back = link.state === 'EXPIRED' ? link.redirect_urls?.['expired'] : undefined
  return {
    ...common(address, payee),
    kind: kindOfEnd[link.state],
    amount: formatMoney(link.amount, link.currency, address.language),
    message: message?.[address.language] ?? '',
    redirect: back === undefined ? undefined : { url: back },
  }
}

/** A link whose last free use is being paid at this moment: by whom nobody knows, also for whoever comes with an intent of it. */
export function busyViewOfLink(link: LinkRow, payee: Payee, address: PageAddress, intent?: Intent): ResultView {
  return {
    ...common(address, payee),
    kind: 'fully_reserved',
    amount: formatMoney(link.amount, link.currency, address.language),
    message: (intent?.hadCode === true ? linkInUseAfterCode : paidLink.ACTIVE)[address.language],
    retryUrl: address.url,
  }
}

/** A link or an intent that could be paid, of a merchant that takes no payments. */
export function closedViewOf(
  { amount, currency }: { readonly amount: bigint; readonly currency: string },
  payee: Payee,
  address: PageAddress,
): ResultView {
  return {
    ...common(address, payee),
    kind: 'closed',
    amount: formatMoney(amount, currency, address.language),
    message: takesNone[address.language],
    retryUrl: address.url,
  }
}

/** The same of an intent: what became of its last attempt is told before that, with the merchant's way out. */
export function closedViewOfIntent(intent: Intent, payee: Payee, address: PageAddress): ResultView {
  const { status } = intent.shown
  if (status !== 'DECLINED' && status !== 'FAILED') return closedViewOf(intent, payee, address)
  const back = intent.redirectUrls?.['declined']
  return {
    ...closedViewOf(intent, payee, address),
    kind: status === 'DECLINED' ? 'declined' : 'failed',
    message: (intent.hadCode ? refusedAndClosedAfterCode : refusedAndClosed)[address.language],
    redirect: back === undefined ? undefined : { url: back },
  }
}

/** What a page of an intent says of its state, for the script that follows it; `open` where the payer can still pay. */
export function outcomeOf(intent: Intent): string {
  return waitsForBank(intent) ? 'code' : (outcomes[intent.shown.status] ?? 'open')
}

const cardOf = ({ cardScheme, cardLastFour: lastFour }: Receipt) =>
  lastFour === null ? null : { scheme: cardScheme ?? '', lastFour }

const outcomes: Partial<Record<ShownStatus, ResultKind>> = {
  SUCCEEDED: 'succeeded',
  PROCESSING: 'processing',
  REQUIRES_ACTION: 'challenge',
  ...kindOfEnd,
}

/** How a payment ended, or that it has not yet; undefined while the payer can still pay. */
export function resultViewOfIntent(
  intent: Intent,
  link: LinkRow | undefined,
  payee: Payee,
  address: PageAddress,
  {
    stay,
    challengeUrl,
    linkUrl,
    refunded,
  }: {
    readonly stay: boolean
    readonly challengeUrl: string | undefined
    readonly linkUrl: string | undefined
    readonly refunded: bigint
  },
): ResultView | undefined {
  const { status, userMessage } = intent.shown
  const base = {
    ...common(address, payee),
    // An intent may end before its link, by its own time or its merchant's word.
    withoutLink: link?.state !== status,
    amount: formatMoney(intent.amount, intent.currency, address.language),
    message: userMessage?.[address.language] ?? '',
  }
  // Another payment of the link may be this payer's, made in another tab or visit.
  const ofEnd = (end: 'EXPIRED' | 'CANCELLED'): string =>
    link?.state === end && !intent.hadCode && hasPayment(link) ? paidLink[end][address.language] : base.message
  switch (status) {
    case 'SUCCEEDED': {
      const back = intent.redirectUrls?.['success']
      const { receipt } = intent
      const given = refunded > 0n ? formatMoney(refunded, intent.currency, address.language) : undefined
      const timer =
        !stay && leadsBackByItself(intent, refunded)
          ? { seconds: redirectSeconds, stayUrl: urlWith(address, 'stay') }
          : {}
      const { refunded: message, refundedInPart } = texts(address.language)
      return {
        ...base,
        ...(refunded >= intent.amount
          ? { kind: 'refunded', message }
          : { kind: 'succeeded', notice: given && refundedInPart }),
        receipt:
          receipt === null
            ? undefined
            : {
                ...receipt,
                card: cardOf(receipt),
                orderReference: intent.orderReference ?? undefined,
                description: intent.description ?? undefined,
                items: link?.line_items,
                refunded: given,
              },
        redirect: back === undefined ? undefined : { url: back, ...timer },
      }
    }
    case 'PROCESSING': {
      const { processing, processingStopped } = texts(address.language)
      return {
        ...base,
        kind: 'processing',
        message: stay ? processingStopped : processing,
        following: following(address, intent, followSeconds, stay),
      }
    }
    // Whoever left the challenge, or looks here in another window, can go on with it.
    case 'REQUIRES_ACTION':
      return {
        ...base,
        kind: 'challenge',
        message: texts(address.language).challenge,
        goOnUrl: challengeUrl,
        following: following(address, intent, challengeFollowSeconds, stay),
      }
    case 'EXPIRED': {
      // Its link was the way to it, and still is one: there is nothing to ask the merchant for, or to go back for.
      if (intent.isOfForm && link?.state === 'ACTIVE') {
        const { startAgain, startAgainAfterCode } = texts(address.language)
        return {
          ...base,
          kind: 'expired',
          message: intent.hadCode ? startAgainAfterCode : startAgain,
          retryUrl: linkUrl,
        }
      }
      const back = intent.redirectUrls?.['expired']
      const redirect = back === undefined ? undefined : { url: back }
      return { ...base, kind: 'expired', message: ofEnd(status), redirect }
    }
    // The payment that used the link up may be this payer's, made in another visit.
    case 'CONSUMED':
      return {
        ...base,
        kind: kindOfEnd[status],
        message: leavesCode(intent) ? base.message : paidLink.CONSUMED[address.language],
      }
    case 'CANCELLED':
      return { ...base, kind: kindOfEnd[status], message: ofEnd(status) }
    case 'ACTIVE':
    case 'DECLINED':
    case 'FAILED': {
      if (!isWornOut(intent)) return undefined
      const back = intent.redirectUrls?.['declined']
      const kind = status === 'DECLINED' ? 'declined' : 'failed'
      const { tooManyTries, tooManyTriesAfterCode } = texts(address.language)
      const message = intent.hadCode ? tooManyTriesAfterCode : tooManyTries
      return { ...base, kind, message, redirect: back === undefined ? undefined : { url: back } }
    }
  }
}
