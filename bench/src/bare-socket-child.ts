// The bare `ws` behind a bare HTTP server: it holds sockets, and with `pay` it hands the body of a POST to one of them and answers with
// what comes back. No keys, no rows, nothing that outlives it.
import { startBareSockets } from '../../server/test/bare-sockets.ts'
import { serve } from './child.ts'

const held = new AsyncDisposableStack()

interface Said {
  readonly transactionId: string
}

async function listen(): Promise<string> {
  const waiting = new Map<string, (text: string) => void>()
  const bare = held.use(
    await startBareSockets((message) => {
      const text = message.toString()
      const { transactionId } = JSON.parse(text) as Said
      waiting.get(transactionId)?.(text)
      waiting.delete(transactionId)
    }),
  )
  let asked = 0
  bare.server.on('request', (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const transactionId = String((asked += 1))
      const paymentRequest = JSON.parse(Buffer.concat(parts).toString()) as unknown
      // The number of the terminal is the end of the path but one.
      const terminal = bare.sockets.get(Number(request.url?.split('/').at(-2)))
      waiting.set(transactionId, (text) => {
        const { paymentResponse } = JSON.parse(text) as { paymentResponse: unknown }
        const answer = JSON.stringify(paymentResponse)
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
        response.end(answer)
      })
      terminal?.send(JSON.stringify({ action: 'payment', transactionId, paymentRequest }))
    })
  })
  return bare.origin
}

serve({ listen }, held)
