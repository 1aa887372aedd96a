import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it arrived. */
export interface Arrived {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string as it is. */
  readonly body?: unknown
}

/** What the peer does with one request: answers, cuts the line, never answers, or something of the test's own. */
export type Act = Reply | 'cut' | 'hang' | ((response: ServerResponse, arrived: Arrived) => void)

export interface Peer extends AsyncDisposable {
  readonly url: string
  readonly arrived: readonly Arrived[]
}

/** A real HTTP server that acts as told, once per request; the last act is for all that follow. */
export async function peer(...acts: readonly [Act, ...Act[]]): Promise<Peer> {
  const arrived: Arrived[] = []
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const one = { method, url, headers, body }
      arrived.push(one)
      perform(acts[Math.min(arrived.length, acts.length) - 1] ?? 'hang', response, one)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function perform(act: Act, response: ServerResponse, arrived: Arrived): void {
  if (act === 'hang') return
  if (act === 'cut') return void response.destroy()
  if (typeof act === 'function') return act(response, arrived)
  const { status = 200, headers = {}, body = {} } = act
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** An error answer in the envelope of areas A and C. */
export const refusal = (status: number, code: string, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers,
  body: { error: { code, message: `Refused: ${code}.`, correlation_id: '0198f5a2-9d3b-7c55-8e02-4b7a90c1d2e3' } },
})
