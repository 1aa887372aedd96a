// A load of one request, repeated by so many callers at once for so long, or of one request for each of some paths. It shares the
// machine with the server that is measured, so it does as little as it can: one connection for each caller, and of an answer it reads
// the status and the length.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { serve } from './child.ts'
import type { Done } from './compare.ts'
import { answerOn, open } from './raw-http.ts'

export interface HttpLoad {
  readonly origin: string
  readonly method: 'GET' | 'POST'
  /** One, again and again; or several, each of which is asked for once. */
  readonly path: string | readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Each request gets an Idempotency-Key of its own. */
  readonly keyed: boolean
  readonly status: number
  readonly callers: number
  readonly seconds: number
}

async function run(load: HttpLoad): Promise<Done> {
  const { hostname, port } = new URL(load.origin)
  const { before, after } = requestOf(load, `${hostname}:${port}`)
  const nextPath = pathsOf(load)
  const sockets = await Promise.all(Array.from({ length: load.callers }, () => open(hostname, Number(port))))
  const begun = performance.now()
  const until = begun + load.seconds * 1_000
  let done = 0
  const caller = async (socket: Socket): Promise<void> => {
    while (performance.now() < until) {
      const path = nextPath()
      if (path === undefined) return
      const answered = answerOn(socket)
      const key = load.keyed ? `idempotency-key: ${randomUUID()}\r\n` : ''
      socket.write(`${load.method} ${path}${before}${key}${after}`)
      const { status, answer } = await answered
      if (status !== load.status) throw new Error(`${path} answered ${answer.toString('utf8')}`)
      done += 1
    }
  }
  await Promise.all(sockets.map(caller))
  const seconds = (performance.now() - begun) / 1_000
  for (const socket of sockets) socket.destroy()
  return { count: done, seconds }
}

function pathsOf({ path }: HttpLoad): () => string | undefined {
  if (typeof path === 'string') return () => path
  const left = [...path]
  return () => left.pop()
}

/** The bytes of a request after its path, before and after the place of one more header. */
function requestOf({ headers, body }: HttpLoad, host: string): { before: string; after: string } {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === null ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  return {
    before: ` HTTP/1.1\r\nhost: ${host}\r\n${lines.join('')}`,
    after: `${length}\r\n${body ?? ''}`,
  }
}

serve({ run }, { [Symbol.asyncDispose]: async () => {} })
