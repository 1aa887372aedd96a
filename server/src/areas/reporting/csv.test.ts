import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { cards, platform } from '../../../test/platform.ts'
import { rowsOf } from '../../../test/conformance/shop.ts'

const declined = 3_000
// More rows than all buffers between a server and a caller that does not read hold.
const failed = 27_000
const rowsAtOnce = 3_000

const p = await platform({ after })
await p.pay({ card: cards.declined })
for (let from = 1; from <= declined + failed; from += rowsAtOnce) {
  await rowsOf(
    p,
    `insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, created_at, updated_at)
     select lpad(to_hex(n), 32, '0')::uuid, t.partner_id, t.merchant_id, t.branch_id,
            case when n < ${declined} then 'DECLINED' else 'FAILED' end, n, t.currency, t.payment_method,
            t.created_at - n * interval '1 second', t.updated_at
       from payments.attempts a join payments.transactions t on t.id = a.id,
            generate_series($1::integer, $1::integer + ${rowsAtOnce - 1}) n`,
    [from],
  )
}

/** An export that has begun and that nobody reads, on a connection that its caller keeps. */
async function exportFrom(url: string, status: string, agent: Agent): Promise<IncomingMessage> {
  const headers = { accept: 'text/csv', 'x-api-key': p.merchant.secret_key }
  const asked = request(`${url}/reports/v1/transactions?status=${status}`, { agent, headers })
  const [response] = (await once(asked.end(), 'response')) as [IncomingMessage]
  await once(response, 'readable')
  return response
}

test('an export that is under way when the server is asked to stop is whole, and its connection keeps nobody waiting', async (t) => {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const server = await p.another()
  const response = await exportFrom(server.localUrl, 'DECLINED', agent)
  const stopped = server[Symbol.asyncDispose]()
  let lines = 0
  for await (const chunk of response) lines += (chunk as Buffer).toString('latin1').split('\n').length - 1
  // The header, and the one that was paid for.
  assert.equal(lines, declined + 1)
  await stopped
})

test('whoever has stopped reading an export does not keep the server from stopping, and sees that the rest is missing', async (t) => {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const server = await p.another()
  const response = await exportFrom(server.localUrl, 'FAILED', agent)
  await server[Symbol.asyncDispose]()
  await assert.rejects(async () => {
    for await (const chunk of response) assert.ok(chunk)
  })
})
