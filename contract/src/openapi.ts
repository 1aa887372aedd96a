import type { TSchema } from 'typebox'
import { meaningOf } from './error-meanings.ts'
import { areaPages, type AreaPage, type ServiceAddress } from './openapi-areas.ts'
import { answerExamples, ownExamples, refusalExample, requestExamples } from './openapi-examples.ts'
import { deliveryTag, webhooksOf } from './openapi-webhooks.ts'
import { isForPages, scopesOf, type Area, type Operation, type Success } from './operation.ts'
import { IdempotencyKey } from './primitives.ts'
import { qrChallenge } from './qr.ts'

/** A value of JSON, as far as this module looks into it. */
type Tree = { readonly [name: string]: unknown }

/** An OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1.html). */
export interface OpenApiDocument {
  readonly openapi: '3.1.1'
  readonly info: Tree
  readonly servers: readonly Tree[]
  readonly security: readonly Tree[]
  readonly tags: readonly Tree[]
  readonly paths: Readonly<Record<string, Tree>>
  readonly webhooks?: Readonly<Record<string, Tree>>
  readonly components: Readonly<Record<string, Tree>>
}

/** One status that refuses: the codes of the catalogue that it carries, and how they are written on the wire. */
interface RefusedStatus {
  readonly status: number
  readonly codes: readonly { readonly code: string; readonly wire: string }[]
}

/** The document of each area. Equal operations give equal documents, byte for byte. */
export const documents: Readonly<Record<Area, () => OpenApiDocument>> = {
  webhooks: () => documentOf(areaPages.webhooks),
  reporting: () => documentOf(areaPages.reporting),
  ecommerce: () => documentOf(areaPages.ecommerce),
  terminals: () => documentOf(areaPages.terminals),
  qr: () => documentOf(areaPages.qr),
  qr_webhooks: () => documentOf(areaPages.qr_webhooks),
  sandbox: () => documentOf(areaPages.sandbox),
}

/** All documents, made. */
export function openapiDocuments(): Readonly<Record<Area, OpenApiDocument>> {
  return {
    webhooks: documents.webhooks(),
    reporting: documents.reporting(),
    ecommerce: documents.ecommerce(),
    terminals: documents.terminals(),
    qr: documents.qr(),
    qr_webhooks: documents.qr_webhooks(),
    sandbox: documents.sandbox(),
  }
}

/** A body is looked at also where none is expected, unless the method has none (RFC 9110, 9.3.1). */
const aboutBodies = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']
/** All that somebody can be refused who need not say who they are. */
const ofOurs = ['INTERNAL_ERROR']

/** Every status with which an operation can refuse, in rising order. Throws for a code that its area's catalogue lacks. */
export function refusalsOf(operation: Operation): RefusedStatus[] {
  const { errors, wireCodes, commonErrors } = areaPages[operation.area]
  const common = commonErrors.filter((code) =>
    operation.auth === 'none' ? ofOurs.includes(code) : operation.method !== 'GET' || !aboutBodies.includes(code),
  )
  const byStatus = new Map<number, { code: string; wire: string }[]>()
  for (const code of new Set([...common, ...operation.errors])) {
    const status = errors[code]
    if (status === undefined) throw new Error(`${operation.id} names ${code}, which the catalogue of its area lacks`)
    byStatus.set(status, [...(byStatus.get(status) ?? []), { code, wire: wireCodes[code] ?? code }])
  }
  return [...byStatus].map(([status, codes]) => ({ status, codes })).toSorted((a, b) => a.status - b.status)
}

