import { Readable } from 'node:stream'
import { isForPages, type AnswerOf, type BodyOf, type Operation, type ParamsOf, type QueryOf } from '@kaha/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { Fault } from '../fault.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { lacksBody } from './body.ts'
import { complaintOf } from './complaints.ts'
import { mountPreflight, readableAnywhere } from './cross-origin.ts'
import { headerOf } from './header.ts'
import { endWhenStalled } from './stalled.ts'
import { compile, isMalformed, readJson, readQuery, unheldNumber, type Violation } from './validation.ts'

/** A refusal on its way out, to be put into the area's envelope. */
export interface Refusal {
  readonly code: string
  readonly message: string
  readonly field: string | undefined
  readonly rule: string | undefined
  readonly correlationId: string
}

/** What the edge of one area knows: its codes, its envelope, who may come in. `P` is the area's idea of a caller. */
export interface Area<P> {
  readonly name: string
  /** Where its paths begin: `/ecom/v1`. Unknown paths under it are told in its envelope. */
  readonly prefix: string
  /** Where the area's address lies, under which the contract's paths begin; at the root where it is left out. */
  readonly base?: string
  readonly bodyBytesMax: number
  readonly statuses: Readonly<Record<string, number>>
  readonly wireCodes?: Readonly<Record<string, string>>
  /** Whether properties of a body that an operation does not know are left aside, also where it takes no body. */
  readonly takesExtras?: boolean
  /** How long whoever asked for a stream may take nothing of it before the connection is ended. */
  readonly stalledMsMax?: number
  /** The body of a refusal; a promise where it has to be made. */
  envelope(refusal: Refusal, request: FastifyRequest): unknown
  /** A refusal in other words, where the area has its own for this request. */
  restate?(fault: Fault, request: FastifyRequest): Fault
  /** Codes of fields whose code is not INVALID_ and their name. */
  codeOf?(violation: Violation): string | undefined
  /** Runs before the body is read. Throws UNAUTHORIZED, FORBIDDEN, RATE_LIMITED. */
  authenticate(request: FastifyRequest, operation: Operation): Promise<P>
  /** Runs when the body is there, before anything in it is looked at. Throws as `authenticate` does. */
  verify?(request: FastifyRequest, principal: P, body: Buffer): void
  /** How to authenticate, for a 401; where the way is one that HTTP knows (RFC 9110, 11.6.1). */
  readonly challenge?: string
  /** Headers of every answer, refusals too. */
  headersOf?(correlationId: string): Readonly<Record<string, string>>
}

export interface Call<O extends Operation, P> {
  readonly principal: P
  readonly params: ParamsOf<O>
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
  readonly correlationId: string
  /** The text that the body was read from; empty where there is none. */
  readonly text: string
  header(name: string): string | undefined
}

export interface Answer<O extends Operation> {
  readonly status: keyof O['success'] & number
  readonly body: AnswerOf<O>
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer that goes out as it is read, under the content type that its headers name. */
export interface Streamed {
  readonly status: number
  readonly body: Readable
  readonly headers: Readonly<Record<string, string>>
}

export interface Route<P> {
  readonly operation: Operation
  readonly handle: (
    call: Call<Operation, P>,
  ) => Promise<{ status: number; body: unknown; headers?: Readonly<Record<string, string>> }>
  readonly beforeRefusal?: BeforeRefusal<P>
}

/** Throws what comes before the form of the body, where that is wrong. The body is as it was sent. */
export type BeforeRefusal<P> = (
  call: { readonly principal: P; readonly id: string; readonly body: unknown },
  violation: Violation,
) => Promise<void>

/** The caller of an operation for keys, in an area that has operations for nobody in particular, whose caller is null. */
export function keyed<P>(caller: P | null): P {
  if (caller === null) throw new Error('an operation for keys was reached without one')
  return caller
}

/** Binds an operation of the contract to what does it. */
export function route<O extends Operation, P>(
  operation: O,
  handle: (call: Call<O, P>) => Promise<Answer<O>>,
  beforeRefusal?: BeforeRefusal<P>,
): Route<P> {
  return { operation, handle, ...(beforeRefusal && { beforeRefusal }) }
}

/** The same for what may answer with a stream. */
export function streamRoute<O extends Operation, P>(
  operation: O,
  handle: (call: Call<O, P>) => Promise<Answer<O> | Streamed>,
): Route<P> {
  return { operation, handle: handle }
}

export interface Edge {
  readonly log: Log
  readonly metrics: Metrics
}

/** Who tells of a request that no route took: the room whose paths begin like its own. */
export interface Refuser {
  readonly prefix: string
  refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): unknown
}

declare module 'fastify' {
  interface FastifyInstance {
    refusers: Refuser[]
    /** Whether it is about to close, and others should be asked. */
    leaving: { is: boolean }
  }
  interface FastifyRequest {
    principal: unknown
    /** Names the operation in logs and metrics. */
    operationId: string
  }
  interface FastifyContextConfig {
    operationId?: string
  }
}

