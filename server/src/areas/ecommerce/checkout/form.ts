import { timingSafeEqual } from 'node:crypto'
import { Fault } from '../../../kernel/fault.ts'
import type { Language } from '../../../kernel/language.ts'
import { countOrRefuse, visitorOf } from '../../../kernel/rate-limit.ts'
import type { CardInput } from '../../../payments/card.ts'
import type { PaymentMethod } from '../../../payments/machine.ts'
import type { CheckoutDependencies } from './dependencies.ts'
import type { TokenRequest } from './page-addresses.ts'
import type { CardField } from './pay-page.ts'
import { texts } from './texts.ts'
import type { FormOf } from './views.ts'

/** What a payer's browser posts. */
export interface PayForm {
  readonly method: PaymentMethod
  readonly nonce: string
  readonly csrf: string
  /** The payment of this browser that its page told of; empty where it told of none. */
  readonly told: string
  readonly card: CardInput
  /** Whether an expiry was typed, readable or not. */
  readonly hasExpiry: boolean
}

const fieldCharactersMax = 200

/**
 * The form as it was posted. The card's number may be grouped by any white space or dash; the expiry is MM / YY, MM / YYYY, or YYYY-MM as
 * browsers fill it in (HTML, cc-exp). Digits may be full-width, as an input method of East Asia writes them.
 */
export function readPayForm(body: URLSearchParams): PayForm {
  const field = (name: string) => (body.get(name) ?? '').slice(0, fieldCharactersMax).trim()
  const digits = (name: string) => field(name).normalize('NFKC')
  const expiry = digits('expiry').replace(/^(20\d\d)\s*[/-]\s*(\d\d)$/, '$2/$1')
  const [, month = '', year = ''] = /^(\d{1,2})\s*[/ -]?\s*(\d{2}|\d{4})$/.exec(expiry) ?? []
  const name = field('name')
  return {
    method: field('method') === 'qrph' ? 'qrph' : 'card',
    nonce: field('nonce'),
    csrf: field('csrf'),
    told: field('told'),
    card: {
      number: digits('number').replaceAll(/[\s\p{Dash}]/gu, ''),
      exp_month: month === '' ? 0 : Number(month),
      exp_year: year.length === 2 ? 2000 + Number(year) : year === '' ? 0 : Number(year),
      cvc: digits('cvc'),
      ...(name === '' ? {} : { name }),
    },
    hasExpiry: expiry !== '',
  }
}

/** What to tell a payer whose card was typed wrong, at the field where it can be mended. */
export function problemOf(
  refused: { field?: string | undefined; rule?: string | undefined },
  { card, hasExpiry }: Pick<PayForm, 'card' | 'hasExpiry'>,
  language: Language,
): { message: string; field: CardField } {
  const words = texts(language)
  const field = refused.field?.split('.').at(-1)
  if (field === 'number')
    return { field: 'number', message: card.number === '' ? words.numberMissing : words.numberWrong }
  if (field === 'cvc') return { field: 'cvc', message: /^3[47]/.test(card.number) ? words.cvcFour : words.cvcThree }
  if (refused.rule === 'expired') return { field: 'expiry', message: words.expiryPast }
  return { field: 'expiry', message: hasExpiry ? words.expiryWrong : words.expiryMissing }
}

/** Gives out the forms of a page, and takes those alone that came from their own, each address as often as the limit lets it. */
export function createForms({
  clock,
  keyring,
  confirmLimit,
}: Pick<CheckoutDependencies, 'clock' | 'keyring' | 'confirmLimit'>) {
  const csrfOf = (token: string, nonce: string) =>
    keyring.mac('checkout-form', `${token} ${nonce}`).toString('base64url')

  const formFor = (token: string, nonce: string): FormOf => ({
    nonce,
    csrf: csrfOf(token, nonce),
    givenAt: clock.now(),
  })

  const readForm = (request: TokenRequest): PayForm => {
    const site = request.headers['sec-fetch-site']
    const form = readPayForm(request.body instanceof URLSearchParams ? request.body : new URLSearchParams())
    const right = Buffer.from(csrfOf(request.params.token, form.nonce))
    const given = Buffer.from(form.csrf)
    const ours = given.length === right.length && timingSafeEqual(given, right)
    if (!ours || (site !== undefined && site !== 'same-origin')) {
      throw new Fault('FORBIDDEN', 'This form did not come from its own page.')
    }
    countOrRefuse(confirmLimit, visitorOf(request.ip), 'Too many attempts.')
    return form
  }

  return { formFor, readForm }
}
