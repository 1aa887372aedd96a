import type { TObject, TSchema } from 'typebox'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { Fault } from '../fault.ts'
import { isUuid } from '../ids.ts'
import { nestingMax, nestsTooDeep } from '../json-depth.ts'
import { asWritten, unheldIn } from '../json-digits.ts'
import { repeatsKey } from '../json-keys.ts'
import { scrub } from '../log.ts'
import { isTimestamp } from '../timestamp.ts'

/** What is wrong with a request, before it has a code: the path of the field, and the rule that it breaks. */
export interface Violation {
  readonly field: string
  readonly rule: string
  /** What the rule allows, in words, where it has a limit or a list. */
  readonly allowed?: string
}

// That the contract's schemas are ones is for its tests to say, not for every start.
const ajv = new Ajv({
  strict: false,
  validateSchema: false,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
})
addFormats.default(ajv, ['uri'])
// The package's own takes `urn:uuid:` too, which no column does.
ajv.addFormat('uuid', isUuid)
ajv.addFormat('date-time', isTimestamp)

const visible = '\\S'

const ruleOf = (error: ErrorObject): string => {
  switch (error.keyword) {
    case 'additionalProperties':
      return 'unknown'
    case 'minLength':
      return 'non_blank'
    case 'pattern':
      return error.params['pattern'] === visible ? 'non_blank' : 'format'
    case 'enum':
      return 'one_of'
    case 'uniqueItems':
      return 'distinct'
    case 'maxProperties':
      return 'max_keys'
    default:
      return error.keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  }
}

const allowedOf = ({ params }: ErrorObject): string | undefined => {
  const { allowedValues, limit, format, pattern } = params as Record<string, unknown>
  if (Array.isArray(allowedValues)) return allowedValues.join(', ')
  if (typeof limit === 'number') return String(limit)
  return [format, pattern].find((word) => typeof word === 'string')
}

/** A key as it is, of one in a JSON pointer (RFC 6901, 4). */
const keyOf = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~')

const charactersMax = 100

// Of a value that may have one of several types, each type has an error of its own.
const typesIn = (error: ErrorObject, all: readonly ErrorObject[]): string =>
  all
    .flatMap(({ keyword, instancePath, params }) =>
      keyword === 'type' && instancePath === error.instancePath ? [params['type'] as string | string[]].flat() : [],
    )
    .join(' or ')

/** What an object may have, of one that has something else. */
function namesIn({ schemaPath }: ErrorObject, schema: TSchema): string {
  const where = schemaPath.split('/').slice(1, -1).map(keyOf)
  const object = where.reduce<unknown>(
    (inner, token) => (inner as Record<string, unknown> | undefined)?.[token],
    schema,
  )
  return Object.keys((object as Partial<TObject> | undefined)?.properties ?? {}).join(', ')
}

function allowedIn(error: ErrorObject, all: readonly ErrorObject[], schema: TSchema): string | undefined {
  if (error.keyword === 'type') return typesIn(error, all)
  return error.keyword === 'additionalProperties' ? namesIn(error, schema) : allowedOf(error)
}

function violationOf(error: ErrorObject, all: readonly ErrorObject[], schema: TSchema): Violation {
  // A key that is too long is told of at the map, not at the key.
  const parts = error.instancePath.split('/').slice(1).map(keyOf)
  const last = error.params['missingProperty'] ?? error.params['additionalProperty']
  if (typeof last === 'string') parts.push(last)
  const rule = error.propertyName === undefined ? ruleOf(error) : 'max_key_length'
  const allowed = allowedIn(error, all, schema)
  return { field: fieldOf(parts), rule, ...(allowed === undefined ? {} : { allowed }) }
}

// With whatever stands before them, and a little between: a caller's own names may be anything.
const digitsOfCard = /(?:\d\D{0,3}){12}\d/

/** Names as they may be told. */
const fieldOf = (names: readonly string[]): string =>
  scrub(names.map((name) => (digitsOfCard.test(name) ? '[removed]' : name)).join('.')).slice(0, charactersMax)

export type Validator = (value: unknown) => Violation | null

/** Compiles the schema for its first value. */
export function compile(schema: TSchema): Validator {
  let check: ValidateFunction | undefined
  return (value) => {
    check ??= ajv.compile(schema)
    if (check(value)) return null
    const all = check.errors ?? []
    const [first] = all
    return first === undefined ? { field: '', rule: 'invalid' } : violationOf(first, all, schema)
  }
}