/** Mounts an area: its routes, and 404, 405, 413, 415, 429 and 500 in its own envelope. */
export async function mountArea<P>(
  app: FastifyInstance,
  area: Area<P>,
  routes: readonly Route<P>[],
  edge: Edge,
): Promise<void> {
  const refuser: Refuser = {
    prefix: area.prefix,
    refuse: (error, request, reply) => refuse(area, edge, error, request, reply),
  }
  app.refusers.push(refuser)
  await app.register(
    async (room) => {
      if (area.headersOf !== undefined) {
        room.addHook('onRequest', (request, reply, done) => {
          reply.headers(area.headersOf?.(request.id) ?? {})
          done()
        })
      }
      room.setErrorHandler(refuser.refuse)
      room.setNotFoundHandler((request, reply) => refuser.refuse(nothingHere(), request, reply))
      room.removeAllContentTypeParsers()
      room.addContentTypeParser(/^application\/json\s*(;|$)/i, ({ sent }: FastifyRequest) => sent)
      for (const one of routes) mountRoute(room, area, one)
    },
    { prefix: area.prefix },
  )
}

/** What a path gets that leads nowhere. */
export const nothingHere = (): Fault => new Fault('NOT_FOUND', 'There is nothing at this path.')

const pathOf = <P>(area: Area<P>, operation: Operation) => `${area.base ?? ''}${operation.path}`

const pathInRoom = <P>(area: Area<P>, operation: Operation) =>
  pathOf(area, operation)
    .slice(area.prefix.length)
    .replaceAll(/\{(\w+)\}/g, ':$1')

function mountRoute<P>(room: FastifyInstance, area: Area<P>, { operation, handle, beforeRefusal }: Route<P>): void {
  const params = operation.params === undefined ? undefined : compile(operation.params)
  const query = operation.query === undefined ? undefined : compile(operation.query)
  const body = compile(operation.body ?? (area.takesExtras === true ? anything : nothing))
  const mayLackBody = operation.body === undefined || operation.bodyOptional === true
  const must = (violation: Violation | null | undefined) => {
    if (violation !== null && violation !== undefined) throw faultOf(area, violation)
  }
  const url = pathInRoom(area, operation)
  const forPages = isForPages(operation)
  if (forPages) mountPreflight(room, url, operation)
  room.route({
    method: operation.method,
    url,
    bodyLimit: operation.bodyBytesMax ?? area.bodyBytesMax,
    config: { operationId: operation.id },
    onRequest: async (request, reply) => {
      if (forPages) reply.headers(readableAnywhere)
      request.principal = await area.authenticate(request, operation)
      const { headers } = request.raw
      const { 'content-encoding': encoding = 'identity' } = headers
      // Client libraries name the type of a form where they send nothing.
      if (lacksBody(headers)) delete headers['content-type']
      else if (operation.method !== 'GET' && encoding.toLowerCase() !== 'identity') {
        throw new Fault('UNSUPPORTED_MEDIA_TYPE', 'Send the body without a content-encoding.')
      }
    },
    handler: async (request, reply) => {
      const bytes = Buffer.isBuffer(request.body) ? request.body : noBytes
      // Who signs requests signs the body of a GET, too, which is not read otherwise.
      area.verify?.(request, request.principal as P, operation.method === 'GET' ? await request.sent : bytes)
      must(params?.(request.params))
      if (Object.values(request.params as Record<string, string>).some((one) => one.includes('\0')))
        throw new Fault('BAD_REQUEST', 'The path holds NUL; leave it out.')
      const at = request.url.indexOf('?')
      const asked = readQuery(at < 0 ? '' : request.url.slice(at + 1), operation.query ?? nothing)
      must(atParameter((query ?? refuseAnyQuery)(asked)))
      const read = bytes.length === 0 ? undefined : readJson(bytes)
      const sent = read === undefined && mayLackBody ? {} : read?.value
      // Area D reads its numbers itself, as they were written.
      const violation = body(sent) ?? (area.takesExtras === true || read === undefined ? null : unheldNumber(read))
      if (violation !== null && beforeRefusal !== undefined) {
        const { id = '' } = request.params as Record<string, string>
        await beforeRefusal({ principal: request.principal as P, id, body: sent }, violation)
      }
      must(violation)
      const answer = await handle({
        principal: request.principal as P,
        params: request.params as never,
        query: asked,
        body: sent as never,
        correlationId: request.id,
        text: read?.text ?? '',
        header: (name) => headerOf(request, name),
      })
      if (answer.headers !== undefined) reply.headers(answer.headers)
      if (answer.body instanceof Readable && area.stalledMsMax !== undefined)
        endWhenStalled(request.raw, reply.raw, area.stalledMsMax)
      // Fastify would read it to its end for nobody.
      if (answer.body instanceof Readable && request.method === 'HEAD') answer.body.destroy()
      const success = operation.success[answer.status]
      if (success?.neverStored === true) reply.header('cache-control', 'no-store')
      const type = String(reply.getHeader('content-type') ?? json)
      if (success !== undefined && typeof answer.body === 'object' && type.includes('json'))
        reply.type(type).serializer(serializerOf(success.schema, reply))
      return reply.code(answer.status).send(answer.body)
    },
  })
}

