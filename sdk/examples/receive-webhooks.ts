// Receives events of the merchant and verifies them, until Ctrl-C, which deletes its endpoint. Pay something meanwhile.
//   node sdk/examples/receive-webhooks.ts [.kaha/sandbox.json]
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createKaha, verifyWebhook, WebhookVerificationError } from '@kaha/sdk'
import { readSandbox } from './sandbox.ts'

const bodyBytesMax = 256 * 1024
const idsMax = 10_000

const { base_url: baseUrl, merchant } = await readSandbox()
const kaha = createKaha({ baseUrl, apiKey: merchant.secret_key })
// Before there is an endpoint: a signal that comes while it is made must not leave it behind.
const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
const seen = new Set<string>()
let secret = ''

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.destroy(),
  )
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`
const endpoint = await kaha.webhooks.createEndpoint({
  url,
  enabled_events: ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'],
  description: 'receive-webhooks.ts',
})
try {
  secret = (await kaha.webhooks.retrieveSigningSecret(endpoint.id)).signing_secret
  console.log(`Waiting at ${url} for events of ${merchant.name}`)
  await stopped
} finally {
  await kaha.webhooks.deleteEndpoint(endpoint.id).catch((error: Error) => {
    console.error(`Endpoint ${endpoint.id} may still be there: ${error.message}`)
    process.exitCode = 1
  })
  server.close()
  server.closeAllConnections()
}

/** The status to answer with. The bytes are verified as they came, before anything is parsed. */
async function receive(request: IncomingMessage): Promise<number> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) return 413
    chunks.push(chunk)
  }
  if (secret === '') return 503
  try {
    const event = verifyWebhook({ payload: Buffer.concat(chunks), headers: request.headers, secret })
    // Events come more than once. A shop would remember the ids in its database, and do the work after the answer.
    if (!seen.has(event.id))
      console.log(`${event.type}: ${event.data.amount} ${event.data.currency}, event ${event.id}`)
    if (seen.size === idsMax) seen.clear()
    seen.add(event.id)
    return 204
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    console.log(`refused a delivery: ${error.message}`)
    return 400
  }
}
