// A load of one request, repeated by so many callers at once for so long, or of one request for each of some paths or bodies. It
// shares the machine with the server that is measured, so it does as little as it can: one connection for each caller, and of an answer
// it reads the status and the length.
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
  /** The same in every request; or several, each of which is sent once. */
  readonly body: string | null | readonly string[]
  /** Each request gets an Idempotency-Key of its own. */
  readonly keyed: boolean
  readonly status: number
  readonly callers: number
  readonly seconds: number
}

async function run(load: HttpLoad): Promise<Done> {
  const { hostname, port } = new URL(load.origin)
  const { before, andBody } = requestOf(load, `${hostname}:${port}`)
  const nextPath = eachOf(load.path)
  const nextBody = eachOf(load.body)
  const sockets = await Promise.all(Array.from({ length: load.callers }, () => open(hostname, Number(port))))
  const begun = performance.now()
  const until = begun + load.seconds * 1_000
  let done = 0
  const caller = async (socket: Socket): Promise<void> => {
    while (performance.now() < until) {
      const [path, body] = [nextPath(), nextBody()]
      if (path === undefined || body === undefined) return
      const answered = answerOn(socket)
      const key = load.keyed ? `idempotency-key: ${randomUUID()}\r\n` : ''
      socket.write(`${load.method} ${path}${before}${key}${andBody(body)}`)
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

/** The one, again and again; or the next of several, until there is none. */
function eachOf<One extends string | null>(of: One | readonly string[]): () => One | string | undefined {
  if (of === null || typeof of === 'string') return () => of
  const left = [...of]
  return () => left.pop()
}

/** The bytes of a request after its path, before and after the place of one more header. */
function requestOf({ headers }: HttpLoad, host: string) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return {
    before: ` HTTP/1.1\r\nhost: ${host}\r\n${lines.join('')}`,
    andBody: (body: string | null): string => {
      const length = body === null ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
      return `${length}\r\n${body ?? ''}`
    },
  }
}

serve({ run }, { [Symbol.asyncDispose]: async () => {} })
