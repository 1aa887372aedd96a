import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Area } from '@kaha/contract'
import addFormats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Answer, Call } from './call.ts'

/** Where the examples of the documents are at home. */
export const exampleBase = 'http://localhost:8080'

/** Something that is answered, as a document shows it. */
export interface ShownAnswer {
  readonly status: number
  /** Undefined where there is no body. */
  readonly type: string | undefined
  /** Headers that every such answer has, and the values that they may have, where not any. */
  readonly headers: ReadonlyMap<string, readonly string[] | undefined>
  /** By name; one that has none is ''. */
  readonly examples: ReadonlyMap<string, unknown>
  /** What its Token holds. */
  readonly sealed?: unknown
  readonly fits: ValidateFunction
}

/** An operation as a document shows it, references followed. */
export interface ShownOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly hasBody: boolean
  readonly idempotent: boolean
  /** Bodies by name, as of answers. */
  readonly requests: ReadonlyMap<string, unknown>
  /** What the Token of the body holds. */
  readonly sealed?: unknown
  readonly parameters: ReadonlyMap<string, { readonly in: string; readonly example: unknown }>
  readonly answers: readonly ShownAnswer[]
}

// JSON of many shapes: whatever is asked of it here is asserted when it is used.
type Tree = any

/** The operations of the OpenAPI document of an area, as it is checked in. */
export function shownOperations(area: Area): ShownOperation[] {
  const url = new URL(`../../../contract/openapi/${area}.json`, import.meta.url)
  return operationsOf(JSON.parse(readFileSync(url, 'utf8')))
}

/** The operations of an OpenAPI document. */
export function operationsOf(text: Tree): ShownOperation[] {
  const document = resolved(text, text)
  return Object.entries<Tree>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Tree>(methods).map(([method, shown]) => ({
      id: shown.operationId,
      method: method.toUpperCase(),
      path,
      hasBody: shown.requestBody !== undefined,
      idempotent: (shown.parameters ?? []).some(({ name }: Tree) => name === 'Idempotency-Key'),
      requests: examplesOf(shown.requestBody?.content['application/json'] ?? {}),
      sealed: sealedIn(shown.requestBody?.content['application/json'] ?? {}),
      parameters: new Map((shown.parameters ?? []).map((one: Tree) => [one.name, one])),
      answers: Object.entries<Tree>(shown.responses).flatMap(([status, response]) =>
        contentsOf(response).map(([type, content]) => ({
          status: Number(status),
          type,
          // The one that tells of a repeat is on repeats alone.
          headers: new Map(
            Object.entries<Tree>(response.headers)
              .filter(([name]) => name !== 'Idempotent-Replayed')
              .map(([name, { schema }]) => [name.toLowerCase(), schema?.enum]),
          ),
          examples: examplesOf(content),
          sealed: sealedIn(content),
          fits: ajv.compile(content.schema),
        })),
      ),
    })),
  )
}

const contentsOf = ({ content }: Tree): [type: string | undefined, content: Tree][] =>
  content === undefined ? [[undefined, { schema: {}, examples: { '': {} } }]] : Object.entries<Tree>(content)

const sealedIn = ({ schema }: Tree): unknown => schema?.properties?.Token?.contentSchema?.examples?.[0]

/** The operation of this id; fails where there is none. */
export function shownOf(operations: readonly ShownOperation[], id: string): ShownOperation {
  const found = operations.find((one) => one.id === id)
  assert.ok(found, `the document shows no ${id}`)
  return found
}

/** The success of an operation that has one; fails where it has several, or takes a body and shows none. */
export function successOf(shown: ShownOperation): ShownAnswer {
  assert.ok(!shown.hasBody || shown.requests.size > 0, `${shown.id} shows no body`)
  const [success, ...others] = shown.answers.filter(({ status }) => status < 300)
  assert.ok(success !== undefined && others.length === 0, `${shown.id} has another number of successes than one`)
  return success
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)

