import { readStylesheet } from '../kernel/http/asset.ts'
import { pageAmount } from '../kernel/http/page-amount.ts'
import { attributes, html, htmlString, type HtmlPart } from '../kernel/html.ts'
import type { Language } from '../kernel/language.ts'
import { formatMoney } from '../kernel/money.ts'
import type { ChallengeResult } from '../payments/connectors/simulator-challenges.ts'

/** What the page of a challenge shows. */
export interface ChallengeView {
  readonly language: Language
  readonly payee: string
  /** Minor units. */
  readonly amount: bigint
  readonly currency: string
  readonly cardLastFour: string
  /** Where the answer is posted to. */
  readonly action: string
  readonly returnUrl: string
  readonly otherLanguageUrl: string
}

export const stylesheet = readStylesheet(import.meta.url, 'challenge.css')

const en = {
  language: 'English',
  simulation: 'Simulation: no bank is asked',
  bank: 'Simulated Bank',
  title: 'Confirm your payment',
  about: 'This page stands for the page on which the bank of a cardholder asks for a code. Choose what the payer does.',
  amount: 'Amount',
  payee: 'To',
  card: 'Card',
  cardText: 'ending in',
  passed: 'Approve',
  refused: 'Refuse',
  unavailable: 'Service is down',
  leave: 'Leave without an answer',
  nothingTitle: 'There is nothing to confirm here',
  nothing: 'Go back to the payment page and start again from there.',
  brokenTitle: 'This page does not work right now',
  broken: 'Open it again in a moment.',
}

type Words = typeof en

const fil: Words = {
  language: 'Filipino',
  simulation: 'Simulasyon: walang bangkong tinatanong',
  bank: 'Kunwaring Bangko',
  title: 'Kumpirmahin ang iyong bayad',
  about:
    'Kumakatawan ang pahinang ito sa pahina kung saan humihingi ng code ang bangko ng may-ari ng card. Piliin ang gagawin ng nagbabayad.',
  amount: 'Halaga',
  payee: 'Para sa',
  card: 'Card',
  cardText: 'na nagtatapos sa',
  passed: 'Aprubahan',
  refused: 'Tanggihan',
  unavailable: 'Hindi gumagana ang serbisyo',
  leave: 'Umalis nang walang sagot',
  nothingTitle: 'Walang kukumpirmahin dito',
  nothing: 'Bumalik sa pahina ng pagbabayad at magsimulang muli roon.',
  brokenTitle: 'Hindi gumagana ang pahinang ito sa ngayon',
  broken: 'Buksan itong muli makalipas ang ilang sandali.',
}

const wordsOf: Readonly<Record<Language, Words>> = { en, fil }

/** Where the payer proves, or does not, to be the cardholder. */
export function challengePage(view: ChallengeView): string {
  const words = wordsOf[view.language]
  const answer = (result: ChallengeResult, look: string) =>
    html`<button type="submit" name="result" value="${result}" class="${look}">${words[result]}</button>`
  const rows: [string, HtmlPart][] = [
    [words.amount, pageAmount(formatMoney(view.amount, view.currency, view.language))],
    [words.payee, html`<bdi>${view.payee}</bdi>`],
    [words.card, `${words.cardText} ${view.cardLastFour}`],
  ]
  const other = view.language === 'en' ? 'fil' : 'en'
  return documentOf(
    view.language,
    words.title,
    html`<dl>${rows.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>
<p class="about">${words.about}</p>
<form${attributes({ method: 'post', action: view.action })}>
${answer('passed', 'button')}
${answer('refused', 'button second')}
${answer('unavailable', 'button second')}
</form>
<p class="ways"><a href="${view.returnUrl}">${words.leave}</a>
<a${attributes({ href: view.otherLanguageUrl, lang: other, hreflang: other })}>${wordsOf[other].language}</a></p>`,
  )
}

/** `gone`: there is no such challenge; otherwise a failure of ours. */
export function challengeNotice(language: Language, gone: boolean): string {
  const words = wordsOf[language]
  return documentOf(
    language,
    gone ? words.nothingTitle : words.brokenTitle,
    html`<p class="about">${gone ? words.nothing : words.broken}</p>`,
  )
}

function documentOf(language: Language, title: string, body: HtmlPart): string {
  const words = wordsOf[language]
  return htmlString(html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: ${words.bank}</title>
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f6bd4a">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheet.path}" integrity="${stylesheet.integrity}">
</head>
<body>
<header class="ribbon">${words.simulation}</header>
<main>
<p class="bank"><span aria-hidden="true" class="sign"></span>${words.bank}</p>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`)
}
