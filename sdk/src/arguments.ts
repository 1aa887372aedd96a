import type { Operation } from '@kaha/contract'

// What a caller may get wrong where no types are checked: told by its name, before anything is sent.

/** Neither a list nor null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An argument that must be an object. */
export function mustBeObject<Value>(name: string, value: Value): Value {
  if (!isObject(value)) throw new TypeError(`${name} must be an object`)
  return value
}

/** An argument that must be a text with something in it. */
export function mustBeText(name: string, value: string): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a text`)
  return value
}

/** The body of a delivery before any parsing. */
export function mustBeBody(payload: string | Uint8Array): void {
  if (typeof payload !== 'string' && !ArrayBuffer.isView(payload))
    throw new TypeError('payload must be the body exactly as it came, text or bytes')
}

/** A text that goes into a header. `fetch` refuses others in words of its own, and leaves out spaces at either end. */
export function mustFitHeader(name: string, value: unknown): void {
  if (typeof value !== 'string' || !/^(?! )[\x20-\x7e]*(?<! )$/.test(value))
    throw new TypeError(`${name} must be a text of ASCII letters, digits and signs`)
}

/** What ends a call. `fetch` fails by anything else as by a lost connection, which would be tried again. */
export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new TypeError('signal must be an AbortSignal')
}

/** What goes with any call of an operation. */
export function checkInput(
  { body: bodyForm, bodyOptional, query: queryForm }: Operation,
  { query, body }: { readonly query?: unknown; readonly body?: unknown },
  options: unknown,
): void {
  const { idempotencyKey, signal } = mustBeObject('options', options) as Readonly<Record<string, unknown>>
  if (idempotencyKey != null) mustFitHeader('idempotencyKey', idempotencyKey)
  checkSignal(signal)
  if (bodyForm !== undefined && (body !== undefined || bodyOptional !== true)) mustBeObject('body', body)
  if (query === undefined) return
  const given = mustBeObject('query', query) as Readonly<Record<string, unknown>>
  for (const name of queryForm?.required ?? []) if (given[name] === undefined) throw new TypeError(`${name} is missing`)
}

/**
 * The JSON of what is sent. `JSON.stringify` writes null for NaN, Infinity and a Date that is none, and null takes away what was there, as the
 * limit of a link: they are told by their name instead.
 */
export function jsonOf(body: unknown): string {
  const names = new Map<unknown, string>()
  return JSON.stringify(body, function (this: Readonly<Record<string, unknown>>, key: string, value: unknown) {
    const above = names.get(this)
    const name = above === undefined ? key : `${above}.${key}`
    const isNumber = typeof value !== 'number' || Number.isFinite(value)
    if (typeof value === 'bigint') throw new TypeError(`${name} must not be a bigint, which JSON does not have`)
    if (!isNumber || (value === null && this[key] !== null))
      throw new TypeError(`${name} must be a finite number, or a time that is one`)
    if (key !== '' && typeof value === 'object') names.set(value, name)
    return value
  })
}

/** The address without a slash at its end. Its text may hold a password, so no message repeats it. */
export function checkedBase(text: string, protocols = /^https?:$/): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url && protocols.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === ''
  if (!isPlain) throw new TypeError('baseUrl must be an http or https address without user, query and fragment')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

/** `fetch` would repeat a malformed key in its own message. */
export function checkedKey(apiKey: string | undefined): string | undefined {
  return apiKey === undefined ? undefined : mustBeKey('apiKey', apiKey)
}

/** A key that a client is nothing without: one that is not set would be told by each call, as a 401. */
export function mustBeKey(name: string, key: string): string {
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
    throw new TypeError(`${name} must be the key exactly as issued, without spaces`)
  return key
}

/** A path segment. Dots alone would be taken for a way up, and nothing for another path. */
export function segment(name: string, value: unknown): string {
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value) || !value.isWellFormed())
    throw new TypeError(`${name} must be the id of a resource`)
  return encodeURIComponent(value)
}

/** Lists become one comma-separated parameter; undefined ones are left out. */
export function search(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(
    given.map(([name, value]): [string, string] => [
      name,
      Array.isArray(value) ? value.map((one) => plain(name, one)).join(',') : plain(name, value),
    ]),
  )
  return given.length === 0 ? '' : `?${text.toString()}`
}

function plain(name: string, value: unknown): string {
  const isPlain = typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
  if (!isPlain) throw new TypeError(`${name} must be a text, a number, or left out`)
  return String(value)
}
