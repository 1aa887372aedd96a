import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import { platform, type PlatformOptions } from './platform.ts'
import type { Received } from './receiver.ts'
import { approval, result, signedCall, shopOf, type Keys, type Wire } from './till.ts'

export const endpointsPath = '/v1/webhooks/endpoints'
export const allEvents = ['payment.completed', 'payment.failed', 'payment.cancelled', 'payment.timeout']

/**
 * Reads a webhook as a merchant would who has nothing but docs/terminals.md: made here of Node's own, and by nothing of ours. Throws where
 * it is not to be believed.
 */
export function readWebhook({ headers, body }: Received, secret: string): any {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    String(headers[name]),
  )
  assert.ok(Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300, 'webhook-timestamp is more than five minutes off')
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const own = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  assert.ok(signatures?.split(' ').includes(`v1,${own}`), 'no signature is of the secret')
  const event: any = JSON.parse(body)
  assert.equal(event.eventId, id)
  return event
}

/** A platform with a shop whose group has webhooks: what a till does, and what its receiver got. */
export async function hooked(t: TestContext | { after(close: () => Promise<void>): void }, options?: PlatformOptions) {
  const p = await platform(t, options)
  const shop = shopOf(p)
  t.after(() => shop[Symbol.asyncDispose]())
  const { received } = p.receiver
  const ask = (method: string, path: string, body?: unknown, keys: Keys = shop.desktop) =>
    signedCall(p.url, keys, { method, path, ...(body === undefined ? {} : { body }) })
  const create = (fields: Record<string, unknown> = {}, keys?: Keys) =>
    ask('POST', endpointsPath, { url: p.receiver.url, events: allEvents, ...fields }, keys)
  const made = async (fields?: Record<string, unknown>, keys?: Keys) => {
    const answer = await create(fields, keys)
    assert.equal(answer.status, 201, answer.text)
    return answer.json as { endpointId: string; secret: string } & Record<string, unknown>
  }
  const update = (endpointId: string, body: unknown, keys?: Keys) =>
    ask('PUT', `${endpointsPath}/${endpointId}`, body, keys)
  /** What arrived but pings. */
  const webhooks = () => received.filter(({ body }) => JSON.parse(body).eventType !== 'ping')
  const pings = () => received.filter(({ body }) => JSON.parse(body).eventType === 'ping')
  const only = (): Received => {
    const [one, ...others] = webhooks()
    assert.ok(one !== undefined && others.length === 0, `${webhooks().length} webhooks arrived, not one`)
    return one
  }
  return { ...p, shop, ask, create, made, update, webhooks, pings, only }
}

type Hooked = Awaited<ReturnType<typeof hooked>>

/** A payment that this terminal answers so, and the platform at rest. */
export async function paid(
  p: Hooked,
  terminal: Wire,
  fields: Record<string, unknown> = {},
  said: Record<string, unknown> = approval,
) {
  const paying = p.shop.pay(fields)
  const { transactionId } = await terminal.next('payment')
  terminal.send(result(transactionId, said))
  const answer = await paying
  await p.idle()
  return answer
}
