import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { startKaha, type Kaha } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { createPartner, issueKey } from '../../src/identity/issue.ts'
import { createLog } from '../../src/kernel/log.ts'
import { freshDatabase } from '../cluster.ts'
import { platform } from '../platform.ts'
import { assertRefused, call } from './call.ts'
import { keyFor } from './people.ts'

// Rate limits with system time standing still, so that every token counts.

// Refused before anything is looked up, so that thousands of requests cost little; the key has been taken to task by then.
const path = '/v1/webhook_endpoints/no-uuid'

/** How many of so many requests pass, and what the last one was answered. */
async function passing(url: string, key: string, requests: number) {
  const statuses: number[] = []
  const one = async () => void statuses.push((await call(url, { path, key })).status)
  for (let sent = 0; sent < requests; sent += 50)
    await Promise.all(Array.from({ length: Math.min(50, requests - sent) }, one))
  assert.deepEqual(
    statuses.filter((status) => status !== 400 && status !== 429),
    [],
  )
  return statuses.filter((status) => status === 400).length
}

const time = { wall: Date.now() }
const p = await platform({ after }, { settings: { KAHA_RATE_LIMIT: '' }, choices: { wall: () => time.wall } })

test('[X0.rate.default.sandbox, X0.rate.answer] a sandbox allows a key a burst of 2,000, and 1,000 a second after it', async () => {
  const { secretKey: key } = await keyFor(p, { id: p.merchant.id, level: 'merchant' })
  assert.equal(await passing(p.url, key, 2_010), 2_000)
  const answer = await call(p.url, { path, key })
  assertRefused(path, answer, 429, 'RATE_LIMITED')
  assert.equal(answer.headers['retry-after'], '1')
  time.wall += 1_000
  assert.equal(await passing(p.url, key, 1_010), 1_000)
})

test('X0.rate.bucket: what one key spends is not missing for another of the same entity', async (t) => {
  const its = await platform(t, { settings: { KAHA_RATE_LIMIT: '2' }, choices: { wall: () => time.wall } })
  const keys = await Promise.all([1, 2, 3].map(() => keyFor(its, { id: its.merchant.id, level: 'merchant' })))
  for (const { secretKey: key } of keys) assert.equal(await passing(its.url, key, 10), 4)
  // Nor does a key that is none spend anything of one that is.
  const fresh = await keyFor(its, { id: its.merchant.id, level: 'merchant' })
  for (let tries = 0; tries < 20; tries += 1) {
    assert.equal((await call(its.url, { path, key: `${fresh.secretKey.slice(0, -1)}!` })).status, 401)
  }
  assert.equal(await passing(its.url, fresh.secretKey, 10), 4)
})

test('X0.rate.setting: the limit is a setting, and 0 turns it off', async (t) => {
  const wall = () => time.wall
  const three = await platform(t, { settings: { KAHA_RATE_LIMIT: '3' }, choices: { wall } })
  const { secretKey } = await keyFor(three, { id: three.merchant.id, level: 'merchant' })
  assert.equal(await passing(three.url, secretKey, 20), 6)
  const off = await platform(t, { settings: { KAHA_RATE_LIMIT: '0' }, choices: { wall } })
  assert.equal(await passing(off.url, off.merchant.secret_key, 2_100), 2_100)
})

test('X0.rate.default.live: a live installation allows a key a burst of 200, and 100 a second after it', async (t) => {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const masterKey = randomBytes(32)
  const key64 = masterKey.toString('base64')
  const settings = {
    KAHA_MODE: 'live',
    KAHA_PORT: '0',
    KAHA_MASTER_KEY: key64,
    KAHA_BASE_URL: 'https://api.example.com',
  }
  const choices = { wall: () => time.wall }
  const started = startKaha({ config: readConfig(settings), target, masterKey, log: createLog('silent'), choices })
  const live: Kaha = held.use(await started)
  const partner = await createPartner(live.db, 'A partner', live.clock.now())
  const key = { entityId: partner.id, level: 'partner' as const, scopes: ['webhooks.read'] }
  const { secretKey } = await issueKey(live.db, { keyring: live.keyring, keyPrefix: 'sk_live_' }, key, live.clock.now())
  assert.equal(await passing(live.localUrl, secretKey, 230), 200)
  time.wall += 1_000
  assert.equal(await passing(live.localUrl, secretKey, 130), 100)
})
