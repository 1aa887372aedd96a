import { attributes, html, type HtmlPart, type HtmlText } from '../html.ts'

// What has fewer characters stands big in one line of the narrowest phone: the first where the page is twice as big, the second where it is not.
const [longCharacters, longestCharacters] = [9, 14]

/** A formatted amount on a page: where it is too long for a line it breaks behind a group of digits alone, so that no part reads as another amount. */
export function pageAmount(amount: string): HtmlText {
  const length = amount.length < longCharacters ? undefined : amount.length < longestCharacters ? 'long' : 'longest'
  // A bare wbr is a blank in the name of a button or a heading.
  return html`<span class="money"${attributes({ 'data-length': length })}>${groups(amount, html`<wbr aria-hidden="true">`)}</span>`
}

/** The same for what is no button or heading, and keeps its words whole itself (`overflow-wrap: normal`). */
export function plainAmount(amount: string): HtmlPart {
  return groups(amount, html`<wbr>`)
}

const groups = (amount: string, behind: HtmlText): HtmlPart =>
  amount.split(',').map((group, index) => (index === 0 ? group : [',', behind, group]))
