import { html, raw } from '../../../kernel/html.ts'
import type { HtmlText } from '../../../kernel/html.ts'

const names: Readonly<Record<string, string>> = {
  VISA: 'Visa',
  MASTERCARD: 'Mastercard',
  AMEX: 'American Express',
  DISCOVER: 'Discover',
  JCB: 'JCB',
  UNIONPAY: 'UnionPay',
}

/** A card scheme as people write it. One that we do not know is shown as it came. */
export function cardSchemeName(cardScheme: string): string {
  return names[cardScheme.toUpperCase()] ?? cardScheme
}

// Drawn for this page: plain shapes that a payer recognises. Decoration only; the accepted schemes are also named in words.
const drawings: Readonly<Record<string, HtmlText>> = {
  visa: raw(
    '<rect width="38" height="24" rx="4" fill="#fff"/><text x="19" y="16.4" text-anchor="middle" textLength="25" font-family="Arial,sans-serif" font-size="12.5" font-weight="800" font-style="italic" fill="#1a2a7a">VISA</text>',
  ),
  mastercard: raw(
    '<rect width="38" height="24" rx="4" fill="#fff"/><circle cx="15" cy="12" r="7" fill="#e2231a"/><circle cx="23" cy="12" r="7" fill="#f59b1c"/><path d="M19 6.26a7 7 0 0 1 0 11.48 7 7 0 0 1 0-11.48z" fill="#f26722"/>',
  ),
  amex: raw(
    '<rect width="38" height="24" rx="4" fill="#1b6fb8"/><text x="19" y="15.8" text-anchor="middle" textLength="29" font-family="Arial,sans-serif" font-size="10.5" font-weight="800" fill="#fff">AMEX</text>',
  ),
  discover: raw(
    '<rect width="38" height="24" rx="4" fill="#fff"/><path d="M38 12.5V20a4 4 0 0 1-4 4H13c11-1.6 19-5.5 25-11.5z" fill="#ee7d22"/><text x="4" y="12.5" textLength="30" font-family="Arial,sans-serif" font-size="6.6" font-weight="800" fill="#22272b">DISCOVER</text>',
  ),
  jcb: raw(
    '<rect width="38" height="24" rx="4" fill="#fff"/><g font-family="Arial,sans-serif" font-size="7.5" font-weight="800" fill="#fff" text-anchor="middle"><path d="M7 8a4 4 0 0 1 4-4h3v12a4 4 0 0 1-4 4H7z" fill="#1762ab"/><path d="M15.5 8a4 4 0 0 1 4-4h3v12a4 4 0 0 1-4 4h-3z" fill="#cf2440"/><path d="M24 8a4 4 0 0 1 4-4h3v12a4 4 0 0 1-4 4h-3z" fill="#2d8c3c"/><text x="10.5" y="14.7">J</text><text x="19" y="14.7">C</text><text x="27.5" y="14.7">B</text></g>',
  ),
  unionpay: raw(
    '<rect width="38" height="24" rx="4" fill="#fff"/><path d="M8 4h8l-3.5 16h-8z" fill="#d3232e"/><path d="M16 4h9l-3.5 16h-9z" fill="#1c4b82"/><path d="M25 4h8.5L30 20h-8.5z" fill="#0b7c85"/><path d="M14 13.5a3 3 0 0 0 5.5-.8l.8-3.7" fill="none" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/>',
  ),
}

/** The accepted card schemes as a row of small marks. The script lets the others fade once the number tells which it is. */
export function brandMarks(): HtmlText {
  const marks = Object.entries(drawings).map(
    ([brand, drawing]) =>
      html`<svg class="brand" data-brand="${brand}" viewBox="0 0 38 24" width="30" height="19">${drawing}</svg>`,
  )
  return html`<span class="brands" aria-hidden="true">${marks}</span>`
}

/** Kaha's mark: a coin on its way into a box. */
export function kahaMark(size: number): HtmlText {
  return html`<svg class="kaha" viewBox="0 0 24 24" width="${size}" height="${size}" aria-hidden="true">
    <circle class="coin" cx="12" cy="8" r="5.5" /><path class="chest" d="M2 10.5h20v8A3.5 3.5 0 0 1 18.5 22h-13A3.5 3.5 0 0 1 2 18.5z" /><path class="slot" d="M9 16h6" />
  </svg>`
}

const strokes = {
  done: raw('<path d="M7 12.6l3.4 3.4L17 9"/>'),
  refused: raw('<path d="M8.5 8.5l7 7M15.5 8.5l-7 7"/>'),
  waiting: raw('<circle cx="12" cy="12" r="8"/><path d="M12 7.5V12l3 2"/>'),
  attention: raw('<path d="M12 7v6M12 16.5v.01"/>'),
  problem: raw('<circle cx="12" cy="12" r="9"/><path d="M12 7.5v5M12 16.2v.01"/>'),
  lock: raw('<path d="M8.5 11V8.5a3.5 3.5 0 0 1 7 0V11M7 11h10v7H7z"/>'),
  code: raw('<path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2zM19 14.5v.01M14.5 19.5v.01"/>'),
  back: raw('<path d="M19 12H6M11 6.5L5.5 12l5.5 5.5"/>'),
}

/** A small line drawing beside words that say the same. */
export function lineIcon(name: keyof typeof strokes): HtmlText {
  return html`<svg class="icon" data-icon="${name}" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">${strokes[name]}</svg>`
}