const resolved = (value: Tree, document: Tree): Tree => {
  if (Array.isArray(value)) return value.map((one) => resolved(one, document))
  if (typeof value !== 'object' || value === null) return value
  if (typeof value.$ref === 'string') {
    const target = value.$ref.slice('#/'.length).split('/')
    return resolved(
      target.reduce((tree: Tree, name: string) => tree[name], document),
      document,
    )
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolved(one, document)]))
}

const examplesOf = ({ example, examples = {} }: Tree): Map<string, unknown> =>
  new Map([
    ...(example === undefined ? [] : [['', example] as const]),
    ...Object.entries<Tree>(examples).map(([name, { value }]) => [name, value] as const),
  ])

/** Where the webhooks of the examples are received. */
export const exampleReceiver = 'https://shop.example.com'

/** What the ids and the receiver of the examples are called here. Those that were not known yet are noted where they first appear. */
export type Known = Map<string, string>

const ids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|wh_[0-9A-HJKMNP-TV-Z]{26}|https:\/\/shop\.example\.com/g
const translated = (text: string, known: Known): string => text.replaceAll(ids, (id) => known.get(id) ?? id)

/** The request that a document shows, the first where it is not named: with the ids that stand for its own here, and no other change; the receiver is one of them. */
export function requestOf(
  shown: ShownOperation,
  known: Known,
  { name = '', key }: { readonly name?: string; readonly key: string },
): Call {
  const { method, path, parameters, requests } = shown
  const query: string[] = []
  let place = path
  for (const [parameter, { in: where, example }] of parameters) {
    const value = encodeURIComponent(translated([example].flat().join(','), known))
    if (where === 'path') place = place.replace(`{${parameter}}`, value)
    if (where === 'query' && example !== undefined) query.push(`${parameter}=${value}`)
  }
  const body = requests.get(name) ?? [...requests.values()][0]
  return {
    method,
    path: query.length === 0 ? place : `${place}?${query.join('&')}`,
    key,
    ...(body === undefined ? {} : { body: JSON.parse(translated(JSON.stringify(body), known)) as unknown }),
  }
}

const token = '[A-Za-z0-9_-]{22}'
/** Values that nobody can foretell, by their fields: what they look like, here and in the documents. */
const forms: Readonly<Record<string, RegExp>> = {
  client_secret: /^cs_[A-Za-z0-9_-]{43}$/,
  checkout_url: new RegExp(`^${exampleBase}/pay/i/${token}$`),
  url: new RegExp(`^${exampleBase}/(?:pay/[il]|sandbox/challenges)/${token}$`),
  next_cursor: /^[A-Za-z0-9_-]{60,120}$/,
  nextCursor: /^[A-Za-z0-9_-]{60,120}$/,
  approval_code: /^\d{6}$/,
  auth_number: /^\d{6}$/,
  transaction_id: /^SIM[A-Z]{17}$/,
  reconciliation_id: /^[A-Z]{12}$/,
  reference_number: /^[A-Z]{12}$/,
  invoice_number: /^\d{10}$/,
  receipt_number: /^\d{10}$/,
  activation_code: /^[A-Z0-9]{4}(?:-[A-Z0-9]{4}){3}$/,
  batch_number: /^\d{4}-\d{2}-\d{2}$/,
  activationCode: /^[A-Z0-9]{4}(?:-[A-Z0-9]{4}){3}$/,
  signing_secret: /^whsec_[A-Za-z0-9+/]{43}=$/,
  secret: /^whsec_[A-Za-z0-9+/]{43}=$/,
  Token: /^eyJhbGciOiJBMjU2S1ciLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIn0(?:\.[^.]+){4}$/,
  qrBody: /^iVBORw0KGgo/,
  qrText: /^000201.*6304[0-9A-F]{4}$/,
  qr_text: /^000201.*6304[0-9A-F]{4}$/,
  reference: /^[0-9A-Z]{25}$/,
  bank_reference: /^\d{12}$/,
  'webhook-timestamp': /^\d{10}$/,
  'webhook-signature': /^v1,[A-Za-z0-9+/]{43}=$/,
}
/** Numbers that nobody can foretell. */
const measured: readonly string[] = ['duration_ms']
const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