function documentOf(page: AreaPage): OpenApiDocument {
  const shown = schemasOf(page)
  const operations = Object.values(page.operations)
  const shared: Shared = { responses: new Map(), examples: new Map() }
  const paths: Record<string, Record<string, Tree>> = {}
  for (const operation of operations) {
    const methods = (paths[pathAt(page.service, operation)] ??= {})
    methods[operation.method.toLowerCase()] = operationOf(operation, page, shown, shared)
  }
  return {
    openapi: '3.1.1',
    info: {
      title: page.title,
      version: page.version,
      description: page.description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [serverAt(page.service ?? baseAddress)],
    security: [Object.fromEntries(Object.keys(schemes[page.auth ?? 'key']).map((name) => [name, []]))],
    tags: tagsOf(page),
    paths,
    ...(page.deliveries === undefined ? {} : { webhooks: webhooksOf(page.deliveries, shown.named) }),
    components: {
      securitySchemes: schemes[page.auth ?? 'key'],
      ...(operations.some(({ idempotency }) => idempotency === 'required')
        ? { parameters: { IdempotencyKey: idempotencyKey } }
        : {}),
      headers: headersOf(page, operations),
      responses: sorted(shared.responses),
      examples: sorted(shared.examples),
      schemas: shown.named,
    },
  }
}

const baseAddress: ServiceAddress = { variable: 'base_url', says: 'Where your installation answers.', path: '' }

const serverAt = ({ variable, says, path }: ServiceAddress): Tree => ({
  url: `{${variable}}`,
  variables: { [variable]: { default: `http://localhost:8080${path}`, description: says } },
})

/** The path under the address of its service, which may hold how the operation's own begins. */
const pathAt = (service: ServiceAddress | undefined, { path }: Operation): string =>
  service !== undefined && path.startsWith(`${service.path}/`) ? path.slice(service.path.length) : path

const headerScheme = (name: string, description: string) => ({ type: 'apiKey', in: 'header', name, description })
/** By how callers say who they are. */
const schemes: Readonly<Record<NonNullable<AreaPage['auth']> | 'key', Readonly<Record<string, Tree>>>> = {
  key: { apiKey: headerScheme('X-API-Key', 'A secret key, exactly as issued. It stays on your server.') },
  signed: {
    apiKey: headerScheme('x-api-key', 'The API key of a till (role desktop).'),
    timestamp: headerScheme(
      'x-timestamp',
      "ISO 8601 with Z or an offset, within 5 minutes of the server's system time, which an advance of a sandbox's clock does not move.",
    ),
    signature: headerScheme(
      'x-signature',
      'Base64 of HMAC-SHA256, keyed with the API secret, over four lines joined by line feeds, with none at the end: the method in capitals, the path without its query, x-timestamp, and the SHA-256 of the body as sent in lower-case hexadecimal.',
    ),
  },
  basic: {
    basic: {
      type: 'http',
      scheme: 'basic',
      description: 'A secret key as the user name, and an empty password. It stays on your server.',
    },
  },
}

/** What several operations point to. */
interface Shared {
  readonly responses: Map<string, Tree>
  readonly examples: Map<string, Tree>
}

const sorted = (entries: Map<string, Tree>): Tree =>
  Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)))

interface Schemas {
  readonly named: Tree
  /** A schema as JSON, with references to those that have a name. */
  show(schema: TSchema): unknown
}

/** Named schemas are recognised by what they say: a copy, as an optional property makes one, keeps its name. */
function schemasOf({ schemas }: AreaPage): Schemas {
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]))
  if (names.size < Object.keys(schemas).length) throw new Error('two schemas with different names say the same')
  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner)]))
  }
  const visit = (value: unknown): unknown => {
    const name = names.get(JSON.stringify(value))
    return name === undefined ? inside(value) : { $ref: `#/components/schemas/${name}` }
  }
  return {
    named: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, inside(schema)])),
    show: visit,
  }
}

const tagsOf = ({ tags, deliveries }: AreaPage): Tree[] => [
  ...tags.map(({ name, description }) => ({ name, description })),
  ...(deliveries === undefined ? [] : [deliveryTag]),
]

