/** What is wrong with a value, seen from the contract. */
export type Kind = 'missing' | 'unknown' | 'blank' | 'value'

/** A body or a query that breaks one rule of its schema, and no other. */
export interface Bad {
  readonly what: string
  /** Names from the top to what is wrong. */
  readonly path: readonly string[]
  readonly kind: Kind
  readonly value: unknown
}

/** As much of JSON Schema as the contract uses. */
export interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly maxProperties?: number
  readonly propertyNames?: { readonly maxLength?: number }
  readonly additionalProperties?: boolean | Schema
}

export const badTimes = [
  '2026-02-30T00:00:00Z',
  '2025-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-10T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '2026-01-01T24:00:01Z',
  '2026-12-31T23:59:60Z',
  '2026-01-01T00:60:00Z',
  '2026-01-01T00:00:00',
  '2026-01-01 00:00:00Z',
  '2026-01-01',
  '2026-01-01T00:00:00+25:00',
  '9999-12-31T23:59:59-01:00',
  '+010000-01-01T00:00:00Z',
  '1767225600',
  'tomorrow',
  '',
]
const badUuids = ['x', '', '01a1fcef-9ed7-78da-86e8-e01924f0183', 'urn:uuid:01a1fcef-9ed7-78da-86e8-e01924f01831']
const badUris = ['x', '/path', 'shop.example.com', 'https://', 'https://a b.example.com', 'https://exa mple']

const isNullable = ({ anyOf }: Schema): boolean => anyOf?.some(({ type }) => type === 'null') ?? false
const inner = (schema: Schema): Schema => schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
const isMap = ({ type, properties }: Schema): boolean => type === 'object' && properties === undefined

const ofOtherTypes: Readonly<Record<string, readonly unknown[]>> = {
  string: [1, 1.5, -0, true, false, [], {}, ['x'], { toString: 'x' }],
  integer: ['5', '', '1e3', 1.5, true, [], [1], {}, 1e21, -1e21, 1e300],
  boolean: ['true', 'false', '', 0, 1, [], {}],
  array: ['x', 1, true, {}, { 0: 'x', length: 1 }],
  object: ['x', '{}', 1, true, [], [{}]],
}

/** Values that this schema does not take, each with what is wrong about it. */
function* wrongValues(given: Schema, right: unknown): Generator<{ what: string; kind: Kind; value: unknown }> {
  const schema = inner(given)
  const wrong = (what: string, value: unknown, kind: Kind = 'value') => ({ what, kind, value })
  if (!isNullable(given)) yield wrong('null', null)
  for (const value of ofOtherTypes[schema.type ?? ''] ?? [])
    yield wrong(`${JSON.stringify(value)} as ${schema.type}`, value)
  if (schema.enum !== undefined) {
    for (const value of ['', 'UNKNOWN', `${String(schema.enum[0])} `, String(schema.enum[0]).toUpperCase() + 'X'])
      yield wrong(`${value} among the allowed`, value)
  } else if (schema.type === 'string') {
    if (schema.minLength !== undefined) yield wrong('nothing', '', 'blank')
    if (schema.pattern === '\\S') for (const value of [' ', '\t\n', '\u00a0']) yield wrong('only space', value, 'blank')
    if (schema.maxLength !== undefined) {
      const tooLong = (character: string) => character.repeat((schema.maxLength ?? 0) + 1)
      yield wrong('too long', tooLong('a'))
      if (schema.format === undefined) yield wrong('too long in code points', tooLong('\u{1f600}'))
    }
    if (schema.pattern !== undefined && schema.pattern !== '\\S') yield wrong('of another form', '¿?')
    if (schema.format === 'uuid') for (const value of badUuids) yield wrong(`${value} as a uuid`, value)
    if (schema.format === 'date-time') for (const value of badTimes) yield wrong(`${value} as a time`, value)
    if (schema.format === 'uri') for (const value of badUris) yield wrong(`${value} as an address`, value)
  } else if (schema.type === 'integer') {
    if (schema.minimum !== undefined) yield wrong('too small', schema.minimum - 1)
    if (schema.maximum !== undefined) yield wrong('too large', schema.maximum + 1)
  } else if (schema.type === 'array' && Array.isArray(right)) {
    if (schema.minItems !== undefined) yield wrong('too few entries', [])
    if (schema.maxItems !== undefined)
      yield wrong(
        'too many entries',
        Array.from({ length: schema.maxItems + 1 }, () => right[0] as unknown),
      )
    if (schema.uniqueItems === true) yield wrong('an entry twice', [right[0], right[0]])
    for (const value of [null, 1, [], 'UNKNOWN']) yield wrong(`${JSON.stringify(value)} as an entry`, [...right, value])
  } else if (isMap(schema)) {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))
    const valueCharactersMax = (schema.additionalProperties as Schema).maxLength ?? 0
    yield wrong('too many keys', keys((schema.maxProperties ?? 0) + 1))
    yield wrong('a key too long', { ['k'.repeat((schema.propertyNames?.maxLength ?? 0) + 1)]: 'v' })
    yield wrong('a value too long', { key: 'v'.repeat(valueCharactersMax + 1) })
    for (const value of [null, 1, true, {}, []]) yield wrong(`${JSON.stringify(value)} as a value`, { key: value })
  }
}

