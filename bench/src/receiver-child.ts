// A merchant's receiver: answers 204, and remembers what came when. It stands for machines elsewhere and shares this one with what is
// measured, so it is as bare as can be: it reads requests as the engine and undici write them, and nothing else.
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { serve } from './child.ts'

export interface Arrival {
  readonly id: string
  /** Monotonic system time in ns, the same clock in every process. */
  readonly at: bigint
  /** Empty unless bodies are kept. */
  readonly body: string
}

export interface Expected {
  /** Different ones. */
  readonly events: number
  readonly bodies: boolean
  /** Arrivals are kept, repeated ones too. */
  readonly times?: boolean
}

const held = new AsyncDisposableStack()
let ids = new Set<string>()
let arrivals: Arrival[] = []
let keepsBodies = false
let keepsTimes = false
let expected = Infinity
let reached = Promise.withResolvers<number>()

const headEnd = '\r\n\r\n'
const answer = Buffer.from(
  'HTTP/1.1 204 No Content\r\nDate: Mon, 02 Mar 2026 08:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n',
)

const open = new Set<Socket>()
const server = createServer({ noDelay: true }, (socket) => {
  open.add(socket)
  let got = ''
  // As bytes: a length counts them.
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    got += chunk
    for (let length = requestLength(got); got.length >= length; length = requestLength(got)) {
      take(got.slice(0, length))
      got = got.slice(length)
      socket.write(answer)
    }
  })
  // A process that was killed leaves its connections like this.
  socket.on('error', () => {})
  socket.on('close', () => open.delete(socket))
})

/** Of the request that these bytes begin with, head and body. It cannot be told before the head is there. */
function requestLength(bytes: string): number {
  const head = bytes.indexOf(headEnd)
  return head < 0 ? Infinity : head + headEnd.length + Number(valueOf(bytes, '\r\ncontent-length: '))
}

function valueOf(bytes: string, field: string): string {
  const at = bytes.indexOf(field)
  if (at < 0) throw new Error(`a request without ${field.trim()}`)
  return bytes.slice(at + field.length, bytes.indexOf('\r\n', at + field.length))
}

function take(request: string): void {
  const id = flat(valueOf(request, '\r\nwebhook-id: '))
  if (keepsTimes) {
    const at = process.hrtime.bigint()
    const body = keepsBodies ? request.slice(request.indexOf(headEnd) + headEnd.length) : ''
    arrivals.push({ id, at, body: Buffer.from(body, 'latin1').toString() })
  }
  ids.add(id)
  if (ids.size >= expected) reached.resolve(ids.size)
}

/** A part of a long text keeps all of it in memory; this is a text of its own. */
const flat = (part: string): string => Buffer.from(part, 'latin1').toString('latin1')

async function listen(): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  held.defer(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Begins anew: `until` resolves once so many different events have come. */
async function expect({ events, bodies, times = bodies }: Expected): Promise<void> {
  ids = new Set()
  arrivals = []
  keepsBodies = bodies
  keepsTimes = times
  expected = events
  reached = Promise.withResolvers()
}

serve({ listen, expect, until: () => reached.promise, arrivals: async () => arrivals }, held)