function learn(known: Known, id: string, real: string | undefined, at: string): void {
  if (known.has(id)) return
  assert.ok(real !== undefined, `${at} has no id`)
  assert.ok(![...known.values()].includes(real), `${at}: ${real} is something else already`)
  known.set(id, real)
}

/**
 * What was answered is what the example shows: the same fields, and the same values but for ids, times and what nobody can foretell. An id
 * stands for the same thing throughout; a time is a time, and the others have the form of their field where the example has it.
 */
export function assertLike(example: unknown, real: unknown, known: Known, at = ''): void {
  const field = at.slice(at.lastIndexOf('.') + 1)
  if (typeof example !== 'object' || example === null) {
    assert.equal(typeof real, typeof example, at)
    if (typeof example === 'number' && measured.includes(field)) return
    if (typeof example !== 'string' || typeof real !== 'string') return assert.equal(real, example, at)
    // Bytes that are signed, shown as text.
    if (field === 'payload') return assertLike(JSON.parse(example), JSON.parse(real), known, at)
    const form = [forms[field], time].find((one) => one?.test(example))
    if (form === undefined) {
      const found = real.match(ids) ?? []
      for (const [index, id] of (example.match(ids) ?? []).entries()) learn(known, id, found[index], at)
      return assert.equal(real, translated(example, known), at)
    }
    for (const one of [example, real]) assert.match(one, form, at)
    return
  }
  if (typeof real !== 'object' || real === null) assert.fail(`${at}: ${String(real)} where the example has more`)
  assert.equal(Array.isArray(real), Array.isArray(example), at)
  assert.deepEqual(Object.keys(real).toSorted(), Object.keys(example).toSorted(), `the fields of ${at || 'the answer'}`)
  for (const [name, value] of Object.entries(example)) {
    assertLike(value, (real as Record<string, unknown>)[name], known, `${at}.${name}`)
  }
}

/** The answer is the one that the document shows under this name: status, headers, form and content. */
export function assertShown(shown: ShownAnswer, name: string, answer: Answer, known: Known): void {
  assert.equal(answer.status, shown.status, answer.text)
  assert.equal(answer.headers['content-type']?.split(';')[0], shown.type)
  for (const [header, values] of shown.headers) {
    const value = answer.headers[header]
    assert.ok(value !== undefined && (values?.includes(String(value)) ?? true), `${shown.status} has no ${header}`)
  }
  assert.equal(answer.headers['cache-control'] === 'no-store', shown.headers.has('cache-control'))
  assert.equal(answer.headers['idempotent-replayed'], undefined)
  assert.ok(shown.examples.has(name), `${shown.status} shows no ${name || 'example'}`)
  const [example, real] =
    shown.type === 'text/csv'
      ? [rowsOfCsv(String(shown.examples.get(name))), rowsOfCsv(answer.text)]
      : [shown.examples.get(name), shown.type === 'text/plain' ? answer.text : (answer.json as unknown)]
  if (shown.type !== 'text/csv') assert.ok(shown.fits(real), JSON.stringify(shown.fits.errors))
  const own: Known = new Map(known)
  // Which request it was, nobody knows beforehand.
  const { correlation_id: request } = ((example as Tree)?.error ?? {}) as { correlation_id?: string }
  if (request !== undefined) own.set(request, String(answer.headers['x-correlation-id']))
  assertLike(example, real, own)
}

/** Rows of CSV (RFC 4180) as objects, each cell under the name of its column. */
function rowsOfCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)?.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    if (end === '\r\n') rows.push([])
  }
  const [header = [], ...lines] = rows.slice(0, -1)
  return lines.map((cells) => Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ''])))
}
