import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { verifyWebhook } from '@kaha/sdk'
import { Webhook } from 'standardwebhooks'
import { platform } from '../platform.ts'
import type { Received } from '../receiver.ts'
import { sql } from '../sql.ts'
import { assertRefused, call } from './call.ts'

// Area A: signing secrets are rotated, and receivers go on verifying.

const hour = 3_600
const week = 604_800

const whole = await platform({ after }, { choices: { delivery: { random: () => 0 } } })

/** An endpoint of its own for each test, and no other beside it. */
async function rotating(t: TestContext) {
  const p = whole
  const { id } = await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.succeeded'] })
  t.after(async () => {
    await p.sdk.webhooks.deleteEndpoint(id)
    p.receiver.answer = (_request, response) => response.writeHead(204).end()
  })
  const path = `/v1/webhook_endpoints/${id}/signing_secret`
  return {
    ...p,
    id,
    path: `${path}/rotate`,
    secret: async () => (await p.sdk.webhooks.retrieveSigningSecret(id)).signing_secret,
    /** In seconds; undefined leaves the overlap out. */
    rotate: (overlap?: number) =>
      p.sdk.webhooks.rotateSigningSecret(id, overlap === undefined ? {} : { overlap_seconds: overlap }),
    rotation: (request: { body?: unknown; bytes?: string }) =>
      call(p.url, { method: 'POST', path: `${path}/rotate`, key: p.merchant.secret_key, ...request }),
    advanceTo: (time: string | null) => p.kaha.sandboxClock.advance(new Date(time ?? '')),
    now: () => p.kaha.clock.now().getTime(),
    /** Pays, and gives what came of it. */
    async delivery(): Promise<Received> {
      const before = p.receiver.received.length
      await p.pay()
      const [only, ...more] = p.receiver.received.slice(before)
      assert.ok(only !== undefined && more.length === 0)
      return only
    },
  }
}

const signaturesOf = ({ headers }: Received): string[] => String(headers['webhook-signature']).split(' ')

/** Whether a receiver with this secret takes the delivery: the reference library and our own are of one mind. */
function accepts(secret: string, { body, headers }: Received, signature = headers['webhook-signature']): boolean {
  const given = {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(signature),
  }
  const passes = (verify: () => unknown): boolean => {
    try {
      return verify() !== undefined
    } catch {
      return false
    }
  }
  const ours = passes(() => verifyWebhook({ payload: body, headers: given, secret }))
  assert.equal(
    ours,
    passes(() => new Webhook(secret).verify(body, given)),
  )
  return ours
}

/** The delivery is signed with exactly these secrets, in this order. */
function assertSigned(delivery: Received, secrets: readonly string[]): void {
  const signatures = signaturesOf(delivery)
  assert.equal(signatures.length, secrets.length)
  for (const [place, signature] of signatures.entries()) {
    assert.deepEqual(
      secrets.map((secret) => accepts(secret, delivery, signature)),
      secrets.map((_, at) => at === place),
    )
  }
}

test('A2.rotate.ok: a rotation is 200 with a new secret, which is read from then on and never cached', async (t) => {
  const p = await rotating(t)
  const old = await p.secret()
  const answer = await p.rotation({ body: {} })
  assert.deepEqual([answer.status, answer.headers['cache-control']], [200, 'no-store'])
  const { endpoint_id: endpoint, signing_secret: secret, ...rest } = answer.json
  assert.deepEqual(Object.keys(rest), ['created_at', 'previous_expires_at'])
  assert.equal(endpoint, p.id)
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.notEqual(secret, old)
  assert.deepEqual(await p.sdk.webhooks.retrieveSigningSecret(p.id), answer.json)
  const upper = await call(p.url, {
    method: 'POST',
    path: p.path.replace(p.id, p.id.toUpperCase()),
    key: p.merchant.secret_key,
    body: {},
  })
  assert.equal(upper.json.endpoint_id, p.id)
})

