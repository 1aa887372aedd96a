// Terminals by the thousand in one process, which shares the machine with the server that is measured: bare TCP, and of the protocol
// only what a terminal must do. It answers pings, and may approve whatever payment it is sent, at once.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { serve } from './child.ts'
import type { Done } from './compare.ts'

export interface Crowd {
  readonly origin: string
  readonly path: string
  readonly terminals: readonly { readonly apiKey: string; readonly deviceId: string }[]
  /** Whether they approve payments, or say nothing of them. */
  readonly approves: boolean
  /** Handshakes under way at once. */
  readonly atOnce: number
}

const opcodes = { text: 1, close: 8, ping: 9, pong: 10 } as const
const sockets = new Set<Socket>()
let opened = 0

// Of the server, in place of its name: looking that up takes a client 48 µs of CPU beside 73 for all else, and the yardstick has no name.
const address = '127.0.0.1'

// Addresses of this machine: the more ports of one are taken, the longer the system looks for another.
function nextAddress(): string {
  opened += 1
  return `127.0.${1 + (opened % 100)}.1`
}

/** Resolves when all of them are connected. */
async function join(crowd: Crowd): Promise<Done> {
  const left = [...crowd.terminals]
  const begun = performance.now()
  const one = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await open(crowd, next)
  }
  await Promise.all(Array.from({ length: crowd.atOnce }, one))
  return { count: crowd.terminals.length, seconds: (performance.now() - begun) / 1_000 }
}

async function open(
  { origin, path, approves }: Crowd,
  { apiKey, deviceId }: Crowd['terminals'][number],
): Promise<void> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: address, port: Number(port), localAddress: nextAddress(), noDelay: true })
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
      `sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-api-key: ${apiKey}\r\nx-device-id: ${deviceId}\r\n\r\n`,
  )
  socket.on('error', () => {})
  const [head] = (await once(socket, 'data', { signal: AbortSignal.timeout(60_000) })) as [Buffer]
  const end = head.indexOf('\r\n\r\n') + 4
  if (head.toString('latin1', 9, 12) !== '101') throw new Error(`a handshake was answered ${head.toString()}`)
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  let rest: Buffer = head.subarray(end)
  const read = (chunk: Buffer): void => {
    rest = readFrames(socket, rest.length === 0 ? chunk : Buffer.concat([rest, chunk]), approves)
  }
  read(Buffer.alloc(0))
  socket.on('data', read)
}

/** Acts on the frames that are whole, and gives back what is left. */
function readFrames(socket: Socket, bytes: Buffer, approves: boolean): Buffer {
  let at = 0
  while (bytes.length >= at + 2) {
    const short = (bytes[at + 1] ?? 0) & 0x7f
    // The server sends no frame of 64 KiB here.
    const headBytes = short === 126 ? 4 : 2
    if (bytes.length < at + headBytes) break
    const length = short === 126 ? bytes.readUInt16BE(at + 2) : short
    const end = at + headBytes + length
    if (bytes.length < end) break
    const payload = bytes.subarray(at + headBytes, end)
    const opcode = (bytes[at] ?? 0) & 0x0f
    if (opcode === opcodes.ping) socket.write(frame(opcodes.pong, payload))
    if (opcode === opcodes.text && approves) hear(socket, payload.toString())
    at = end
  }
  return at === bytes.length ? Buffer.alloc(0) : bytes.subarray(at)
}

interface Heard {
  readonly action: string
  readonly transactionId: string
  readonly paymentRequest: { readonly amount: string; readonly currency: string; readonly paymentMethod: string }
}

function hear(socket: Socket, text: string): void {
  const { action, transactionId, paymentRequest } = JSON.parse(text) as Heard
  if (action !== 'payment') return
  const { amount, currency, paymentMethod } = paymentRequest
  const about = { transactionId, status: 'SUCCESS', amount, currency, paymentMethod, authorizationCode: 'A1B2C3' }
  const paymentResponse = { ...about, timestamp: new Date().toISOString() }
  const answer = JSON.stringify({ action: 'paymentResponse', transactionId, paymentResponse })
  socket.write(frame(opcodes.text, Buffer.from(answer)))
}

/** Masked, as a client's must be, with a mask of zeros. */
function frame(opcode: number, payload: Buffer): Buffer {
  const isShort = payload.length < 126
  const head = Buffer.alloc(isShort ? 6 : 8)
  head[0] = 0x80 | opcode
  if (isShort) head[1] = 0x80 | payload.length
  else {
    head[1] = 0x80 | 126
    head.writeUInt16BE(payload.length, 2)
  }
  return Buffer.concat([head, payload])
}

/** Drops them all, without a word. Node may leave a socket that it resets open for ever, and then a process does not end. */
async function leave(): Promise<void> {
  for (const socket of sockets) socket.destroy()
}

serve({ join, leave, count: async () => sockets.size }, { [Symbol.asyncDispose]: leave })