/** Of a list in a query the parameter is told, whose members have no names there. */
const atParameter = (violation: Violation | null): Violation | null =>
  violation === null || violation.rule === 'unknown'
    ? violation
    : { ...violation, field: violation.field.replace(/\.\d+$/, '') }

type Serializer = ReturnType<FastifyReply['compileSerializationSchema']>

// Made for the first answer: there are many, and most processes use few.
const serializers = new WeakMap<TSchema, Serializer>()

function serializerOf(schema: TSchema, reply: FastifyReply): Serializer {
  const known = serializers.get(schema)
  if (known !== undefined) return known
  const made = reply.compileSerializationSchema(schema as Record<string, unknown>)
  serializers.set(schema, made)
  return made
}

const json = 'application/json; charset=utf-8'
const noBytes = Buffer.alloc(0)
const nothing = { type: 'object', properties: {}, additionalProperties: false } as never
const anything = { type: 'object' } as never
const refuseAnyQuery = compile(nothing)

/**
 * Refuses what no route takes before its body is read, whatever it is: a known path with another method, or a path that is none. For all
 * rooms and routes that come after it; the room that the path is in tells it.
 */
export function refuseUnrouted(app: FastifyInstance): void {
  const known = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const { methods } = known.get(url) ?? { methods: new Set<string>() }
    for (const one of [method].flat()) methods.add(one)
    if (methods.has('GET')) methods.add('HEAD')
    known.set(url, { path: pathPattern(url), methods })
  })
  app.addHook('onRequest', (request, reply, done) => {
    // Behind the slash that ends a collection's path there is nothing, not something without an id.
    if (!request.is404) return done(Object.values(request.params ?? {}).includes('') ? nothingHere() : undefined)
    const asked = pathAsRouted(request.url)
    const found = [...known.values()].find(({ path }) => path.test(asked))
    if (found === undefined) return done(nothingHere())
    const allow = [...found.methods].join(', ')
    reply.header('allow', allow)
    done(new Fault('METHOD_NOT_ALLOWED', `This path takes ${allow}.`))
  })
}

const pathPattern = (url: string): RegExp => new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)

/** Many spellings are one path: the router leaves out query and fragment, and decodes what divides nothing. It has refused what does not decode. */
const pathAsRouted = (url: string): string => decodeURI(url.replace(/[?#].*/s, ''))

function faultOf<P>(area: Area<P>, violation: Violation): Fault {
  const [top = ''] = violation.field.split('.')
  const own = `INVALID_${top.toUpperCase()}`
  const code = area.codeOf?.(violation) ?? (!isMalformed(violation) && own in area.statuses ? own : 'BAD_REQUEST')
  const whole =
    violation.rule === 'unknown'
      ? 'A name that is empty is not known here; leave it out.'
      : 'A JSON object is needed as the body.'
  const message = violation.field === '' ? whole : complaintOf(violation)
  return violation.field === '' ? new Fault(code, message) : new Fault(code, message, violation)
}

function refuse<P>(
  area: Area<P>,
  edge: Edge,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  const known = asFault(error)
  const fault = known === undefined ? undefined : (area.restate?.(known, request) ?? known)
  const status = fault === undefined ? 500 : (area.statuses[fault.code] ?? 500)
  if (fault === undefined || status === 500) {
    edge.metrics.unexpectedErrors.inc({ where: request.routeOptions.config.operationId ?? area.name })
    edge.log.error({ err: error, correlation_id: request.id }, 'a request failed for a cause of ours')
  }
  const refusal: Refusal =
    fault === undefined || status === 500
      ? {
          code: 'INTERNAL_ERROR',
          message: 'Something failed on our side. Nothing is known to be wrong with your request.',
          field: undefined,
          rule: undefined,
          correlationId: request.id,
        }
      : {
          code: area.wireCodes?.[fault.code] ?? fault.code,
          message: fault.message,
          field: fault.field,
          rule: fault.rule,
          correlationId: request.id,
        }
  if (fault?.retryAfterSeconds !== undefined) reply.header('retry-after', String(fault.retryAfterSeconds))
  if (status === 401 && area.challenge !== undefined) reply.header('www-authenticate', area.challenge)
  if (area.headersOf !== undefined) reply.headers(area.headersOf(request.id))
  const send = (body: unknown): FastifyReply =>
    reply
      .code(status)
      .type(json)
      // The serializer of a success must not shape a refusal.
      .serializer((payload: unknown) => JSON.stringify(payload))
      .send(body)
  const body = area.envelope(refusal, request)
  return body instanceof Promise
    ? body.then(send, (failure: unknown) => refuse(area, edge, failure, request, reply))
    : send(body)
}

function asFault(error: unknown): Fault | undefined {
  if (error instanceof Fault) return error
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new Fault('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.')
  if (code === 'FST_ERR_BAD_URL') return new Fault('BAD_REQUEST', 'The path is not UTF-8 in percent-encoding.')
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? Number(error.statusCode) : 500
  return status >= 400 && status < 500 ? new Fault('BAD_REQUEST', 'The request is malformed.') : undefined
}
