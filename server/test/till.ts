import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { WebSocket, type ClientOptions } from 'ws'
import type { SeededMerchant } from '../src/sandbox/seed.ts'
import { call, type Answer, type Call } from './conformance/call.ts'
import type { Platform } from './platform.ts'
import { until } from './until.ts'

export interface Keys {
  readonly api_key: string
  readonly api_secret: string
}

/** Headers that sign a request, made here and by nothing of ours, so that a test can sign wrongly too. */
export function signedHeaders(
  keys: Keys,
  { method = 'GET', path, bytes = '', at }: { method?: string; path: string; bytes?: string | Buffer; at?: number },
): Record<string, string> {
  const timestamp = new Date(at ?? Date.now()).toISOString()
  const hash = createHash('sha256').update(bytes).digest('hex')
  const [bare = ''] = path.split('?')
  const toSign = [method.toUpperCase(), bare, timestamp, hash].join('\n')
  const signature = createHmac('sha256', keys.api_secret).update(toSign).digest('base64')
  return { 'x-api-key': keys.api_key, 'x-timestamp': timestamp, 'x-signature': signature }
}

/** One signed request, to a path from the address of the terminal service. */
export function signedCall(url: string, keys: Keys, request: Call, at?: number): Promise<Answer> {
  const path = `/terminal${request.path}`
  const bytes = request.bytes ?? (request.body === undefined ? '' : JSON.stringify(request.body))
  const { method = 'GET' } = request
  const headers = signedHeaders(keys, { method, path, bytes, ...(at === undefined ? {} : { at }) })
  const { body: _, ...rest } = request
  return call(url, { ...rest, path, headers: { ...headers, ...request.headers }, ...(bytes === '' ? {} : { bytes }) })
}

/** A till's socket or a terminal's: everything that arrived, and ways to wait for it. */
export interface Wire extends AsyncDisposable {
  readonly socket: WebSocket
  // Messages are JSON of many shapes; a test looks where it likes.
  readonly received: any[]
  /** The code that it was closed with. */
  closed: number | null
  send(message: unknown): void
  /** Sends text as one message in so many fragments, with space behind it where it has fewer characters. */
  sendIn(fragments: number, text: string): void
  /** Sends, and resolves to the answer to just that. */
  ask(message: Record<string, unknown>): Promise<any>
  /** The first message of an action, of those that nobody took yet. */
  next(action: string): Promise<any>
  /** Resolves when everything that was sent before is handled. */
  settled(): Promise<void>
  drop(): void
  close(): Promise<void>
}

export interface WireOptions {
  readonly deviceId?: string
  readonly groupId?: string
  readonly inQuery?: boolean
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly client?: ClientOptions
}

let asked = 0

/** Opens a socket; rejects with the status of a refusal. */
export async function wire(url: string, keys: Keys, options: WireOptions = {}): Promise<Wire> {
  const { deviceId, groupId, inQuery = false, path = '/terminal/v1' } = options
  const headers = {
    ...(inQuery ? {} : { 'x-api-key': keys.api_key }),
    ...(deviceId === undefined ? {} : { 'x-device-id': deviceId }),
    ...(groupId === undefined ? {} : { 'x-group-id': groupId }),
    ...options.headers,
  }
  const query = inQuery ? `?x-api-key=${encodeURIComponent(keys.api_key)}` : ''
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${path}${query}`, { headers, ...options.client })
  const received: any[] = []
  const taken = new Set<unknown>()
  const it: Wire = {
    socket,
    received,
    closed: null,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    sendIn(fragments, text) {
      const whole = text.padEnd(fragments)
      for (let at = 0; at < fragments - 1; at++) socket.send(whole.charAt(at), { fin: false })
      socket.send(whole.slice(fragments - 1))
    },
    async ask(message) {
      const requestId = `ask-${(asked += 1)}`
      socket.send(JSON.stringify({ ...message, requestId }))
      await until(`an answer to ${String(message['action'])}`, () =>
        received.some((one) => one.requestId === requestId),
      )
      return received.find((one) => one.requestId === requestId)
    },
    async next(action) {
      const find = () => received.find((one) => one.action === action && !taken.has(one))
      await until(
        `a message ${action}; there are ${received.map((one) => one.action).join()}`,
        () => find() !== undefined,
      )
      const found = find()
      taken.add(found)
      return found
    },
    async settled() {
      await it.ask({ action: 'ping' })
    },
    drop: () => socket.terminate(),
    async close() {
      socket.close(1000)
      if (socket.readyState !== WebSocket.CLOSED) await once(socket, 'close')
    },
    async [Symbol.asyncDispose]() {
      socket.terminate()
    },
  }
  socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString())))
  socket.on('close', (code) => {
    it.closed = code
  })
  await new Promise<void>((open, fail) => {
    socket.on('open', open)
    socket.on('error', fail)
    socket.on('unexpected-response', (_request, response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => {
        const json: unknown = JSON.parse(text)
        fail(Object.assign(new Error(`${response.statusCode} ${text}`), { status: response.statusCode, json }))
        socket.terminate()
      })
    })
  })
  return it
}

/** A shop with a till and two terminals, as the seed has them. */
export function shopOf(p: Platform, merchant: SeededMerchant = p.merchant) {
  const { desktop, terminals, id: groupId } = merchant.terminal_group
  const [first, second] = terminals
  if (first === undefined || second === undefined) throw new Error('the seed has too few terminals')
  const ask = (request: Call, at?: number) => signedCall(p.url, desktop, request, at)
  const open: Wire[] = []
  const keep = async (opening: Promise<Wire>) => {
    const one = await opening
    open.push(one)
    return one
  }
  return {
    groupId,
    desktop,
    first,
    second,
    ask,
    /** Connects a terminal under its device id. */
    connect: (keys: (Keys & { device_id?: string }) | undefined = first, options: WireOptions = {}) =>
      keep(wire(p.url, keys, { ...(keys.device_id === undefined ? {} : { deviceId: keys.device_id }), ...options })),
    /** Connects the till. */
    till: (options: WireOptions = {}) => keep(wire(p.url, desktop, options)),
    pay: (fields: Record<string, unknown> = {}, terminalId = first.device_id) =>
      ask({ method: 'POST', path: `/v1/terminals/${terminalId}/payments`, body: { ...sale, ...fields } }),
    read: (transactionId: string) => ask({ path: `/v1/transactions/${transactionId}` }),
    voids: (transactionId: string, body?: unknown) =>
      ask({ method: 'POST', path: `/v1/transactions/${transactionId}/void`, ...(body === undefined ? {} : { body }) }),
    cancel: (transactionId: string) => ask({ method: 'POST', path: `/v1/transactions/${transactionId}/cancel` }),
    async [Symbol.asyncDispose]() {
      for (const one of open) one.drop()
    },
  }
}

export const sale = { amount: '150.00', currency: 'PHP', paymentMethod: 'CARD' }

export const approval = {
  status: 'SUCCESS',
  amount: '150.00',
  currency: 'PHP',
  paymentMethod: 'CARD',
  authorizationCode: 'A1B2C3',
}

/** What a terminal reports. */
export const result = (transactionId: string, paymentResponse: Record<string, unknown> = approval) => ({
  action: 'paymentResponse',
  transactionId,
  paymentResponse: { transactionId, timestamp: new Date().toISOString(), ...paymentResponse },
})
