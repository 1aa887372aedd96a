import type { Language } from './language.ts'

/** The largest amount in minor units, of any currency. A JSON number holds it exactly. */
export const amountMax = 999_999_999_999n

// Of the integers that a JSON number holds, and none beside it is read as the same: 2^53 − 1.
const exactMax = 9_007_199_254_740_991n

/** The most digits that a decimal amount may have before its point. */
const integerDigitsMax = 12

export type Currency = {
  /** The three digits of ISO 4217, as QR codes and card networks write them. */
  readonly numeric: string
  /** How many decimals the currency has: its minor unit is 10^-digits of the major one. */
  readonly digits: 0 | 2 | 3 | 4
}

/** Why a decimal is no amount: not a plain decimal, more decimals than the currency has, or too many digits. */
export type DecimalRefusal = { readonly refusal: 'decimal' | 'decimal_places' | 'integer_digits_max' }

/** The number of minor digits and the numeric code of a currency, or undefined when ISO 4217 does not list it (any more). */
export function currencyOf(code: string): Currency | undefined {
  return Object.hasOwn(currencies, code) ? currencies[code] : undefined
}

/** `105n` of PHP is `1.05`, of JPY `105`, of KWD `0.105`: always with all the currency's decimals. Throws RangeError for an unknown currency. */
export function minorToDecimal(minor: bigint, currency: string): string {
  const { sign, whole, fraction } = parts(minor, currency)
  return sign + whole + (fraction === '' ? '' : `.${fraction}`)
}

/**
 * The minor units of a plain decimal such as `1`, `1.5` or `1.50`: no sign, exponent, grouping, blanks or leading zeros.
 * Decimals beyond the currency's are refused even when they are zeros. The bound is `integerDigitsMax`; a caller whose amounts
 * are bounded by `amountMax` compares. Throws RangeError for an unknown currency.
 */
export function decimalToMinor(text: string, currency: string): { readonly minor: bigint } | DecimalRefusal {
  const digits = digitsOf(currency)
  const match = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/.exec(text)
  if (!match) return { refusal: 'decimal' }
  const [, whole = '', fraction = ''] = match
  if (fraction.length > digits) return { refusal: 'decimal_places' }
  if (whole.length > integerDigitsMax) return { refusal: 'integer_digits_max' }
  return { minor: BigInt(whole + fraction.padEnd(digits, '0')) }
}

/** An amount as a person reads it: `₱1,234.50`, and `CHF 1,234.50` (with a no-break space) where no sign is unmistakable. */
export function formatMoney(minor: bigint, currency: string, language: Language): string {
  const { sign, whole, fraction } = parts(minor, currency)
  const { group, point } = separators[language]
  const grouped = whole.replace(/\B(?=(?:[0-9]{3})+$)/g, group)
  const symbol = signs.get(currency) ?? `${currency}\u00a0`
  return sign + symbol + grouped + (fraction === '' ? '' : point + fraction)
}

/** Whether an integer of JSON holds an amount, or a sum of them, exactly. */
export const isExactNumber = (minor: bigint): boolean => -exactMax <= minor && minor <= exactMax

/** An amount, or a sum of them, as an integer of JSON. Throws RangeError where such a number does not hold it exactly. */
export function minorToNumber(minor: bigint): number {
  const number = Number(minor)
  if (!Number.isSafeInteger(number)) throw new RangeError('an amount is beyond what a JSON number holds exactly')
  return number
}

export type PricedLine = { readonly unitPrice: bigint; readonly quantity: bigint }

/** Σ unitPrice × quantity in minor units, exact; refused when it exceeds `amountMax`. Lines have no negative numbers (RangeError). */
export function linesTotal(
  lines: Iterable<PricedLine>,
): { readonly minor: bigint } | { readonly refusal: 'amount_max' } {
  let total = 0n
  for (const { unitPrice, quantity } of lines) {
    if (unitPrice < 0n || quantity < 0n) throw new RangeError('A line has a negative price or quantity')
    total += unitPrice * quantity
  }
  return total > amountMax ? { refusal: 'amount_max' } : { minor: total }
}

function parts(minor: bigint, currency: string) {
  const digits = digitsOf(currency)
  const negative = minor < 0n
  const text = (negative ? -minor : minor).toString().padStart(digits + 1, '0')
  const point = text.length - digits
  return { sign: negative ? '-' : '', whole: text.slice(0, point), fraction: text.slice(point) }
}

function digitsOf(currency: string): number {
  const known = currencyOf(currency)
  if (!known) throw new RangeError(`${currency} is not a currency of ISO 4217`)
  return known.digits
}

// Both languages write numbers alike in the Philippines (CLDR en-PH, fil-PH).
const separators: Record<Language, { group: string; point: string }> = {
  en: { group: ',', point: '.' },
  fil: { group: ',', point: '.' },
}

