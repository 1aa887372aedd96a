// A number in memory has 53 bits: what was written with more, or beyond its range, would be written back as another number. Node has numbers
// that keep their text (ECMA-262, JSON.parse source text access); the types of TypeScript have not yet.
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (text: string) => Written
  readonly isRawJSON: (value: unknown) => value is Written
}

interface Written {
  readonly rawJSON: string
}

/** JSON in which numbers that a number in memory would write otherwise are as they were written: JSON.stringify gives each back as it was. */
export const parseAsWritten = (text: string): unknown => asWritten(text, JSON.parse(text))

// Within a string it may look so too, and is looked at more closely for nothing.
const mayBeNumber = /(?:^|[[:,])\s*-?\d/

/** The same of a text that has been read: `value` is what JSON.parse made of it. */
export function asWritten(text: string, value: unknown): unknown {
  // Most has no number, or is written as it would be written here, and needs no second look.
  if (!mayBeNumber.test(text) || JSON.stringify(value) === text) return value
  return JSON.parse(text, (_key, one: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof one !== 'number' || source === undefined || source === String(one) ? one : rawJSON(source)
  })
}

/** The digits of a number of such JSON; undefined for what is none. */
export const digitsOf = (value: unknown): string | undefined =>
  typeof value === 'number' ? String(value) : isRawJSON(value) ? value.rawJSON : undefined

/** For JSON.stringify: a number in one form of all that it can be written in, as 1 for 1.0; one that memory cannot hold as it was written. */
export const alike = (_key: string, value: unknown): unknown =>
  isRawJSON(value) && isHeld(value.rawJSON) ? Number(value.rawJSON) : value

/** Whether memory holds all numbers in it. */
export const holdsAll = (value: unknown): boolean => unheldIn(value) === undefined

/** Where the first number of such JSON is that memory does not hold: the names that lead there. Undefined where it holds all. */
export function unheldIn(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (isRawJSON(value)) return isHeld(value.rawJSON) ? undefined : []
  for (const [name, one] of Object.entries(value)) {
    const names = unheldIn(one)
    if (names !== undefined) return [name, ...names]
  }
  return undefined
}

// Most that is written otherwise is short, as 1.0: with so few digits memory holds it.
const shortCharactersMax = 15

const isHeld = (text: string): boolean => {
  if (text.length <= shortCharactersMax && !/[eE]/.test(text)) return true
  const number = Number(text)
  return Number.isFinite(number) && decimalOf(text) === decimalOf(String(number))
}

/** Equal for numbers that are equal: their digits from the first to the last that is not 0, and the power of ten. */
function decimalOf(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  let length = digits.length
  // By hand: an expression that looks for zeros at the end looks at each zero as often as there are others after it.
  while (digits[length - 1] === '0') length -= 1
  if (length === 0) return '0'
  const power = Number(exponent) - fraction.length + digits.length - length
  return `${mantissa.startsWith('-') ? '-' : ''}${digits.slice(0, length)}e${power}`
}
