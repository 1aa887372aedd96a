import { attributes, html, htmlString, type HtmlPart } from '../kernel/html.ts'
import { readAsset, readStylesheet } from '../kernel/http/asset.ts'
import { pageAmount } from '../kernel/http/page-amount.ts'
import type { Language } from '../kernel/language.ts'
import { formatMoney } from '../kernel/money.ts'
import type { CodeAtBank } from '../payments/codes.ts'
import { currencyIn, type Outcome, type Reading } from './bank.ts'
import { bankWords } from './bank-texts.ts'

// The same house as the page of the simulated card issuer.
export const stylesheet = readStylesheet(import.meta.url, 'bank.css', ['challenge.css', 'bank-page.css'])
export const script = readAsset(import.meta.url, 'bank-page.js', 'text/javascript; charset=utf-8')

/** Where the pages are, in one language. */
export interface BankPlace {
  readonly language: Language
  /** Of the empty bank app, and where its forms are posted to. */
  readonly url: string
  readonly otherLanguageUrl: string
}

/** The empty bank app, or what was wrong with what it was given; `isEmpty`: that was nothing, neither a picture nor a text. */
export function scanPage(
  place: BankPlace,
  given: { readonly problem?: string; readonly text?: string; readonly isEmpty?: boolean } = {},
): string {
  const words = bankWords[place.language]
  const { problem, text = '', isEmpty = false } = given
  const about = problem === undefined ? 'about' : 'problem'
  return documentOf(
    place,
    { title: words.scanTitle, state: 'scan' },
    html`<h1>${words.scanTitle}</h1>
<p class="about" id="about">${words.scanAbout}</p>
${problem !== undefined && html`<p class="problem" id="problem" role="alert">${problem}</p>`}
<form${attributes({ method: 'post', action: place.url, enctype: 'multipart/form-data', 'data-scan': true })}>
<div class="picture">
${frame}
<label for="picture">${words.picture}</label>
<p class="hint" id="picture-hint">${words.pictureHint}<span data-scripted hidden>. ${words.pasteHint}</span></p>
<input${attributes({ type: 'file', id: 'picture', name: 'picture', accept: 'image/png,image/jpeg', 'aria-describedby': `picture-hint ${about}` })}>
</div>
<p class="or"><span>${words.or}</span></p>
<div class="field">
<label for="code">${words.text}</label>
<textarea${attributes({ id: 'code', name: 'code', rows: 3, maxlength: 2048, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', placeholder: words.textHint, 'aria-invalid': isEmpty ? 'true' : undefined, 'aria-describedby': isEmpty ? 'problem' : undefined })}>${text}</textarea>
</div>
<button class="button" type="submit">${words.read}</button>
</form>`,
  )
}

/** What the bank app shows of a code that was read: to be paid, done with, or refused with the reason. */
export function codePage(place: BankPlace, text: string, reading: Reading): string {
  const { code, made, refusal } = reading
  if (made !== undefined && (refusal === undefined || refusal.why === 'final'))
    return made.state === 'PENDING' ? reviewPage(place, text, code, made) : resultPage(place, code, made)
  const words = bankWords[place.language]
  const whys = {
    person: words.person,
    another_bank: words.another_bank,
    exact_amount: words.otherAmount,
    known_code: words.unknown,
  }
  const rule = refusal?.rule ?? 'known_code'
  const amount = code.amount === null ? words.payerChooses : `${currencyIn(code)}\u00a0${code.amount}`
  return refusedPage(place, whys[rule as keyof typeof whys] ?? words.unknown, { rule }, [
    [words.payee, payee(code)],
    [words.amount, amount],
    [words.receivingBank, code.acquirer],
    ...(code.reference === null ? [] : [[words.ownReference, code.reference] as const]),
  ])
}

/** A code that cannot be paid here, or no code at all: precisely why. */
export function refusedPage(
  place: BankPlace,
  why: string,
  { message, rule }: { readonly message?: string; readonly rule?: string | undefined },
  read: readonly Line[] = [],
): string {
  const words = bankWords[place.language]
  const reasons: readonly Line[] = [
    ...(message === undefined ? [] : [[words.reason, html`<span lang="en">${message}</span>`] as const]),
    ...(rule === undefined ? [] : [[words.rule, html`<code>${rule}</code>`] as const]),
  ]
  return documentOf(
    place,
    { title: words.refusedTitle, state: 'refused' },
    html`<div class="verdict">${seal('refused')}
<h1>${words.refusedTitle}</h1>
<p class="about">${why}</p></div>
${lines([...read, ...reasons])}`,
    true,
  )
}

/** There is no page here, or it does not work. `leadsBack`: the start of the bank app is within reach. */
export function bankNotice(
  place: BankPlace,
  { title, about }: { title: string; about: string },
  leadsBack = true,
): string {
  return documentOf(place, { title, state: 'notice' }, html`<h1>${title}</h1><p class="about">${about}</p>`, leadsBack)
}

