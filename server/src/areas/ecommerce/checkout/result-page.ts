import { html } from '../../../kernel/html.ts'
import type { HtmlPart, HtmlText } from '../../../kernel/html.ts'
import { pageAmount } from '../../../kernel/http/page-amount.ts'
import type { Language } from '../../../kernel/language.ts'
import { webAddress } from '../../../kernel/web-address.ts'
import { cardSchemeName, kahaMark, lineIcon } from './marks.ts'
import { isolated, ownAddress, page, type Following } from './page.ts'
import type { LineItemView } from './pay-page.ts'
import { moment, plainSentence, sentence, texts } from './texts.ts'
import type { ResultKind, Texts } from './texts.ts'

/** How a payment stands, for the payer. The amount comes formatted, the message in the page's language. */
export interface ResultView {
  readonly kind: ResultKind
  /** The payer came by no link, or it has not ended so: nothing is said of one. */
  readonly withoutLink?: boolean
  readonly language: Language
  readonly merchantName: string
  readonly amount: string
  readonly message: string
  /** What else this payer is to know. */
  readonly notice?: string | undefined
  readonly receipt?: ReceiptView | undefined
  /**
   * The way back to the merchant. With `seconds` the page goes there by itself; a browser without scripts can only be stopped by
   * `stayUrl`, this page without the timer.
   */
  readonly redirect?:
    { readonly url: string; readonly seconds?: number | undefined; readonly stayUrl?: string | undefined } | undefined
  readonly retryUrl?: string | undefined
  /** Where the challenge is held that the payment waits for. */
  readonly goOnUrl?: string | undefined
  /** Of a payment that goes on elsewhere. */
  readonly following?: Following | undefined
  readonly sandbox: boolean
  readonly otherLanguageUrl?: string | undefined
}

export interface ReceiptView {
  readonly approvalCode: string
  readonly transactionId: string
  readonly invoiceNumber: string
  /** Null for a payment by QR Ph. */
  readonly card: { readonly scheme: string; readonly lastFour: string } | null
  readonly completedAt: Date
  /** What was paid for, in the merchant's words. */
  readonly orderReference?: string | undefined
  readonly description?: string | undefined
  readonly items?: readonly Pick<LineItemView, 'name' | 'quantity'>[] | undefined
  /** What was given back, formatted. */
  readonly refunded?: string | undefined
}

/** The page after paying, and the page of a link that cannot be paid. */
export function resultPage(view: ResultView): string {
  const words = texts(view.language)
  const own: Partial<Record<ResultKind, string>> = view.withoutLink === true ? words.resultWithoutLink : {}
  const outcome = own[view.kind] ?? words.result[view.kind]
  const { amount } = view
  const sum = view.kind === 'refunded' ? words.amountFrom : words.amountTo
  const returnUrl = webAddress(view.redirect?.url)?.href
  return page({
    language: view.language,
    title: `${outcome}: ${plainSentence(sum, { amount, merchant: view.merchantName })}`,
    sandbox: view.sandbox,
    shape: 'slip',
    outcome: view.kind,
    lid: html`<div class="emblem">${emblems[view.kind]}</div>
<h1>${outcome}</h1>
<p class="sum">${sentence(sum, { amount: html`<b>${pageAmount(amount)}</b>`, merchant: isolated(view.merchantName) })}</p>`,
    sheet: html`<p class="message">${view.message}</p>
${view.notice !== undefined && html`<p class="message">${view.notice}</p>`}
${returnUrl !== undefined && redirectNotice(view, words)}
${view.receipt && receipt(view.receipt, view, words)}
${actions(view, returnUrl, words)}`,
    otherLanguageUrl: view.otherLanguageUrl,
    leaving: leaving(view, returnUrl),
    following: goesOn(view.kind) ? view.following : undefined,
  })
}

const emblems: Readonly<Record<ResultKind, HtmlText>> = {
  succeeded: lineIcon('done'),
  refunded: lineIcon('back'),
  declined: lineIcon('refused'),
  failed: lineIcon('attention'),
  processing: kahaMark(44),
  challenge: lineIcon('lock'),
  expired: lineIcon('waiting'),
  cancelled: lineIcon('refused'),
  used_up: lineIcon('done'),
  fully_reserved: lineIcon('waiting'),
  closed: lineIcon('attention'),
}

