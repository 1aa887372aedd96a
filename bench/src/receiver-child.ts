// A merchant's receiver: answers 204, and remembers what came when.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

const server = createServer((request, response) => {
  const at = process.hrtime.bigint()
  const id = String(request.headers['webhook-id'])
  let body = ''
  if (keepsBodies) request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
  else request.resume()
  request.on('end', () => {
    response.writeHead(204).end()
    if (keepsTimes) arrivals.push({ id, at, body })
    ids.add(id)
    if (ids.size >= expected) reached.resolve(ids.size)
  })
})
server.keepAliveTimeout = 60_000

async function listen(): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  held.defer(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
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