function reviewPage(place: BankPlace, text: string, code: Reading['code'], made: CodeAtBank): string {
  const words = bankWords[place.language]
  const amount = pageAmount(formatMoney(made.amount, made.currency, place.language))
  const [pay, paid] = words.pay.split('{amount}')
  const answer = (outcome: Outcome, look: string, name: HtmlPart) =>
    html`<button type="submit" name="outcome" value="${outcome}" class="${look}">${name}</button>`
  return documentOf(
    place,
    { title: words.reviewTitle, state: 'review' },
    html`<h1>${words.reviewTitle}</h1>
<div class="sum"><p class="amount">${amount}</p><p class="to"><bdi>${code.name}</bdi><span class="hint">${code.city}</span></p></div>
${lines([
  [words.reference, made.reference],
  ...(code.terminal === null ? [] : [[words.branch, code.terminal] as const]),
  [words.receivingBank, code.acquirer],
  [words.validUntil, timeOf(made.expiresAt, place.language)],
])}
<p class="about">${words.about}</p>
<form${attributes({ method: 'post', action: place.url })}>
<input type="hidden" name="code" value="${text}">
${answer('SUCCESS', 'button', html`<span>${pay}${amount}${paid}</span>`)}
<div class="pair">
${answer('DECLINED', 'button second', words.decline)}
${answer('EXPIRED', 'button second', words.expire)}
</div>
</form>`,
    true,
  )
}

function resultPage(place: BankPlace, code: Reading['code'], made: CodeAtBank): string {
  const words = bankWords[place.language]
  const [title, about, look] = {
    PENDING: ['', '', 'refused'],
    PAID: [words.PAID, words.paidAbout, 'paid'],
    DECLINED: [words.DECLINED, words.declinedAbout, 'refused'],
    EXPIRED: [words.EXPIRED, words.expiredAbout, 'expired'],
  }[made.state] as [string, string, keyof typeof seals]
  return documentOf(
    place,
    { title, state: made.state.toLowerCase() },
    html`<div class="verdict">${seal(look)}
<h1>${title}</h1>
<p class="about">${about}</p></div>
<div class="sum"><p class="amount">${pageAmount(formatMoney(made.amount, made.currency, place.language))}</p><p class="to"><bdi>${code.name}</bdi><span class="hint">${code.city}</span></p></div>
${lines([
  [words.reference, made.reference],
  [words.at, timeOf(made.stateAt, place.language)],
])}`,
    true,
  )
}

type Line = readonly [term: string, value: HtmlPart]

const lines = (all: readonly Line[]) =>
  html`<dl>${all.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`

const payee = ({ name, city }: Reading['code']) => html`<bdi>${name}</bdi>, ${city}`

const timeOf = (at: Date, language: Language): HtmlPart =>
  html`<time datetime="${at.toISOString()}">${at.toLocaleString(language === 'fil' ? 'fil-PH' : 'en-PH', { timeZone: 'Asia/Manila', dateStyle: 'medium', timeStyle: 'short' })}</time>`

const seals = {
  paid: html`<path d="M9 16.5l5 5L23.5 11"/>`,
  refused: html`<path d="M11 11l10 10M21 11L11 21"/>`,
  expired: html`<path d="M16 9v7.5l5 3"/>`,
}

const seal = (look: keyof typeof seals) =>
  html`<p class="seal" data-look="${look}" aria-hidden="true"><svg viewBox="0 0 32 32" width="32" height="32">${seals[look]}</svg></p>`

// The corners of a viewfinder around a code.
const frame = html`<svg class="frame" viewBox="0 0 48 48" width="48" height="48" aria-hidden="true"><path d="M4 14V8a4 4 0 0 1 4-4h6M34 4h6a4 4 0 0 1 4 4v6M44 34v6a4 4 0 0 1-4 4h-6M14 44H8a4 4 0 0 1-4-4v-6"/><path d="M14 14h7v7h-7zM27 14h7v7h-7zM14 27h7v7h-7zM27 27h3M34 27v3M27 31v3h3M34 34h0"/></svg>`

function documentOf(
  { language, url, otherLanguageUrl }: BankPlace,
  { title, state }: { title: string; state: string },
  body: HtmlPart,
  leadsBack = false,
): string {
  const words = bankWords[language]
  const other = language === 'en' ? 'fil' : 'en'
  return htmlString(html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: ${words.bank}</title>
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f6bd4a">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheet.path}" integrity="${stylesheet.integrity}">
<script type="module" src="${script.path}" integrity="${script.integrity}"></script>
</head>
<body data-state="${state}">
<header class="ribbon">${words.simulation}</header>
<main>
<p class="bank"><span aria-hidden="true" class="sign"></span>${words.bank}</p>
${body}
<p class="ways">${leadsBack && html`<a href="${url}">${words.another}</a>`}
<a${attributes({ href: otherLanguageUrl, lang: other, hreflang: other })}>${bankWords[other].language}</a></p>
</main>
</body>
</html>
`)
}
