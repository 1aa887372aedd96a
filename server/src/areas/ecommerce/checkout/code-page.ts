import { attributes, html } from '../../../kernel/html.ts'
import type { HtmlText } from '../../../kernel/html.ts'
import { pageAmount } from '../../../kernel/http/page-amount.ts'
import type { Language } from '../../../kernel/language.ts'
import { isolated, noAnswer, ownAddress, page, sendingMessages, type Following } from './page.ts'
import { moment, plainSentence, sentence, texts } from './texts.ts'
import type { Texts } from './texts.ts'

/** A QR Ph code that waits for the payer's bank. The amount comes formatted. */
export interface CodeView {
  readonly language: Language
  readonly merchantName: string
  readonly amount: string
  /** What this payer is to know beside the code. */
  readonly notice?: string | undefined
  readonly expiresAt: Date
  /** Until then, by the clock of the server: that of the browser may be wrong. */
  readonly msLeft: number
  /** Of the picture. */
  readonly imageUrl: string
  /** What the picture says. */
  readonly text: string
  /** In a sandbox: the page of its bank, which pays the code. */
  readonly bankUrl?: string | undefined
  /** Where the payer gives up the code for another way to pay, as nonce and csrf. */
  readonly otherWayAction: string
  readonly nonce: string
  readonly csrf: string
  readonly following: Following
  readonly sandbox: boolean
  readonly otherLanguageUrl?: string | undefined
}

/** The page that shows a code and follows its payment: to scan, to save as a picture, or to copy as a text. */
export function codePage(view: CodeView): string {
  const words = texts(view.language)
  const { amount, merchantName: merchant } = view
  return page({
    language: view.language,
    title: `${words.codeHeading}: ${plainSentence(words.amountTo, { amount, merchant })}`,
    sandbox: view.sandbox,
    shape: 'slip',
    outcome: 'code',
    lid: html`<h1>${words.codeHeading}</h1>
<p class="sum">${sentence(words.amountTo, { amount: html`<b>${pageAmount(amount)}</b>`, merchant: isolated(merchant) })}</p>`,
    sheet: [
      view.notice !== undefined && html`<p class="message">${view.notice}</p>`,
      html`<div id="code" data-ms-left="${view.msLeft}">${picture(view, words)}${textOfCode(view, words)}${simulatedBank(view, words)}</div>
<p class="message" id="code-over" role="alert" hidden>${words.codeExpiredHeading}.</p>`,
      otherWay(view, words),
    ],
    otherLanguageUrl: view.otherLanguageUrl,
    following: view.following,
  })
}

// About half of its own size, which goes with the length of the text: sharp where pixels are small.
const pictureSide = 264

function picture(view: CodeView, words: Texts): HtmlText {
  const url = ownAddress(view.imageUrl)
  const { amount, merchantName: merchant } = view
  const shown = attributes({
    src: url,
    alt: plainSentence(words.codePicture, { amount, merchant }),
    width: pictureSide,
    height: pictureSide,
  })
  return html`<p class="message">${words.codeSteps}${'seconds' in view.following && html`<span class="follows"> ${words.codeFollows}</span>`}</p>
<p class="code-picture"><img${shown}></p>
<p class="message"><b>${sentence(words.codeUntil, { time: moment(view.language, view.expiresAt) })}</b></p>
<div class="saving"><a class="button"${attributes({ href: url, download: 'qrph.png' })}>${words.codeSave}</a>
<p class="hint">${words.codeSaveHint}</p></div>`
}

function textOfCode(view: CodeView, words: Texts): HtmlText {
  return html`<details class="code-text"><summary>${words.codeText}</summary>
<label for="code-text">${words.codeTextHint}</label>
<textarea id="code-text" rows="6" readonly spellcheck="false" translate="no">${view.text}</textarea>
<button class="button second" type="button" id="copy"${attributes({ hidden: true, 'data-copied': words.copied })}>${words.copy}</button>
<p class="unseen" role="status" id="copied"></p></details>`
}

function simulatedBank({ bankUrl, text }: CodeView, words: Texts): HtmlText | null {
  if (bankUrl === undefined) return null
  const href = ownAddress(`${bankUrl}?${new URLSearchParams({ code: text }).toString()}`)
  return html`<p class="try-out"><a${attributes({ href, target: '_blank', rel: 'noopener' })}>${words.simulatedBank}</a></p>`
}

function otherWay(view: CodeView, words: Texts): HtmlText {
  return html`<form class="other-way"${attributes({ method: 'post', action: view.otherWayAction, ...sendingMessages(words.sending, words.noAnswer) })}>
<input type="hidden" name="nonce" value="${view.nonce}">
<input type="hidden" name="csrf" value="${view.csrf}">
<button class="button second" type="submit"><span>${words.otherWay}</span></button>
${noAnswer}
<p class="hint">${words.otherWayHint}</p>
</form>`
}