/** Rules that make a request malformed as a whole; any other broken rule is the field's own. */
export const isMalformed = (violation: Violation): boolean =>
  violation.field === '' || ['required', 'unknown', 'non_blank'].includes(violation.rule)

type Properties = Record<string, { type?: string; format?: string }>

// Read as a form, a + is a space; before the offset of a time it can be nothing else.
const bareOffset = / (?=\d{2}:\d{2}$)/

/**
 * Query text to the shape of its schema: integers by their canonical spelling, comma-separated lists to arrays of distinct values, times with
 * the + of their offset as it is or as %2B, the rest as it is. What does not convert stays text and fails validation. A parameter sent twice is refused, and so are bytes that are no UTF-8,
 * which would be read as another text.
 */
export function readQuery(text: string, schema: TObject): Record<string, unknown> {
  if (!isEncoded(text)) throw new Fault('BAD_REQUEST', 'The query is not UTF-8 in percent-encoding.')
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  if (text === '') return query
  const properties: Properties = schema.properties
  for (const [name, value] of new URLSearchParams(text)) {
    if (name in query) {
      throw new Fault(
        'BAD_REQUEST',
        'A query parameter is sent twice; send it once, and where it takes several values with commas between them.',
        {
          field: scrub(name).slice(0, charactersMax),
          rule: 'once',
        },
      )
    }
    if (`${name}${value}`.includes('\0')) throw new Fault('BAD_REQUEST', 'A query parameter holds NUL; leave it out.')
    const { type, format } = properties[name] ?? {}
    // Beyond what a number holds exactly every limit is far behind, and it is all one.
    if (type === 'integer' && /^-?(0|[1-9]\d*)$/.test(value))
      query[name] = Math.min(Number(value), Number.MAX_SAFE_INTEGER)
    else if (type === 'array') query[name] = [...new Set(value.split(','))]
    else query[name] = format === 'date-time' ? value.replace(bareOffset, '+') : value
  }
  return query
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return /^[\x20-\x7e]*$/.test(text)
  } catch {
    return false
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** What a body says, and the text that it was read from. */
export interface Json {
  readonly text: string
  readonly value: unknown
}

/**
 * Body bytes to a value. JSON in UTF-8 only, of at most `nestingMax` levels; text that cannot be kept exactly (NUL, half of a surrogate
 * pair), the keys that reach into an object's prototype and those that stand twice are refused, so that nothing changes on its way to the
 * database and back, and nobody who reads the same bytes reads another value.
 */
export function readJson(bytes: Buffer): Json {
  let text: string
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch {
    throw new Fault('BAD_REQUEST', 'The body is not JSON in UTF-8.')
  }
  if (nestsTooDeep(text)) throw new Fault('BAD_REQUEST', `The body is nested deeper than ${nestingMax} levels.`)
  if (repeatsKey(text, value)) throw new Fault('BAD_REQUEST', 'An object of the body has a key twice; send it once.')
  if (!isAllKeepable({ text, value })) {
    throw new Fault(
      'BAD_REQUEST',
      'The body holds text or a key that cannot be kept: NUL, half a surrogate pair, or __proto__.',
    )
  }
  return { text, value }
}

/** The first number of a body that memory does not hold: it would be taken for another. */
export function unheldNumber({ text, value }: Json): Violation | null {
  const names = unheldIn(asWritten(text, value))
  return names === undefined ? null : { field: fieldOf(names), rule: 'digits' }
}

/** Whether all of a body can be kept, as `isKeepable` tells it. What cannot be is written by escapes alone, but for the key. */
export const isAllKeepable = ({ text, value }: Json): boolean =>
  !(text.includes('\\u') || text.includes('__proto__')) || isKeepable(value)

/** Whether all texts of a JSON value can be kept, and no key reaches into a prototype. */
export function isKeepable(value: unknown): boolean {
  const waiting = [value]
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (typeof one === 'string' && (one.includes('\0') || !one.isWellFormed())) return false
    if (typeof one !== 'object' || one === null) continue
    for (const [key, inner] of Object.entries(one)) {
      if (key === '__proto__') return false
      waiting.push(key, inner)
    }
  }
  return true
}
