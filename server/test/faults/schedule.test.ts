import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setInterval as every } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { platform } from '../platform.ts'
import type { Received } from '../receiver.ts'
import { withDatabase } from './database-of.ts'

type Answer = (response: ServerResponse) => void

const fails: Answer = (response) => void response.writeHead(500).end()
const hangs: Answer = () => {}
const redirects: Answer = (response) => void response.writeHead(302, { location: '/elsewhere' }).end()
/** A good status, and then a body that never ends, a few bytes at a time. */
const trickles: Answer = (response) => {
  response.writeHead(200)
  void drip(response)
}
/** As much as the other side takes, for as long as it takes it. */
const floods =
  (status: number): Answer =>
  (response) => {
    response.writeHead(status)
    const pour = () => {
      while (!response.destroyed && response.write(drop)) continue
    }
    response.on('drain', pour)
    pour()
  }

const drop = Buffer.alloc(4_096, 'x')

async function drip(response: ServerResponse): Promise<void> {
  for await (const _ of every(10)) {
    if (response.destroyed) return
    response.write('x')
  }
}

// What the receiver does at each attempt, and how long after it the next one follows, in seconds.
const attempts: readonly { readonly answer: Answer; readonly waitSeconds: number }[] = [
  { answer: fails, waitSeconds: 5 },
  { answer: fails, waitSeconds: 5 * 60 },
  { answer: hangs, waitSeconds: 30 * 60 },
  { answer: redirects, waitSeconds: 2 * 3_600 },
  { answer: trickles, waitSeconds: 5 * 3_600 },
  { answer: floods(500), waitSeconds: 10 * 3_600 },
]
const lastAnswer = floods(200)
const marginSeconds = 60

test('A2.attempts.schedule, A2.attempts.deadline, A2.attempts.redirect, A2.attempts.success, A2.signature.id, A2.signature.timestamp, A2.signature.form, A2.payload.same-bytes, X0.clocks.system.webhook-timestamp, X0.clocks.business.retries: a receiver that fails, hangs, redirects and never ends its answer gets the same event on schedule, signed anew each time', async (t) => {
  let stepsMs = 0
  const people = await platform(t, {
    // Two attempts in one second would carry the same signature, so system time takes a step at each of them.
    choices: { wall: () => Date.now() + stepsMs, delivery: { deadlineMs: 1_000, random: () => 0 } },
  })
  const { receiver, sdk, branch } = people
  receiver.answer = (_request, response) => {
    stepsMs += 1_000
    const answer = attempts[receiver.received.length - 1]?.answer ?? lastAnswer
    answer(response)
  }
  const endpoint = await sdk.webhooks.createEndpoint({ url: receiver.url, enabled_events: ['payment.succeeded'] })
  const event = async () => (await sdk.webhooks.listEvents({ branch_id: branch.id })).data[0]

  await people.pay()
  for (const [index, { waitSeconds }] of attempts.entries()) {
    assert.equal(receiver.received.length, index + 1)
    assert.equal((await event())?.status, 'SUBMITTED')
    await people.advance(Math.floor(waitSeconds / 2))
    // Five seconds are over too soon to look at half of them.
    if (waitSeconds > marginSeconds) assert.equal(receiver.received.length, index + 1)
    await people.advance(Math.ceil(waitSeconds / 2) + marginSeconds)
  }
  assert.equal((await event())?.status, 'DELIVERED')
  assert.equal((await event())?.attempt_count, attempts.length + 1)
  // Attempts are kept for 30 days.
  await withDatabase(people.target, async (query) => {
    const made = await query<{ started_at: Date }>('select started_at from delivery.attempts order by number')
    const startedAt = made.map(({ started_at }) => started_at.getTime())
    for (const [index, { waitSeconds }] of attempts.entries())
      assert.ok((startedAt[index + 1] ?? 0) - (startedAt[index] ?? 0) >= waitSeconds * 1_000)
  })
  await people.advance(30 * 24 * 3_600)
  assert.equal(receiver.received.length, attempts.length + 1)

  const { signing_secret: secret } = await sdk.webhooks.retrieveSigningSecret(endpoint.id)
  assertSameEvent(receiver.received, new Webhook(secret))
})

function assertSameEvent(received: readonly Received[], webhook: Webhook): void {
  const headers = received.map((one) => one.headers as Record<string, string>)
  for (const [index, { body }] of received.entries()) webhook.verify(body, headers[index] ?? {})
  const different = (values: readonly unknown[]) => new Set(values).size
  assert.equal(different(received.map(({ body }) => body)), 1)
  assert.equal(different(received.map(({ path }) => path)), 1)
  assert.equal(different(headers.map((one) => one['webhook-id'])), 1)
  const timestamps = headers.map((one) => Number(one['webhook-timestamp']))
  assert.deepEqual(
    timestamps,
    timestamps.toSorted((a, b) => a - b),
  )
  assert.equal(different(timestamps), received.length)
  assert.equal(different(headers.map((one) => one['webhook-signature'])), received.length)
}
