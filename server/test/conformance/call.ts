import assert from 'node:assert/strict'
import { Agent, request as send, type IncomingHttpHeaders } from 'node:http'
import {
  ecommerceErrors,
  qrErrors,
  qrWebhookErrors,
  reportingErrors,
  sandboxErrors,
  terminalsErrors,
  webhooksErrors,
  type Area,
} from '@kaha/contract'
import { isUuid } from '../../src/kernel/ids.ts'

/** One request, byte for byte as a test wants it: nothing is checked or corrected on the way. */
export interface Call {
  readonly method?: string
  /** Sent as it stands, with its query. */
  readonly path: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** A value that is sent as JSON. */
  readonly body?: unknown
  /** The bytes of the body, instead of `body`. */
  readonly bytes?: string | Buffer
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body where it is JSON, else undefined. Tests say what they expect in it by asserting it. */
  readonly json: any
}

// Far beyond any answer, so that a server that hangs fails the test instead of stopping it.
const answerMsMax = 30_000
const agent = new Agent({ keepAlive: true, maxSockets: 32 })

/** Sends one request and reads the whole answer. Rejects where none comes. */
export function call(baseUrl: string, { method = 'GET', path, key, headers = {}, body, bytes }: Call): Promise<Answer> {
  const payload = bytes ?? (body === undefined ? undefined : JSON.stringify(body))
  const { hostname, port } = new URL(baseUrl)
  const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value as string | string[]]))
  const all = {
    ...(key === undefined ? {} : { 'x-api-key': key }),
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
    ...given,
  }
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: all, agent, signal: AbortSignal.timeout(answerMsMax) }
    const request = send(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = response.headers['content-type']?.startsWith('application/json') === true && text !== ''
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        })
      })
    })
    request.on('error', reject)
    request.end(payload)
  })
}

/** Area by the beginning of its paths. */
export function areaOf(path: string): Area {
  if (path.startsWith('/ecom/')) return 'ecommerce'
  if (path.startsWith('/reports/')) return 'reporting'
  if (path.startsWith('/terminal')) return 'terminals'
  if (path.startsWith('/qr/')) return 'qr'
  if (path.startsWith('/webhooks/')) return 'qr_webhooks'
  return path.startsWith('/sandbox') ? 'sandbox' : 'webhooks'
}

export const catalogues: Readonly<Record<Area, Readonly<Record<string, number>>>> = {
  webhooks: webhooksErrors,
  reporting: reportingErrors,
  ecommerce: ecommerceErrors,
  terminals: terminalsErrors,
  qr: qrErrors,
  qr_webhooks: qrWebhookErrors,
  sandbox: sandboxErrors,
}

/** Two refusals of area C share one code on the wire. */
const statusesOf = (area: Area, code: string): readonly (number | undefined)[] =>
  code === 'INVALID_STATE' ? [409, 422] : [catalogues[area][code]]

/**
 * The answer is a refusal in the envelope of its area, with a code of the area's catalogue and the status of that code, and it tells
 * nothing else. Returns the code.
 */
export function assertEnvelope(area: Area, answer: Answer): string {
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/, `${answer.status} ${answer.text}`)
  if (area === 'terminals') return assertTerminalsEnvelope(answer)
  assert.deepEqual(Object.keys(answer.json), ['error'])
  const { code, message, correlation_id: correlationId, details, ...rest } = answer.json.error
  assert.deepEqual(rest, {})
  assert.ok(statusesOf(area, code).includes(answer.status), `${code} came with ${answer.status}`)
  assert.ok(typeof message === 'string' && message.length > 0 && message.length < 400)
  assert.ok(isUuid(String(answer.headers['x-correlation-id'])))
  if (area === 'reporting') assert.equal(correlationId, undefined)
  else assert.equal(correlationId, answer.headers['x-correlation-id'])
  if (details !== undefined) {
    assert.ok(area !== 'webhooks' && area !== 'reporting', 'areas A and B have no details')
    assert.deepEqual(Object.keys(details), ['field', 'rule'])
    assert.ok(typeof details.field === 'string' && typeof details.rule === 'string')
  }
  return code
}

/** Area D: details that are an object or null, the time, and a requestId that is in x-request-id as well. */
function assertTerminalsEnvelope(answer: Answer): string {
  assert.deepEqual(Object.keys(answer.json), ['error', 'timestamp', 'requestId'])
  const { code, message, details, ...rest } = answer.json.error
  assert.deepEqual(rest, {})
  assert.equal(catalogues.terminals[code], answer.status, `${code} came with ${answer.status}`)
  assert.ok(typeof message === 'string' && message.length > 0 && message.length < 400)
  assert.ok(details === null || (typeof details.field === 'string' && typeof details.rule === 'string'))
  assert.match(answer.json.timestamp, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  assert.equal(answer.json.requestId, answer.headers['x-request-id'])
  assert.ok(isUuid(answer.json.requestId))
  return code
}

/** A refusal with this status and code, in the envelope of the area that the path belongs to. */
export function assertRefused(path: string, answer: Answer, status: number, code: string): void {
  assert.equal(`${answer.status} ${answer.json?.error?.code}`, `${status} ${code}`, answer.text)
  assertEnvelope(areaOf(path), answer)
}