test('[A2.rotate.overlap-default, A2.rotate.previous] without overlap_seconds the old secret signs for a day more, and previous_expires_at tells until when', async (t) => {
  const p = await rotating(t)
  for (const [overlap, seconds] of [
    [undefined, 86_400],
    [week, week],
  ] as const) {
    const before = p.now()
    const { previous_expires_at: until } = await p.rotate(overlap)
    const ends = Date.parse(until ?? '') - seconds * 1_000
    assert.ok(ends >= before && ends <= p.now(), `${until}`)
  }
})

test('A2.rotate.overlap-range: overlap_seconds is a whole number from 0 to 604,800, else 400, and a body is needed', async (t) => {
  const p = await rotating(t)
  const before = await p.sdk.webhooks.retrieveSigningSecret(p.id)
  for (const overlap of [-1, week + 1, 1.5, '60', '', null, true, [], {}, 1e21]) {
    assertRefused(p.path, await p.rotation({ body: { overlap_seconds: overlap } }), 400, 'BAD_REQUEST')
  }
  for (const body of [{ overlap: 60 }, { overlap_seconds: 60, now: true }, [], null, 60]) {
    assertRefused(p.path, await p.rotation({ body }), 400, 'BAD_REQUEST')
  }
  assertRefused(p.path, await p.rotation({}), 400, 'BAD_REQUEST')
  assertRefused(p.path, await p.rotation({ bytes: '' }), 400, 'BAD_REQUEST')
  assert.deepEqual(await p.sdk.webhooks.retrieveSigningSecret(p.id), before)
  for (const overlap of [0, 1, week])
    assert.equal((await p.rotation({ body: { overlap_seconds: overlap } })).status, 200)
})

test('[A2.rotate.order, A2.rotate.expires, A2.signature.several] before the overlap the old secret signs alone, during it both, the newest first, and afterwards the new one alone', async (t) => {
  const p = await rotating(t)
  const old = await p.secret()
  const before = await p.delivery()
  assertSigned(before, [old])

  const { signing_secret: secret, previous_expires_at: until } = await p.rotate(hour)
  const during = await p.delivery()
  assert.match(String(during.headers['webhook-signature']), /^v1,[^ ]+ v1,[^ ]+$/)
  assertSigned(during, [secret, old])
  assert.ok(accepts(old, during) && accepts(secret, during) && !accepts(secret, before))
  await p.advance(hour / 2)
  assertSigned(await p.delivery(), [secret, old])

  await p.advanceTo(until)
  const afterwards = await p.delivery()
  assertSigned(afterwards, [secret])
  assert.ok(!accepts(old, afterwards))
  assert.equal((await p.sdk.webhooks.retrieveSigningSecret(p.id)).previous_expires_at, null)
})

test('a receiver that changes secrets within the overlap misses nothing, and one that is late gets what it refused after it changed', async (t) => {
  const p = await rotating(t)
  let trusted = await p.secret()
  p.receiver.answer = (request, response) => response.writeHead(accepts(trusted, request) ? 204 : 401).end()
  const statusOf = async ({ headers }: Received) =>
    (await p.sdk.webhooks.retrieveEvent(String(headers['webhook-id']))).status
  const first = await p.rotate(hour)
  assert.equal(await statusOf(await p.delivery()), 'DELIVERED')
  trusted = first.signing_secret
  assert.equal(await statusOf(await p.delivery()), 'DELIVERED')
  await p.advanceTo(first.previous_expires_at)
  assert.equal(await statusOf(await p.delivery()), 'DELIVERED')

  const second = await p.rotate(hour)
  await p.advanceTo(second.previous_expires_at)
  const refused = await p.delivery()
  assert.equal(await statusOf(refused), 'SUBMITTED')
  trusted = second.signing_secret
  await p.advance(6)
  assert.equal(await statusOf(refused), 'DELIVERED')
})

