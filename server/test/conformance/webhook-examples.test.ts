import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import { call, type Answer, type Call } from './call.ts'
import { assertShown, exampleReceiver, requestOf, shownOf, shownOperations, successOf, type Known } from './examples.ts'

// What the OpenAPI document of area A shows, each asked for and given: of an endpoint that is told of payments of one link each.
const p = await platform({ after })
const key = p.merchant.secret_key
let from = ''
const operations = shownOperations('webhooks')
const idIn = (id: string) => String(shownOf(operations, id).parameters.get('id')?.example)
const [endpointId, eventId] = [idIn('retrieveWebhookEndpoint'), idIn('retrieveWebhookEvent')]
const branchId = String(shownOf(operations, 'listWebhookEvents').parameters.get('branch_id')?.example)

/** What everything here is about. */
const place = (): Known =>
  new Map([
    [exampleReceiver, new URL(p.receiver.url).origin],
    [branchId, p.branch.id],
  ])
const ask = (request: Call): Promise<Answer> => call(p.url, request)

/** An endpoint as the example makes it, with a URL of its own where there are several. */
const newEndpoint = async (path = ''): Promise<string> => {
  const { body, ...rest } = requestOf(shownOf(operations, 'createWebhookEndpoint'), place(), { key })
  const { url, ...fields } = body as { url: string }
  const { status, text, json } = await ask({ ...rest, body: { ...fields, url: `${url}${path}` } })
  assert.equal(status, 201, text)
  return json.id as string
}
const order = {
  amount: 25_000,
  line_items: [{ sku: 'BEANS-250', name: 'Benguet coffee beans, 250 g', unit_price: 12_500, quantity: 2 }],
  order_reference: 'ORDER-1001',
}
/** Pays ORDER-1001 by way of a link, and finds the event of it. */
const newEvent = async (): Promise<string> => {
  const link = await p.link({ ...order, metadata: { cart: '7781' } })
  const paid = await p.pay({ linkId: link.id })
  const { data } = await p.sdk.webhooks.listEvents({ branch_id: p.branch.id, page_size: 10 })
  const event = data.find((one) => one.payment_intent_id === paid.id)
  assert.ok(event)
  return event.id
}
const ofEndpoint = async (path?: string): Promise<Known> => place().set(endpointId, await newEndpoint(path))
const ofEvent = async (): Promise<Known> => {
  const known = await ofEndpoint()
  return known.set(eventId, await newEvent())
}

/** Makes what the example of an operation is about, and says what it is called here. */
const subjects: Readonly<Record<string, () => Promise<Known>>> = {
  createWebhookEndpoint: async () => place(),
  // Two, so that its page is not the last; the newest is the one that the page shows.
  listWebhookEndpoints: async () => {
    await newEndpoint('/older')
    return ofEndpoint()
  },
  listWebhookEvents: async () => {
    const known = await ofEvent()
    return known.set(eventId, await newEvent())
  },
  recoverWebhookEndpoint: async () => {
    from = p.kaha.clock.now().toISOString()
    await newEvent()
    return ofEndpoint()
  },
  resendWebhookEvent: ofEvent,
  retrieveWebhookEvent: ofEvent,
}

/** What is recovered is what has just happened. */
const today = (request: Call): Call => {
  const { date_from: past, date_to: _, ...fields } = (request.body ?? {}) as { date_from?: string; date_to?: string }
  return past === undefined ? request : { ...request, body: { ...fields, date_from: from } }
}

for (const shown of operations) {
  test(`${shown.id} answers what its examples show`, async (t) => {
    t.after(async () => {
      for (const { id } of (await p.sdk.webhooks.listEndpoints()).data) await p.sdk.webhooks.deleteEndpoint(id)
    })
    const success = successOf(shown)
    const known = await (subjects[shown.id] ?? ofEndpoint)()
    assertShown(success, '', await ask(today(requestOf(shown, known, { key }))), known)
  })
}
