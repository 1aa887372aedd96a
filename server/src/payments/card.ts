import { createHmac } from 'node:crypto'

export type CardBrand = 'VISA' | 'MASTERCARD' | 'AMEX' | 'DISCOVER' | 'JCB' | 'UNIONPAY'

/** What a payer typed, as the wire has it. */
export type CardInput = {
  readonly number: string
  readonly exp_month: number
  readonly exp_year: number
  readonly cvc: string
  readonly name?: string | undefined
}

/**
 * A well-formed card. Its data are what may be kept and shown: brand and last four. Number, CVC, expiry and holder are behind
 * functions that no serializer, spread, clone or inspection reaches, so a card that strays into a log line, an error or an
 * answer tells nothing. Call them where the processor's request is made, and nowhere else.
 */
export type Card = {
  /** null for a well-formed number of a scheme that this list does not know. */
  readonly brand: CardBrand | null
  readonly lastFour: string
  readonly number: () => string
  readonly cvc: () => string
  readonly expMonth: () => number
  readonly expYear: () => number
  readonly holder: () => string | null
  /** Brand and last four, for people. */
  readonly toString: () => string
}

/** The first thing wrong with a card. It names the field and the rule, and holds nothing of the card. */
export type CardRefusal = {
  readonly refusal: 'INVALID_CARD'
  readonly field: 'number' | 'exp_month' | 'exp_year' | 'cvc'
  readonly rule: 'digits' | 'length' | 'luhn' | 'month' | 'four_digits' | 'expired'
}

/** What is wrong with a card, in words that follow the name of the field. */
export const cardRules: Readonly<Record<CardRefusal['rule'], string>> = {
  digits: 'must be digits, and nothing else',
  length: 'has more digits than there are on such a card, or fewer',
  luhn: 'is no card number: its check digit is wrong',
  month: 'must be a month, 1 to 12',
  four_digits: 'must have four digits',
  expired: 'lies, with exp_month, in the past: the card has expired',
}

/**
 * Checks a card's form at business time `now`: number (digits only: pages strip blanks and hyphens, the API refuses them; the
 * brand's length; Luhn), month, four-digit year, expiry, CVC (4 digits for AMEX, else 3).
 *
 * A card is good through the last moment of its month in the last place on earth to reach it (UTC-12): the issuer, not our time
 * zone, has the final word, and no payer is refused a card that is still good where they are.
 */
export function parseCard(input: CardInput, now: Date): Card | CardRefusal {
  const { number, exp_month: month, exp_year: year, cvc } = input
  if (!isDigits(number)) return refuse('number', 'digits')
  const scheme = schemes.find(({ prefix }) => prefix.test(number))
  if (!(scheme?.lengths ?? unknownSchemeLengths).includes(number.length)) return refuse('number', 'length')
  if (!passesLuhn(number)) return refuse('number', 'luhn')
  if (!Number.isInteger(month) || month < 1 || month > 12) return refuse('exp_month', 'month')
  if (!Number.isInteger(year) || year < 1000 || year > 9999) return refuse('exp_year', 'four_digits')
  if (now.getTime() >= goodUntil(year, month)) return refuse('exp_year', 'expired')
  if (!isDigits(cvc)) return refuse('cvc', 'digits')
  if (cvc.length !== (scheme?.brand === 'AMEX' ? 4 : 3)) return refuse('cvc', 'length')
  return sealedCard(input, scheme?.brand ?? null)
}

/**
 * HMAC-SHA256 of a card number, in hexadecimal: the same card gives the same value under one key, and nothing leads back without
 * the key. Card numbers are few enough to be tried one by one, so the key is the secret: at least 32 bytes (RangeError).
 */
export function cardFingerprint(number: string, hmacKey: Uint8Array): string {
  if (hmacKey.byteLength < 32) throw new RangeError('A fingerprint key has at least 32 bytes')
  return createHmac('sha256', hmacKey).update(number).digest('hex')
}

function sealedCard(input: CardInput, brand: CardBrand | null): Card {
  const { number, cvc, exp_month: month, exp_year: year, name = null } = input
  const lastFour = number.slice(-4)
  const hidden = {
    number: () => number,
    cvc: () => cvc,
    expMonth: () => month,
    expYear: () => year,
    holder: () => name,
    toString: () => `${brand ?? 'card'} ending in ${lastFour}`,
  }
  const card: Card = { brand, lastFour, ...hidden }
  for (const key of Object.keys(hidden)) Object.defineProperty(card, key, { enumerable: false })
  return Object.freeze(card)
}

// Issuer ranges by their leading digits. UnionPay comes before Discover's shared 622 range; Diners and others have no brand here.
const schemes: readonly { brand: CardBrand; prefix: RegExp; lengths: readonly number[] }[] = [
  { brand: 'VISA', prefix: /^4/, lengths: [13, 16, 19] },
  { brand: 'MASTERCARD', prefix: /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, lengths: [16] },
  { brand: 'AMEX', prefix: /^3[47]/, lengths: [15] },
  { brand: 'UNIONPAY', prefix: /^(?:62|81[0-6]|817[01])/, lengths: [16, 17, 18, 19] },
  { brand: 'DISCOVER', prefix: /^(?:6011|64[4-9]|65)/, lengths: [16, 17, 18, 19] },
  { brand: 'JCB', prefix: /^35(?:2[89]|[3-8])/, lengths: [16, 17, 18, 19] },
]

// ISO/IEC 7812-1 ends at 19 digits; below 12 no scheme issues.
const unknownSchemeLengths: readonly number[] = [12, 13, 14, 15, 16, 17, 18, 19]

const hourMs = 3_600_000

function goodUntil(year: number, month: number): number {
  return Date.UTC(year, month, 1) + 12 * hourMs
}

function isDigits(text: unknown): boolean {
  return typeof text === 'string' && /^[0-9]+$/.test(text)
}

/** The check digit of ISO/IEC 7812-1, annex B. */
function passesLuhn(number: string): boolean {
  let sum = 0
  for (let place = 0; place < number.length; place++) {
    const digit = Number(number[number.length - 1 - place])
    const doubled = place % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

function refuse(field: CardRefusal['field'], rule: CardRefusal['rule']): CardRefusal {
  return { refusal: 'INVALID_CARD', field, rule }
}