function receipt(lines: ReceiptView, view: ResultView, words: Texts): HtmlText {
  const { card, refunded, orderReference, description, items = [] } = lines
  const row = (term: string, value: string | undefined, shown: (text: string) => HtmlPart): [string, HtmlPart][] =>
    value === undefined ? [] : [[term, shown(value)]]
  const paidBy: [string, HtmlPart][] =
    card === null
      ? [
          [words.receiptMethod, 'QR Ph'],
          [words.receiptBankReference, lines.approvalCode],
        ]
      : [
          [words.receiptCard, sentence(words.receiptCardText, { ...card, scheme: cardSchemeName(card.scheme) })],
          [words.receiptApprovalCode, lines.approvalCode],
        ]
  const rows: [string, HtmlPart][] = [
    [words.receiptAmount, pageAmount(view.amount)],
    ...row(words.receiptRefunded, refunded, pageAmount),
    [words.receiptPaidTo, isolated(view.merchantName)],
    ...row(words.receiptOrder, orderReference, isolated),
    ...(description === undefined && items.length === 0
      ? []
      : [[words.receiptFor, boughtOf(description, items, words)] satisfies [string, HtmlPart]]),
    [words.receiptDate, sentence(words.receiptDateZone, { time: moment(view.language, lines.completedAt) })],
    ...paidBy,
    [words.receiptInvoiceNumber, lines.invoiceNumber],
    [words.receiptTransactionId, lines.transactionId],
  ]
  return html`<section class="receipt" aria-labelledby="receipt-heading">
<h2 id="receipt-heading">${words.receipt}</h2>
<dl>${rows.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>
</section>`
}

const itemsShownMax = 6

function boughtOf(description: string | undefined, items: NonNullable<ReceiptView['items']>, words: Texts): HtmlPart {
  const named = items.map(({ name, quantity }) => [quantity > 1 && `${quantity} × `, isolated(name)])
  const shown = items.length > itemsShownMax ? [sentence(words.items, { count: items.length })] : named
  const all = description === undefined ? shown : [isolated(description), ...shown]
  return all.map((line, index) => [index > 0 && html`<br>`, line])
}

function actions(view: ResultView, returnUrl: string | undefined, words: Texts): HtmlPart {
  const retryUrl = ownAddress(view.retryUrl)
  const goOnUrl = webAddress(view.goOnUrl)?.href
  const merchant = isolated(view.merchantName)
  const retry = retryUrl !== undefined && html`<a class="button" href="${retryUrl}">${words.retry}</a>`
  // The first action is the filled button; next to a retry, going back is the quieter one.
  const look = retry === false ? 'button' : 'button second'
  return html`${goOnUrl !== undefined && html`<a class="button" href="${goOnUrl}" rel="noreferrer">${words.goOn}</a>`}
${retry}
${
  returnUrl !== undefined &&
  html`<a class="${look}" id="return" href="${returnUrl}" rel="noreferrer"><span>${sentence(words.returnTo, { merchant })}</span></a>`
}`
}

// Before the receipt, for who reads it must know that it goes away.
function redirectNotice(view: ResultView, words: Texts): HtmlPart {
  const { seconds, stayUrl } = view.redirect ?? {}
  if (seconds === undefined) return null
  const stay = ownAddress(stayUrl)
  const count = html`<span id="seconds">${seconds}</span>`
  const notice = sentence(words.redirectNotice, { merchant: isolated(view.merchantName), seconds: count })
  return html`<div class="leaving" id="leaving"><p>${notice}</p>
<button class="link" type="button" id="stay" hidden>${words.stay}</button>
${stay !== undefined && html`<noscript><a class="link" href="${stay}">${words.stay}</a></noscript>`}</div>`
}

const goesOn = (kind: ResultKind): boolean => kind === 'processing' || kind === 'challenge'

function leaving({ redirect }: ResultView, returnUrl: string | undefined) {
  return redirect?.seconds === undefined || returnUrl === undefined
    ? undefined
    : { seconds: redirect.seconds, url: returnUrl }
}
