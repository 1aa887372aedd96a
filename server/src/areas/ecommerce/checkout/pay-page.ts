import { attributes, html } from '../../../kernel/html.ts'
import type { HtmlPart, HtmlText } from '../../../kernel/html.ts'
import { pageAmount, plainAmount } from '../../../kernel/http/page-amount.ts'
import type { Language } from '../../../kernel/language.ts'
import { webAddress } from '../../../kernel/web-address.ts'
import { brandMarks, lineIcon } from './marks.ts'
import { isolated, monogram, noAnswer, ownAddress, page, sendingMessages } from './page.ts'
import { moment, plainSentence, sentence, texts } from './texts.ts'
import type { Texts } from './texts.ts'

export type CardField = 'number' | 'expiry' | 'cvc' | 'name'

/** What the page to pay on shows. Amounts come formatted. There is no place for a card: nothing of it is ever shown again. */
export interface PayView {
  readonly language: Language
  readonly merchantName: string
  readonly currency: string
  readonly amount: string
  readonly description?: string | undefined
  readonly orderReference?: string | undefined
  readonly lineItems: readonly LineItemView[]
  readonly expiresAt: Date
  /** Where the form is posted to, as nonce, csrf, number, expiry (MM / YY), cvc, name. */
  readonly action: string
  readonly nonce: string
  readonly csrf: string
  /** Business time of the form: by it a script tells whether a card has expired, whatever the clock of the browser says. */
  readonly givenAt: Date
  /** Why the last submission did not pay; tied to its field where it has one. With a heading of its own it is news, and no error. */
  readonly problem?:
    | { readonly message: string; readonly field?: CardField | undefined; readonly heading?: string | undefined }
    | undefined
  /** The problem is the card's refusal, not a slip of the pen. */
  readonly declined?: boolean | undefined
  /** QR Ph is another way to pay. */
  readonly offersCode?: boolean | undefined
  readonly sandbox: boolean
  /** The page of a payment that this payer has made here before, or that is not paid yet. */
  readonly own?: { readonly url: string; readonly isPaid: boolean } | undefined
  /** Names that payment in what the form sends: whoever sends it was told of it. */
  readonly told?: string | undefined
  readonly backUrl?: string | undefined
  readonly otherLanguageUrl?: string | undefined
}

export interface LineItemView {
  readonly name: string
  readonly quantity: number
  readonly unitPrice: string
  readonly total: string
}

/** The page to pay on: what is bought on the lid, the ways to pay on the sheet. */
export function payPage(view: PayView): string {
  const words = texts(view.language)
  const title = plainSentence(words.payTitle, { amount: view.amount, merchant: view.merchantName })
  const news = view.problem?.heading
  const titleOfProblem = view.declined === true ? words.declinedTitle : words.problemTitle
  const titleTold = news === undefined ? plainSentence(titleOfProblem, { title }) : `${news}: ${title}`
  return page({
    language: view.language,
    title: view.problem === undefined ? title : titleTold,
    sandbox: view.sandbox,
    shape: 'split',
    outcome: 'open',
    lid: summary(view, words),
    // Each way to pay is a section. The short one comes first: below the fields of a card nobody would look for it.
    sheet: [
      ownPayment(view, words),
      problemSummary(view, words),
      view.offersCode === true && codeMethod(view, words),
      cardMethod(view, words),
    ],
    otherLanguageUrl: view.otherLanguageUrl,
  })
}

function summary(view: PayView, words: Texts): HtmlText {
  const merchant = isolated(view.merchantName)
  const { description, orderReference: reference } = view
  const backUrl = webAddress(view.backUrl)?.href
  return html`${
    backUrl &&
    html`<a class="back" href="${backUrl}">${lineIcon('back')}<span>${sentence(words.backTo, { merchant })}</span></a>`
  }
<h1><span class="payee">${monogram(view.merchantName)}<span>${sentence(words.payHeading, { merchant })}</span></span>
<span class="amount">${pageAmount(view.amount)}</span></h1>
${description && html`<p class="description">${isolated(description)}</p>`}
${reference && html`<p class="reference">${sentence(words.orderReference, { reference: isolated(reference) })}</p>`}
${items(view, words)}
<p class="until">${sentence(words.openUntil, { time: moment(view.language, view.expiresAt) })}</p>`
}

// More items than this fold away on a phone, more than that everywhere, so that the form is in sight.
const itemsOnPhoneMax = 2
const itemsUnfoldedMax = 6

function items(view: PayView, words: Texts): HtmlPart {
  const count = view.lineItems.length
  if (count === 0) return null
  const list = html`<ul class="items">${view.lineItems.map(item)}</ul>${
    count > 1 && html`<p class="total"><span>${words.total}</span> <span>${pageAmount(view.amount)}</span></p>`
  }`
  const heading = html`<h2 class="unseen">${words.itemsHeading}</h2>`
  if (count <= itemsOnPhoneMax) return [heading, list]
  const unfolds = count <= itemsUnfoldedMax ? 'wide' : 'asked'
  return html`${heading}<details class="fold" data-unfolds="${unfolds}"><summary>${sentence(words.items, { count })}</summary>
${list}</details>`
}

function item({ name, quantity, unitPrice, total }: LineItemView): HtmlText {
  const sum = quantity > 1 && html` <small>${quantity} × ${plainAmount(unitPrice)}</small>`
  return html`<li><span><bdi>${name}</bdi>${sum}</span> <b>${plainAmount(total)}</b></li>`
}

function ownPayment({ own }: PayView, words: Texts): HtmlPart {
  const url = ownAddress(own?.url)
  if (own === undefined || url === undefined) return null
  const [icon, told] = own.isPaid ? (['done', words.paidBefore] as const) : (['waiting', words.payingHere] as const)
  return html`<p class="paid">${lineIcon(icon)}<span>${told} <a href="${url}">${words.paidBeforeLink}</a></span></p>`
}