const setAt = (whole: unknown, path: readonly string[], value: unknown): unknown => {
  const [first, ...rest] = path
  if (first === undefined) return value
  if (Array.isArray(whole))
    return whole.map((one: unknown, at) => (String(at) === first ? setAt(one, rest, value) : one))
  const object = (whole ?? {}) as Record<string, unknown>
  return { ...object, [first]: setAt(object[first], rest, value) }
}

const removeAt = (whole: unknown, path: readonly string[]): unknown => {
  const [last = ''] = path.slice(-1)
  const above = path.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], whole)
  const { [last]: _, ...rest } = above as Record<string, unknown>
  return setAt(whole, path.slice(0, -1), rest)
}

/** A value of a schema, for a field that the right body leaves out. */
function exampleOf(given: Schema): unknown {
  const schema = inner(given)
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.type === 'array') return schema.items === undefined ? [] : [exampleOf(schema.items)]
  if (schema.type === 'object') return {}
  if (schema.type === 'integer') return schema.minimum ?? 1
  return schema.format === 'uri' ? 'https://shop.example.com/' : 'x'
}

const unknownNames = ['unknown', 'constructor', 'toString', 'hasOwnProperty', 'ID', '']
/** Fields that other operations have, with codes of their own there. */
export const namesElsewhere = ['metadata', 'cursor', 'date_from', 'date_to', 'card']

/** Everything that can be wrong with one body, one thing at a time, from a body that is right. */
export function* badValues(
  schema: Schema,
  right: unknown,
  path: readonly string[] = [],
  whole = right,
): Generator<Bad> {
  const at = (name: string) => [...path, name]
  if (path.length === 0)
    for (const value of [null, 'x', 1, true, [], [right]]) yield { what: 'no object', path, kind: 'missing', value }
  const known = Object.keys(schema.properties ?? {})
  for (const name of [...unknownNames, ...namesElsewhere].filter((one) => !known.includes(one)))
    yield {
      what: `${name || 'an empty name'} as a property`,
      path: at(name),
      kind: 'unknown',
      value: setAt(whole, at(name), 'x'),
    }
  for (const name of schema.required ?? [])
    yield { what: `${name} left out`, path: at(name), kind: 'missing', value: removeAt(whole, at(name)) }
  for (const [name, of] of Object.entries(schema.properties ?? {})) {
    const value = (right as Record<string, unknown>)[name] ?? exampleOf(of)
    for (const { what, kind, value: bad } of wrongValues(of, value))
      yield { what: `${name}: ${what}`, path: at(name), kind, value: setAt(whole, at(name), bad) }
    const below = inner(of)
    if (below.properties !== undefined) yield* badValues(below, value, at(name), setAt(whole, at(name), value))
    const [first] = Array.isArray(value) ? (value as unknown[]) : []
    if (below.items?.properties !== undefined) yield* badValues(below.items, first, [...at(name), '0'], whole)
  }
}