function operationOf(operation: Operation, page: AreaPage, shown: Schemas, shared: Shared): Tree {
  const tag = page.tags.find(({ path }) => operation.path.startsWith(path))
  if (tag === undefined) throw new Error(`${operation.id} has no tag: give ${page.title} one for ${operation.path}`)
  const parameters = parametersOf(operation, shown)
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: `${operation.description}\n\n${whoMay(operation)}`,
    tags: [tag.name],
    ...(operation.auth === 'key_or_client_secret' ? { security: [{ apiKey: [] }, {}] } : {}),
    ...(operation.auth === 'none' ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined ? {} : { requestBody: requestBodyOf(operation, operation.body, shown) }),
    responses: Object.fromEntries([
      ...Object.entries(operation.success).map(([status, success]) => [
        status,
        {
          description: success.description,
          headers: {
            ...correlationOf(page),
            ...(operation.idempotency === undefined ? {} : { 'Idempotent-Replayed': header('IdempotentReplayed') }),
            ...(success.neverStored === true ? { 'Cache-Control': header('NeverStored') } : {}),
            ...(isForPages(operation) ? { 'Access-Control-Allow-Origin': header('ReadableAnywhere') } : {}),
          },
          ...(success.empty === undefined ? { content: contentOf(success, shown) } : {}),
        },
      ]),
      ...refusalsOf(operation).map((refusal) => [String(refusal.status), responseOf(refusal, operation, page, shared)]),
    ]),
  }
}

function contentOf(success: Success, shown: Schemas): Tree {
  const content = { schema: shown.show(success.schema), ...answerExamples(success) }
  if (success.text !== undefined) return { 'text/plain': content }
  return { ...json(content), ...(success.csv === undefined ? {} : csvContent(success.csv)) }
}

function whoMay(operation: Operation): string {
  const { auth } = operation
  if (auth === 'none') return 'Asks for no key.'
  if (auth === 'partner_key') return "Takes a partner's secret key."
  if (auth === 'signed') return 'Takes a key whose role is desktop; the request is signed.'
  const scopes = scopesOf(operation).map((scope) => `\`${scope}\``)
  const needs = `${scopes.length > 1 ? 'Scopes' : 'Scope'}: ${scopes.join(' and ')}.`
  return auth === 'key' || auth === 'basic'
    ? needs
    : `With a secret key: ${needs} With the client_secret in the body: no key.`
}

const requestBodyOf = (operation: Operation, body: TSchema, shown: Schemas): Tree => ({
  required: operation.bodyOptional !== true,
  content: json({ schema: shown.show(body), ...requestExamples(operation) }),
})