// Only signs that name one currency to a reader in the Philippines; a bare $ is left to no dollar but the American.
const signs: ReadonlyMap<string, string> = new Map([
  ['PHP', '₱'],
  ['USD', '$'],
  ['EUR', '€'],
  ['GBP', '£'],
  ['JPY', '¥'],
  ['CAD', 'CA$'],
  ['AUD', 'A$'],
])

/**
 * ISO 4217 list one up to amendment 180 (BGN, CUC, HRK, SLL and ZWL are gone; XAD, XCG and ZWG are in), without the codes
 * that have no minor unit (metals, units of account, XTS, XXX): no amount in minor units exists for them.
 */
export const currencies: Readonly<Record<string, Currency>> = {
  AED: { numeric: '784', digits: 2 },
  AFN: { numeric: '971', digits: 2 },
  ALL: { numeric: '008', digits: 2 },
  AMD: { numeric: '051', digits: 2 },
  AOA: { numeric: '973', digits: 2 },
  ARS: { numeric: '032', digits: 2 },
  AUD: { numeric: '036', digits: 2 },
  AWG: { numeric: '533', digits: 2 },
  AZN: { numeric: '944', digits: 2 },
  BAM: { numeric: '977', digits: 2 },
  BBD: { numeric: '052', digits: 2 },
  BDT: { numeric: '050', digits: 2 },
  BHD: { numeric: '048', digits: 3 },
  BIF: { numeric: '108', digits: 0 },
  BMD: { numeric: '060', digits: 2 },
  BND: { numeric: '096', digits: 2 },
  BOB: { numeric: '068', digits: 2 },
  BOV: { numeric: '984', digits: 2 },
  BRL: { numeric: '986', digits: 2 },
  BSD: { numeric: '044', digits: 2 },
  BTN: { numeric: '064', digits: 2 },
  BWP: { numeric: '072', digits: 2 },
  BYN: { numeric: '933', digits: 2 },
  BZD: { numeric: '084', digits: 2 },
  CAD: { numeric: '124', digits: 2 },
  CDF: { numeric: '976', digits: 2 },
  CHE: { numeric: '947', digits: 2 },
  CHF: { numeric: '756', digits: 2 },
  CHW: { numeric: '948', digits: 2 },
  CLF: { numeric: '990', digits: 4 },
  CLP: { numeric: '152', digits: 0 },
  CNY: { numeric: '156', digits: 2 },
  COP: { numeric: '170', digits: 2 },
  COU: { numeric: '970', digits: 2 },
  CRC: { numeric: '188', digits: 2 },
  CUP: { numeric: '192', digits: 2 },
  CVE: { numeric: '132', digits: 2 },
  CZK: { numeric: '203', digits: 2 },
  DJF: { numeric: '262', digits: 0 },
  DKK: { numeric: '208', digits: 2 },
  DOP: { numeric: '214', digits: 2 },
  DZD: { numeric: '012', digits: 2 },
  EGP: { numeric: '818', digits: 2 },
  ERN: { numeric: '232', digits: 2 },
  ETB: { numeric: '230', digits: 2 },
  EUR: { numeric: '978', digits: 2 },
  FJD: { numeric: '242', digits: 2 },
  FKP: { numeric: '238', digits: 2 },
  GBP: { numeric: '826', digits: 2 },
  GEL: { numeric: '981', digits: 2 },
  GHS: { numeric: '936', digits: 2 },
  GIP: { numeric: '292', digits: 2 },
  GMD: { numeric: '270', digits: 2 },
  GNF: { numeric: '324', digits: 0 },
  GTQ: { numeric: '320', digits: 2 },
  GYD: { numeric: '328', digits: 2 },
  HKD: { numeric: '344', digits: 2 },
  HNL: { numeric: '340', digits: 2 },
  HTG: { numeric: '332', digits: 2 },
  HUF: { numeric: '348', digits: 2 },
  IDR: { numeric: '360', digits: 2 },
  ILS: { numeric: '376', digits: 2 },
  INR: { numeric: '356', digits: 2 },
  IQD: { numeric: '368', digits: 3 },
  IRR: { numeric: '364', digits: 2 },
  ISK: { numeric: '352', digits: 0 },
  JMD: { numeric: '388', digits: 2 },
  JOD: { numeric: '400', digits: 3 },
  JPY: { numeric: '392', digits: 0 },
  KES: { numeric: '404', digits: 2 },
  KGS: { numeric: '417', digits: 2 },
  KHR: { numeric: '116', digits: 2 },
  KMF: { numeric: '174', digits: 0 },
  KPW: { numeric: '408', digits: 2 },
  KRW: { numeric: '410', digits: 0 },
  KWD: { numeric: '414', digits: 3 },
  KYD: { numeric: '136', digits: 2 },
  KZT: { numeric: '398', digits: 2 },
  LAK: { numeric: '418', digits: 2 },
  LBP: { numeric: '422', digits: 2 },
  LKR: { numeric: '144', digits: 2 },
  LRD: { numeric: '430', digits: 2 },
  LSL: { numeric: '426', digits: 2 },
  LYD: { numeric: '434', digits: 3 },
  MAD: { numeric: '504', digits: 2 },
  MDL: { numeric: '498', digits: 2 },
  MGA: { numeric: '969', digits: 2 },
  MKD: { numeric: '807', digits: 2 },
  MMK: { numeric: '104', digits: 2 },
  MNT: { numeric: '496', digits: 2 },
  MOP: { numeric: '446', digits: 2 },
  MRU: { numeric: '929', digits: 2 },
  MUR: { numeric: '480', digits: 2 },
  MVR: { numeric: '462', digits: 2 },
  MWK: { numeric: '454', digits: 2 },
  MXN: { numeric: '484', digits: 2 },
  MXV: { numeric: '979', digits: 2 },
  MYR: { numeric: '458', digits: 2 },
  MZN: { numeric: '943', digits: 2 },
  NAD: { numeric: '516', digits: 2 },
  NGN: { numeric: '566', digits: 2 },
  NIO: { numeric: '558', digits: 2 },
  NOK: { numeric: '578', digits: 2 },
  NPR: { numeric: '524', digits: 2 },
  NZD: { numeric: '554', digits: 2 },
  OMR: { numeric: '512', digits: 3 },
  PAB: { numeric: '590', digits: 2 },
  PEN: { numeric: '604', digits: 2 },
  PGK: { numeric: '598', digits: 2 },
  PHP: { numeric: '608', digits: 2 },
  PKR: { numeric: '586', digits: 2 },
  PLN: { numeric: '985', digits: 2 },
  PYG: { numeric: '600', digits: 0 },
  QAR: { numeric: '634', digits: 2 },
  RON: { numeric: '946', digits: 2 },
  RSD: { numeric: '941', digits: 2 },
  RUB: { numeric: '643', digits: 2 },
  RWF: { numeric: '646', digits: 0 },
  SAR: { numeric: '682', digits: 2 },
  SBD: { numeric: '090', digits: 2 },
  SCR: { numeric: '690', digits: 2 },
  SDG: { numeric: '938', digits: 2 },
  SEK: { numeric: '752', digits: 2 },
  SGD: { numeric: '702', digits: 2 },
  SHP: { numeric: '654', digits: 2 },
  SLE: { numeric: '925', digits: 2 },
  SOS: { numeric: '706', digits: 2 },
  SRD: { numeric: '968', digits: 2 },
  SSP: { numeric: '728', digits: 2 },
  STN: { numeric: '930', digits: 2 },
  SVC: { numeric: '222', digits: 2 },
  SYP: { numeric: '760', digits: 2 },
  SZL: { numeric: '748', digits: 2 },
  THB: { numeric: '764', digits: 2 },
  TJS: { numeric: '972', digits: 2 },
  TMT: { numeric: '934', digits: 2 },
  TND: { numeric: '788', digits: 3 },
  TOP: { numeric: '776', digits: 2 },
  TRY: { numeric: '949', digits: 2 },
  TTD: { numeric: '780', digits: 2 },
  TWD: { numeric: '901', digits: 2 },
  TZS: { numeric: '834', digits: 2 },
  UAH: { numeric: '980', digits: 2 },
  UGX: { numeric: '800', digits: 0 },
  USD: { numeric: '840', digits: 2 },
  USN: { numeric: '997', digits: 2 },
  UYI: { numeric: '940', digits: 0 },
  UYU: { numeric: '858', digits: 2 },
  UYW: { numeric: '927', digits: 4 },
  UZS: { numeric: '860', digits: 2 },
  VED: { numeric: '926', digits: 2 },
  VES: { numeric: '928', digits: 2 },
  VND: { numeric: '704', digits: 0 },
  VUV: { numeric: '548', digits: 0 },
  WST: { numeric: '882', digits: 2 },
  XAD: { numeric: '396', digits: 2 },
  XAF: { numeric: '950', digits: 0 },
  XCD: { numeric: '951', digits: 2 },
  XCG: { numeric: '532', digits: 2 },
  XOF: { numeric: '952', digits: 0 },
  XPF: { numeric: '953', digits: 0 },
  YER: { numeric: '886', digits: 2 },
  ZAR: { numeric: '710', digits: 2 },
  ZMW: { numeric: '967', digits: 2 },
  ZWG: { numeric: '924', digits: 2 },
}
