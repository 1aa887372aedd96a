import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import { result, shopOf } from '../till.ts'
import { until } from '../until.ts'
import type { Call } from './call.ts'
import { assertShown, exampleReceiver, requestOf, shownOperations, type Known } from './examples.ts'

// The successes that the OpenAPI document of area D shows, each asked for and given, in the order of a morning at one terminal.
const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const terminal = await shop.connect()
const declined = { status: 'FAILED', errorCode: 'DECLINED', errorMessage: 'The card was declined.' }
/** What becomes of a payment that is not approved; one of null stays open. */
const results: Readonly<Record<string, Record<string, unknown> | null>> = {
  'ORDER-1002': declined,
  'ORDER-1003': declined,
  'ORDER-1004': null,
}
terminal.socket.on('message', (data: Buffer) => {
  const { action, transactionId } = JSON.parse(data.toString()) as { action: string; transactionId: string }
  const given = results[transactionId]
  if (action === 'voidPayment') terminal.send({ action: 'voidResult', transactionId, success: true })
  if (action === 'payment' && given !== null) terminal.send(result(transactionId, given))
})

const known: Known = new Map([[exampleReceiver, new URL(p.receiver.url).origin]])
const operations = shownOperations('terminals')
const endpoints = '/v1/webhooks/endpoints'

/** What must have happened before. */
const before: Readonly<Record<string, () => Promise<unknown>>> = {
  createTerminalPayment: async () => {
    await shop.pay({ transactionId: 'ORDER-1000' })
    await shop.ask({ method: 'POST', path: endpoints, body: { url: p.receiver.url, events: ['payment.completed'] } })
  },
  cancelTerminalTransaction: async () => {
    const open = shop.pay({ transactionId: 'ORDER-1004' })
    after(() => {
      terminal.send(result('ORDER-1004'))
      return open
    })
    await until('the payment at the terminal', () =>
      terminal.received.some((one) => one.action === 'payment' && one.transactionId === 'ORDER-1004'),
    )
  },
  createTerminalWebhook: async () => {
    const { json } = await shop.ask({ path: endpoints })
    for (const { endpointId } of json.endpoints)
      await shop.ask({ method: 'DELETE', path: `${endpoints}/${endpointId as string}` })
  },
}

for (const shown of operations) {
  test(`${shown.id} answers what its examples show`, async () => {
    await before[shown.id]?.()
    assert.ok(!shown.hasBody || shown.requests.size > 0, 'a body without an example')
    const successes = shown.answers.filter(({ status }) => status < 300)
    assert.ok(successes.length > 0)
    for (const answer of successes) {
      assert.ok(answer.examples.size > 0, `${answer.status} has no example`)
      for (const [name, example] of answer.examples) {
        const { key: _, ...request }: Call = requestOf(shown, known, { name, key: '' })
        const got = await shop.ask(request)
        assertShown(answer, name, got, known)
        // Later ones are about the endpoint that is made here.
        if (shown.id === 'createTerminalWebhook')
          known.set((example as { endpointId: string }).endpointId, got.json.endpointId)
      }
    }
  })
}