function parametersOf(operation: Operation, shown: Schemas): Tree[] {
  const { params, query, headers, idempotency, exampleParameters = {} } = operation
  const properties = (schema: Operation['query']) =>
    Object.entries((schema?.properties ?? {}) as Record<string, TSchema>)
  const isRequired = (schema: Operation['query'], name: string) =>
    ((schema?.required ?? []) as readonly string[]).includes(name)
  const exampleOf = (name: string) => (name in exampleParameters ? { example: exampleParameters[name] } : {})
  return [
    ...properties(params).map(([name, schema]) => ({
      name,
      in: 'path',
      required: true,
      ...parameterOf(schema, shown.show),
      ...exampleOf(name),
    })),
    ...properties(query).map(([name, schema]) => ({
      name,
      in: 'query',
      required: isRequired(query, name),
      ...parameterOf(schema, shown.show),
      ...('items' in schema ? { style: 'form', explode: false } : {}),
      ...exampleOf(name),
    })),
    ...properties(headers).map(([name, schema]) => ({
      name,
      in: 'header',
      required: isRequired(headers, name),
      ...parameterOf(schema, shown.show),
    })),
    ...(idempotency === 'required' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...(idempotency === 'optional' ? [{ ...idempotencyKey, required: false }] : []),
  ]
}

/** A parameter's schema; its description stands at the parameter. */
function parameterOf(schema: TSchema, show: Schemas['show']): Tree {
  const { description, ...bare } = schema as TSchema & { description?: string }
  const whole = show(schema) as Tree
  return { ...(description === undefined ? {} : { description }), schema: '$ref' in whole ? whole : show(bare) }
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  ...parameterOf(IdempotencyKey, (schema) => schema),
}

const header = (name: string): Tree => ({ $ref: `#/components/headers/${name}` })
const correlationOf = ({ correlationHeaders = ['x-correlation-id'] }: AreaPage): Tree =>
  Object.fromEntries(correlationHeaders.map((name) => [name, header('CorrelationId')]))

/** Those that the answers of these operations have. */
const headersOf = ({ auth }: AreaPage, operations: readonly Operation[]): Tree => ({
  CorrelationId: {
    description: 'Names this request; quote it when you ask for help.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  RetryAfter: { description: 'Seconds to wait before the next try.', schema: { type: 'integer', minimum: 0 } },
  ...(operations.some(({ idempotency }) => idempotency !== undefined)
    ? {
        IdempotentReplayed: {
          description: 'Present when this is the first answer to the Idempotency-Key, given again.',
          schema: { type: 'string', enum: ['true'] },
        },
      }
    : {}),
  ...(operations.some(({ success }) => Object.values(success).some(({ neverStored }) => neverStored))
    ? {
        NeverStored: {
          description: 'The answer tells a secret: nobody on the way may store it.',
          required: true,
          schema: { type: 'string', enum: ['no-store'] },
        },
      }
    : {}),
  ...(operations.some(isForPages)
    ? {
        ReadableAnywhere: {
          description: 'A page of any origin may read the answer.',
          required: true,
          schema: { type: 'string', enum: ['*'] },
        },
      }
    : {}),
  ...(auth === 'basic'
    ? {
        WwwAuthenticate: {
          description: 'How to say who you are.',
          required: true,
          schema: { type: 'string', enum: [qrChallenge] },
        },
      }
    : {}),
})

/** One response for a status. What every operation of the area shares stands once, among the components. */
function responseOf({ status, codes }: RefusedStatus, operation: Operation, page: AreaPage, shared: Shared): Tree {
  const { area } = operation
  const own = ownExamples(operation, page)
  const { commonErrors: common, sealedCodes = [] } = page
  const isSealed = codes.every(({ code }) => sealedCodes.includes(code))
  for (const one of codes) {
    if (!isSealed && !(one.code in own))
      shared.examples.set(one.code, { value: refusalExample(page, { ...one, area }) })
  }
  const response = {
    description: codes.map(({ code, wire }) => `- \`${wire}\`: ${meaningOf(code, area)}`).join('\n'),
    headers: {
      ...correlationOf(page),
      ...(status === 429 || status === 503 ? { 'Retry-After': header('RetryAfter') } : {}),
      ...(status === 401 && page.auth === 'basic' ? { 'WWW-Authenticate': header('WwwAuthenticate') } : {}),
    },
    content: json({
      schema: { $ref: `#/components/schemas/${isSealed ? 'SealedError' : 'Error'}` },
      ...(isSealed
        ? {}
        : {
            examples: Object.fromEntries(
              codes.map(({ code, wire }) => [
                codes.some((one) => one.wire === wire && one.code !== code) ? code : wire,
                code in own
                  ? { value: refusalExample(page, { code, wire, area }, own[code]) }
                  : { $ref: `#/components/examples/${code}` },
              ]),
            ),
          }),
    }),
  }
  const [only, ...others] = codes
  if (only === undefined || others.length > 0 || !common.includes(only.code) || only.code in own) return response
  const name = pascal(only.code)
  shared.responses.set(name, response)
  return { $ref: `#/components/responses/${name}` }
}

const pascal = (code: string): string =>
  code.replaceAll(/_?([A-Z])([A-Z]*)/g, (_all, first: string, rest: string) => first + rest.toLowerCase())

const csvContent = ({ example }: NonNullable<Success['csv']>): Tree => ({
  'text/csv': { schema: { type: 'string', description: 'The same fields, a row each.' }, example },
})

const json = (content: Tree): Tree => ({ 'application/json': content })