function problemSummary(view: PayView, words: Texts): HtmlPart {
  if (view.problem === undefined) return null
  const { message, field: wrong, heading: own } = view.problem
  const heading = own ?? (view.declined === true ? words.declinedHeading : words.problemHeading)
  return html`<div class="${own === undefined ? 'problem' : 'problem news'}" role="alert" tabindex="-1" autofocus aria-labelledby="problem-heading">
${lineIcon(own === undefined ? 'problem' : 'waiting')}
<div><h2 id="problem-heading">${heading}</h2>
<p>${wrong === undefined ? message : html`<a href="#${wrong}">${message}</a>`}</p></div>
</div>`
}

function codeMethod(view: PayView, words: Texts): HtmlText {
  return html`<section class="method" aria-labelledby="code-heading">
<h2 id="code-heading">${words.codeWay}</h2>
<form class="code-way"${attributes({ method: 'post', action: view.action, ...sendingMessages(words.sending, words.noAnswer) })}>
<input type="hidden" name="nonce" value="${view.nonce}">
<input type="hidden" name="csrf" value="${view.csrf}">
${view.told !== undefined && html`<input type="hidden" name="told" value="${view.told}">`}
<p class="hint">${words.codeWayHint}</p>
<button class="button second" type="submit" name="method" value="qrph">${lineIcon('code')}<span>${words.codeButton}</span></button>
${noAnswer}
</form>
</section>`
}

// Browsers type a card into the form again when a payer goes back, and one click more would pay a second time. They know the form by
// the names of its first fields, so a name of each form's own keeps it empty; nobody reads that field.
function cardMethod(view: PayView, words: Texts): HtmlText {
  const numeric = { inputmode: 'numeric', required: true }
  return html`<section class="method" aria-labelledby="card-heading">
<h2 id="card-heading">${words.cardHeading}</h2>
<form${attributes({ method: 'post', action: view.action, 'data-given-at': view.givenAt.toISOString(), ...scriptMessages(words) })}>
<input type="hidden" name="form-${view.nonce}" value="">
<input type="hidden" name="nonce" value="${view.nonce}">
<input type="hidden" name="csrf" value="${view.csrf}">
${view.told !== undefined && html`<input type="hidden" name="told" value="${view.told}">`}
<p class="unseen" id="schemes">${words.acceptedCards}</p>
${field(view, 'number', words.number, brandMarks(), { ...numeric, autocomplete: 'cc-number', maxlength: 23, describedBy: 'schemes' })}
<div class="pair">
${field(view, 'expiry', words.expiry, hint(words.expiryHint), { ...numeric, autocomplete: 'cc-exp', maxlength: 9 })}
${field(view, 'cvc', words.cvc, hint(words.cvcHint), { ...numeric, autocomplete: 'cc-csc', maxlength: 4 })}
</div>
${field(view, 'name', words.name, hint(words.nameHint), { autocomplete: 'cc-name', autocapitalize: 'words', maxlength: 100 })}
<button class="button" type="submit">${lineIcon('lock')}<span>${sentence(words.payButton, { amount: pageAmount(view.amount) })}</span></button>
<p class="unseen" role="status" id="status"></p>
${noAnswer}
<p class="assurance">${words.assurance}</p>
</form>
${view.sandbox && testCards(words)}
</section>`
}

interface FieldOptions {
  readonly autocomplete: string
  readonly maxlength: number
  readonly inputmode?: string
  readonly autocapitalize?: string
  readonly required?: boolean
  readonly describedBy?: string
}

function field(view: PayView, name: CardField, label: string, beside: HtmlPart, options: FieldOptions): HtmlText {
  const { describedBy, ...rest } = options
  const message = view.problem?.field === name ? view.problem.message : undefined
  const error = `${name}-error`
  const control = attributes({
    id: name,
    name,
    type: 'text',
    ...rest,
    spellcheck: 'false',
    'aria-invalid': message === undefined ? undefined : 'true',
    'aria-describedby': describedBy === undefined ? error : `${error} ${describedBy}`,
  })
  return html`<div class="field">
<label for="${name}">${label} ${beside}</label>
<input${control}>
<p class="error"${attributes({ id: error, hidden: message === undefined })}>${message}</p>
</div>`
}

function hint(text: string): HtmlText {
  return html`<span class="hint">${text}</span>`
}

// The script has no words of its own: it finds them here, in the page's language.
function scriptMessages(words: Texts): Record<string, string> {
  return {
    ...sendingMessages(words.paying, words.noAnswerOfCard),
    'data-number-missing': words.numberMissing,
    'data-number-wrong': words.numberWrong,
    'data-expiry-missing': words.expiryMissing,
    'data-expiry-wrong': words.expiryWrong,
    'data-expiry-past': words.expiryPast,
    'data-cvc-wrong': words.cvcWrong,
    'data-cvc-three': words.cvcThree,
    'data-cvc-four': words.cvcFour,
  }
}

function testCards(words: Texts): HtmlText {
  const cards = [
    ['4242 4242 4242 4242', words.testCardApproved],
    ['4000 0000 0000 0002', words.testCardDeclined],
    ['4000 0000 0000 9995', words.testCardWithoutFunds],
    ['4000 0025 0000 3155', words.testCardChallenge],
  ]
  return html`<details class="test-cards"><summary>${words.testCards}</summary>
<ul>${cards.map(([number, outcome]) => html`<li><code>${number}</code> <span>${outcome}</span></li>`)}</ul>
<p>${words.testCardsHint}</p></details>`
}
