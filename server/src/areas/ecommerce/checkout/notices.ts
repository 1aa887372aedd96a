import { Fault } from '../../../kernel/fault.ts'
import { statusOfPage } from '../../../kernel/http/page-room.ts'
import type { Language } from '../../../kernel/language.ts'
import type { CheckoutDependencies } from './dependencies.ts'
import { noticePage } from './notice-page.ts'

type Words = Readonly<Record<Language, readonly [title: string, message: string]>>

const unreadableAddress: Words = {
  en: ['This address could not be read', 'Check the address, or ask the merchant for a new payment link.'],
  fil: ['Hindi mabasa ang address na ito', 'Pakisuri ang address, o humingi sa merchant ng bagong payment link.'],
}

/** Of the form that gives up a code: its payer may have paid the code. */
const unreadOfCode = 'Open the payment page again to see how your payment stands before you pay again.'
const unreadOfCodeFil = 'Buksang muli ang pahina ng pagbabayad para makita ang lagay ng iyong bayad bago magbayad muli.'
const noticesOfCode: Readonly<Record<number, Words>> = {
  400: {
    en: ['This form could not be read', unreadOfCode],
    fil: ['Hindi mabasa ang form', unreadOfCodeFil],
  },
  403: {
    en: ['This form is out of date', unreadOfCode],
    fil: ['Luma na ang form na ito', unreadOfCodeFil],
  },
}

const notices: Readonly<Record<number, Words>> = {
  400: {
    en: [
      'This form could not be read',
      'Open the payment page again and fill in the form there. Nothing was charged just now.',
    ],
    fil: [
      'Hindi mabasa ang form',
      'Buksang muli ang pahina ng pagbabayad at doon punan ang form. Walang siningil ngayon.',
    ],
  },
  403: {
    en: [
      'This form is out of date',
      'Open the payment page again and fill in the form there. Nothing was charged just now.',
    ],
    fil: [
      'Luma na ang form na ito',
      'Buksang muli ang pahina ng pagbabayad at doon punan ang form. Walang siningil ngayon.',
    ],
  },
  404: {
    en: ['There is nothing to pay here', 'Check the address, or ask the merchant for a new payment link.'],
    fil: ['Walang babayaran dito', 'Pakisuri ang address, o humingi sa merchant ng bagong payment link.'],
  },
  405: {
    en: [
      'This page cannot be used like that',
      'Open it in your browser to see how your payment stands, or to pay. Nothing was charged just now.',
    ],
    fil: [
      'Hindi magagamit nang ganyan ang pahinang ito',
      'Buksan ito sa iyong browser para makita ang lagay ng iyong bayad, o para magbayad. Walang siningil ngayon.',
    ],
  },
  429: {
    en: [
      'Too many attempts',
      'Wait a minute, then open the page again to see how your payment stands before you pay again.',
    ],
    fil: [
      'Napakaraming pagsubok',
      'Maghintay ng isang minuto, saka buksang muli ang pahina para makita ang lagay ng iyong bayad bago magbayad muli.',
    ],
  },
  500: {
    en: [
      'Something went wrong on our side',
      'Open the page again to see how your payment stands before you pay again.',
    ],
    fil: [
      'May nangyaring mali sa amin',
      'Buksang muli ang pahina para makita ang lagay ng iyong bayad bago magbayad muli.',
    ],
  },
  503: {
    en: ['We will be back in a moment', 'Open the page again to see how your payment stands before you pay again.'],
    fil: [
      'Babalik kami sa ilang sandali',
      'Buksang muli ang pahina para makita ang lagay ng iyong bayad bago magbayad muli.',
    ],
  },
}

const statusOfCode: Readonly<Record<string, number>> = {
  BAD_REQUEST: 400,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  PAYLOAD_TOO_LARGE: 413,
  INVALID_PAYMENT_METHOD: 400,
  FORBIDDEN: 403,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
}

const codeForm = /^(\/i\/[^/?]+)\/other(?=\?|$)/

/**
 * Any error at a path of the checkout's address as a page for the payer: what happened, whether they were charged as far as is known, and
 * what to do.
 */
export function noticeOf(
  error: unknown,
  language: Language,
  { addresses, sandbox }: Pick<CheckoutDependencies, 'addresses' | 'sandbox'>,
  path: string,
): { page: string; status: number; retryAfterSeconds: number | undefined } {
  const status = statusOfPage(error, statusOfCode)
  const isUnreadable =
    typeof error === 'object' && error !== null && 'code' in error && error.code === 'FST_ERR_BAD_URL'
  const told = codeForm.test(path) ? { ...notices, ...noticesOfCode } : notices
  const words = isUnreadable ? unreadableAddress : (told[status] ?? (status < 500 ? told[400] : told[500]))
  const [title, message] = words?.[language] ?? ['', '']
  // What is no page of its own leads to the page that it belongs to.
  const url = `${addresses.checkout}${path.replace(codeForm, '$1')}`
  const retryUrl = status === 404 || isUnreadable ? undefined : url
  const otherLanguageUrl = isUnreadable ? undefined : inOtherLanguage(url, language)
  return {
    page: noticePage({ language, title, message, status, retryUrl, sandbox, otherLanguageUrl }),
    status,
    retryAfterSeconds: error instanceof Fault ? error.retryAfterSeconds : undefined,
  }
}

function inOtherLanguage(address: string, language: Language): string {
  const url = new URL(address)
  url.searchParams.set('lang', language === 'en' ? 'fil' : 'en')
  return url.href
}