test('a delivery that was queued before a rotation is signed with what is in force when it is sent', async (t) => {
  const p = await rotating(t)
  const old = await p.secret()
  p.receiver.answer = (_request, response) => response.writeHead(500).end()
  assertSigned(await p.delivery(), [old])
  p.receiver.answer = (_request, response) => response.writeHead(204).end()
  const { signing_secret: secret } = await p.rotate(0)
  await p.advance(6)
  const again = p.receiver.received.at(-1)
  assert.ok(again !== undefined)
  assertSigned(again, [secret])
})

test('A2.rotate.overlap-range: an overlap of 0 ends every older secret at once', async (t) => {
  const p = await rotating(t)
  const old = await p.secret()
  await p.rotate(week)
  const { signing_secret: secret, previous_expires_at: until } = await p.rotate(0)
  assert.equal(until, null)
  const delivery = await p.delivery()
  assertSigned(delivery, [secret])
  assert.ok(!accepts(old, delivery))
})

test('A2.rotate.three: three secrets sign at most, and a fourth ends the oldest at once', async (t) => {
  const p = await rotating(t)
  const secrets = [await p.secret()]
  for (let time = 0; time < 4; time += 1) {
    secrets.unshift((await p.rotate(week)).signing_secret)
    assertSigned(await p.delivery(), secrets.slice(0, 3))
  }
})

test('A2.rotate.previous: a rotation never lengthens the time of an older secret; previous_expires_at tells of the last of them', async (t) => {
  const p = await rotating(t)
  const oldest = await p.secret()
  const old = await p.rotate(hour)
  const present = await p.rotate(24 * hour)
  assert.ok(Date.parse(present.previous_expires_at ?? '') > Date.parse(old.previous_expires_at ?? ''))
  assertSigned(await p.delivery(), [present.signing_secret, old.signing_secret, oldest])
  await p.advanceTo(old.previous_expires_at)
  assertSigned(await p.delivery(), [present.signing_secret, old.signing_secret])
  // A shorter overlap shortens.
  const newest = await p.rotate(60)
  await p.advanceTo(newest.previous_expires_at)
  assertSigned(await p.delivery(), [newest.signing_secret])
})

test('of rotations that come at once each makes a secret of its own, and the last of them signs first', async (t) => {
  const p = await rotating(t)
  const made = await Promise.all(Array.from({ length: 12 }, () => p.rotate(week)))
  const secrets = made
    .toSorted((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at))
    .map((one) => one.signing_secret)
  assert.equal(new Set(secrets).size, 12)
  assert.equal(secrets[0], await p.secret())
  assertSigned(await p.delivery(), secrets.slice(0, 3))
})

test('a secret that has ended is not kept beyond the next rotation, and none is kept readable', async (t) => {
  const p = await rotating(t)
  const secrets = [await p.secret()]
  for (let time = 0; time < 5; time += 1) {
    secrets.push((await p.rotate(60)).signing_secret)
    await p.advance(120)
  }
  const rows = await sql<{ sealed: Buffer }>(
    p.kaha.db,
    'select sealed from delivery.secrets where destination_id = $1',
    [p.id],
  )
  assert.equal(rows.length, 2)
  const kept = Buffer.concat(rows.map(({ sealed }) => sealed))
  for (const secret of secrets) {
    const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64')
    assert.ok(!kept.includes(bytes) && !kept.includes(secret.slice('whsec_'.length)))
    assert.ok(!p.logged.some((line) => line.includes(secret)))
  }
})

test('a delivery is accepted 300 s before and after the time of its attempt and refused at 301, by the reference library and by ours', async (t) => {
  const p = await rotating(t)
  const secret = await p.secret()
  // Verifiers go by system time, wherever the sandbox has moved its own.
  await p.advance(24 * hour)
  const delivery = await p.delivery()
  const sentAt = Number(delivery.headers['webhook-timestamp']) * 1_000
  const acceptedAt = (seconds: number): boolean => {
    t.mock.timers.enable({ apis: ['Date'], now: sentAt + seconds * 1_000 })
    try {
      return accepts(secret, delivery)
    } finally {
      t.mock.timers.reset()
    }
  }
  assert.deepEqual([-301, -300, 0, 300, 301].map(acceptedAt), [false, true, true, true, false])
})
