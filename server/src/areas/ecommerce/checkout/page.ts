import { attributes, html, htmlString } from '../../../kernel/html.ts'
import type { HtmlPart, HtmlText } from '../../../kernel/html.ts'
import type { Language } from '../../../kernel/language.ts'
import { webAddress } from '../../../kernel/web-address.ts'
import { icon, script, stylesheet } from './assets.ts'
import { kahaMark } from './marks.ts'
import { sentence, texts } from './texts.ts'
import type { Texts } from './texts.ts'

/** The parts of one page of the checkout. */
export interface CheckoutPage {
  readonly language: Language
  /** The document's title, as plain text. */
  readonly title: string
  readonly sandbox: boolean
  /** `split`: lid beside sheet where there is room; `slip`: one narrow column. */
  readonly shape: 'split' | 'slip'
  /** How the payment stands, for style and script. */
  readonly outcome: string
  /** The dark part on top: who, how much, how it stands. Holds the h1. */
  readonly lid: HtmlText
  /** The light part below: what to do. */
  readonly sheet: HtmlPart
  /** The same page in the other language. */
  readonly otherLanguageUrl?: string | undefined
  /** Moves on to `url` after so many seconds. */
  readonly leaving?: { readonly seconds: number; readonly url: string } | undefined
  readonly following?: Following | undefined
}

/**
 * How a page follows what happens elsewhere: by looking again after so many seconds, or, when the payer has stopped that by `stayUrl`, by a
 * link to `againUrl`. A browser without scripts loads the page anew; with scripts checkout.js does it where something has changed: the
 * outcome, or, as by another window, the attempt that the page is of.
 */
export type Following =
  { readonly seconds: number; readonly stayUrl: string; readonly attempts: number } | { readonly againUrl: string }

/** The whole document, ready to be sent with `pageHeaders()`. */
export function page(parts: CheckoutPage): string {
  const words = texts(parts.language)
  const { leaving, following } = parts
  const looking = following !== undefined && 'seconds' in following ? following : undefined
  const refresh = leaving ?? looking
  return htmlString(html`<!doctype html>
<html lang="${parts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${parts.title}</title>
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${topColour(parts)}">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="${icon.path}" type="image/svg+xml">
<link rel="stylesheet" href="${stylesheet.path}" integrity="${stylesheet.integrity}">
<script type="module" src="${script.path}" integrity="${script.integrity}"></script>
${refreshTag(refresh)}
</head>
<body${attributes({ 'data-shape': parts.shape, 'data-outcome': parts.outcome, 'data-attempts': looking?.attempts, 'data-refresh-seconds': refresh?.seconds })}>
${parts.sandbox && html`<header class="ribbon">${words.sandboxRibbon}</header>`}
<main class="box">
<div class="lid">${parts.lid}</div>
<div class="sheet">${parts.sheet}
${followed(parts.following, words)}</div>
</main>
<footer class="foot">
<p class="maker">${kahaMark(24)}<span>${sentence(words.footer, { kaha: html`<strong>Kaha</strong>` })}</span></p>
${otherLanguage(parts.language, parts.otherLanguageUrl)}
</footer>
</body>
</html>
`)
}

/** What the script says of a form: on its button while the answer is on its way, and beside it where none has come. */
export const sendingMessages = (sending: string, none: string): Record<string, string> => ({
  'data-sending': sending,
  'data-no-answer': none,
})

/** Where it says the latter. */
export const noAnswer: HtmlText = html`<p class="no-answer" role="status"></p>`

/** A text that came from a merchant, kept from turning the direction of the words around it. */
export function isolated(text: string): HtmlText {
  return html`<bdi>${text}</bdi>`
}

/** A merchant's first letter in a tile, where a logo would be. */
export function monogram(merchantName: string): HtmlText {
  const [first] = new Intl.Segmenter().segment(merchantName.trim())
  return html`<span class="monogram" aria-hidden="true">${first?.segment.toLocaleUpperCase()}</span>`
}

/** The address of a page of ours: a path, or absolute http(s). Anything else is undefined. */
export function ownAddress(url: string | undefined): string | undefined {
  return url !== undefined && /^\/(?![/\\])/.test(url) ? url : webAddress(url)?.href
}

// The browser's frame takes the colour of what is on top: the ribbon, or the lid as checkout.css paints it.
function topColour({ sandbox, outcome }: CheckoutPage): string {
  if (sandbox) return '#f6bd4a'
  return ['open', 'succeeded', 'processing', 'challenge', 'code'].includes(outcome) ? '#0c3d33' : '#2c3a36'
}

// Inside noscript, for a timed redirect that the payer cannot stop is a barrier (WCAG 2.2.1).
function refreshTag(refresh: { readonly seconds: number; readonly url?: string } | undefined): HtmlPart {
  if (refresh === undefined) return null
  const content = refresh.url === undefined ? String(refresh.seconds) : `${refresh.seconds};url=${refresh.url}`
  return html`<noscript><meta http-equiv="refresh" content="${content}"></noscript>`
}

/** The payer's say in it: without scripts the page is loaded anew, which closes what they opened and takes them from where they read. */
function followed(following: Following | undefined, words: Texts): HtmlPart {
  if (following === undefined) return null
  if ('againUrl' in following)
    return html`<a class="button second"${attributes({ href: ownAddress(following.againUrl) })}>${words.lookAgain}</a>`
  const seconds = String(following.seconds)
  return html`<noscript><p class="hint following">${sentence(words.looksAgain, { seconds })}
<a${attributes({ href: ownAddress(following.stayUrl) })}>${words.stopLooking}</a></p></noscript>`
}

function otherLanguage(language: Language, url: string | undefined): HtmlPart {
  const address = ownAddress(url)
  const other = language === 'en' ? 'fil' : 'en'
  if (address === undefined) return null
  return html`<a class="quiet"${attributes({ href: address, lang: other, hreflang: other })}>${texts(other).language}</a>`
}
