import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { migrate } from '../../src/kernel/migrate.ts'
import { startEmbeddedPostgres } from '../../src/kernel/postgres/embedded.ts'
import { writeSandboxFile } from '../../src/sandbox/file.ts'
import { newKey, platform } from '../platform.ts'
import { sql } from '../sql.ts'
import vectors from '../vectors/test-cards.json' with { type: 'json' }
import { call } from './call.ts'
import { everybody, keyFor, linkFor } from './people.ts'
import { foundInFiles, foundInTables, searchFor, type Secret } from './traces.ts'

// Card numbers, CVCs and secrets go through the platform and leave no trace: not in a log, not in a row, not in a file.

const held = new AsyncDisposableStack()
after(() => held.disposeAsync())
const dataDir = await mkdtemp(join(tmpdir(), 'kaha-canary-'))
held.defer(() => rm(dataDir, { recursive: true, force: true }))
const postgres = held.use(await startEmbeddedPostgres({ dataDir, fsync: false, log: () => {} }))
const target = { socketDir: postgres.socketDir, user: postgres.user, database: 'postgres' }
await migrate(target)
const hooks = { after: (end: () => unknown) => held.defer(async () => void (await end())) }
const p = await platform(hooks, {
  database: target,
  choices: { confirmWaitMsMax: 50 },
})

/** CVCs that nothing else looks like, each in the words that would go with it. */
const cvcOf = (number: string) => (/^3[47]/.test(number) ? '9073' : '907')
const cvcs = ['907', '9073'].flatMap((cvc) => [
  `"cvc":"${cvc}"`,
  `"cvc": "${cvc}"`,
  `cvc=${cvc}`,
  `cvc: '${cvc}'`,
  `cvc ${cvc}`,
])

const secrets: Secret[] = []
const remember = (name: string, text: string) => void secrets.push({ name, text })

const { seed } = p
remember('the master key', p.masterKey.toString('base64'))
remember("the partner's key", seed.partner.secret_key)
remember("the dashboard's password", seed.dashboard.password)
for (const merchant of seed.merchants) {
  remember("a merchant's key", merchant.secret_key)
  remember('an encryption key', merchant.encryption_key)
  const { desktop, terminals } = merchant.terminal_group
  for (const { api_key: key, api_secret: secret } of [desktop, ...terminals]) {
    remember("a terminal's key", key)
    remember("a terminal's secret", secret)
  }
  for (const branch of merchant.branches) remember("a branch's key", branch.secret_key)
}

const confirmWith = (number: string) => ({
  payment_method: {
    type: 'card' as const,
    card: { number, exp_month: 12, exp_year: 2060, cvc: cvcOf(number), name: 'Juana' },
  },
})

async function everythingHappens(): Promise<void> {
  const people = await everybody(p)
  for (const [name, { key }] of Object.entries(people)) {
    if (name.startsWith('otherPartner')) remember(`${name}'s key`, key)
    const endpoint = await p.as(key).webhooks.createEndpoint({
      url: `${p.receiver.url}?${name}`,
      enabled_events: ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'],
    })
    const { signing_secret: secret } = await p.as(key).webhooks.retrieveSigningSecret(endpoint.id)
    remember(`${name}'s signing secret`, secret)
    remember(`the bytes of ${name}'s signing secret`, Buffer.from(secret.slice(6), 'base64').toString('latin1'))
  }
  const issued = await keyFor(p, { id: p.branch.id, level: 'branch' })
  remember('an issued key', issued.secretKey)
  // Receivers that fail leave their answers behind.
  p.receiver.answer = ({ path, body }, response) => {
    const fails = path.endsWith('?branch') && body.includes('payment.failed')
    response.writeHead(fails ? 500 : 200).end('thanks')
  }

  for (const { number } of vectors.cards) {
    const intent = await p.as(p.branch.secret_key).paymentIntents.create({ amount: 100, currency: 'PHP' })
    remember('a client_secret', intent.client_secret)
    const body = { client_secret: intent.client_secret, ...confirmWith(number) }
    await call(p.url, { method: 'POST', path: `/ecom/v1/payment-intents/${intent.id}/confirm`, body })
  }
  await checkoutPays('4242424242424242')
  await checkoutPays('4000000000000002')
  await wrongRequests()
  await p.advance(7 * 86_400)
}

/** A payer at the page of a link, without a browser. */
async function checkoutPays(number: string): Promise<void> {
  const { url } = await p.sdk.paymentLinks.create(linkFor(p.branch.reference_number))
  const { origin, pathname: path } = new URL(url)
  const page = await call(origin, { path })
  const hidden = [...page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, value],
  )
  const typed = {
    number: number.replaceAll(/(\d{4})(?=\d)/g, '$1 '),
    expiry: '12 / 60',
    cvc: cvcOf(number),
    name: 'Juana',
  }
  const form = new URLSearchParams({ ...Object.fromEntries(hidden), ...typed }).toString()
  const cookie = (page.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).join('; ')
  const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie, origin }
  const answer = await call(origin, { method: 'POST', path, headers, bytes: form })
  assert.equal(answer.status, 303, answer.text)
}

/** Cards and keys where they do not belong, and a defect of ours in the middle of a payment. */
async function wrongRequests(): Promise<void> {
  const [number, key] = ['4242424242424242', p.merchant.secret_key]
  const intent = await p.as(p.branch.secret_key).paymentIntents.create({ amount: 100, currency: 'PHP' })
  const path = `/ecom/v1/payment-intents/${intent.id}/confirm`
  const post = (body: unknown) => call(p.url, { method: 'POST', path, key, body })
  const card = confirmWith(number).payment_method.card
  const answers = [
    await post({ ...confirmWith(number), [number]: number }),
    await post({ payment_method: { type: 'card', card: { ...card, [number]: 1 } } }),
    await post({ payment_method: { type: number, card } }),
    await post({ payment_method: { type: 'card', card: { ...card, number: Number(number) } } }),
    await post({ payment_method: { type: 'card', card: { ...card, number: `${number}1` } } }),
    await post({ payment_method: { type: 'card', card: { ...card, cvc: '9073' } } }),
    await call(p.url, { method: 'POST', path, key, bytes: `{"number":"${number}"` }),
    await call(p.url, { path: `/ecom/v1/payment-links?${number}=1&key=${key}`, key }),
    await call(p.url, { path: `/ecom/v1/payment-links?cursor=${number}`, key }),
    await call(p.url, { path: `/v1/webhook_endpoints/${number}`, key }),
    await call(p.url, { path: `/v1/${number}/${key}`, key: number }),
    await call(p.url, {
      path: `/${number}?${key}`,
      headers: { 'x-api-key': `${key}x`, 'user-agent': number, referer: key },
    }),
    await call(p.url, {
      method: 'POST',
      path: '/ecom/v1/payment-intents',
      key,
      headers: { 'idempotency-key': newKey() },
      body: { [key]: number },
    }),
  ]
  for (const { status, text } of answers) {
    assert.ok(status >= 400 && status < 500, `${status} ${text}`)
    // Nothing of it is echoed either.
    assert.deepEqual(searchFor([{ name: 'the key', text: key }], [number]).foundIn(Buffer.from(text)), [])
  }
  await sql(p.kaha.db, 'alter table payments.attempts rename to lost_attempts')
  assert.equal((await post(confirmWith(number))).status, 500)
  await sql(p.kaha.db, 'alter table payments.lost_attempts rename to attempts')
}

const numbers = vectors.cards.map(({ number }) => number)
/** These, and any of their kind that nobody remembered. */
const everything = () => {
  const kinds = ['sk_test_', 'sk_live_', 'whsec_'].map((text) => ({ name: `something that begins with ${text}`, text }))
  return searchFor([...secrets, ...kinds, ...cvcs.map((text) => ({ name: 'a CVC', text }))], numbers)
}
const log = () => Buffer.from(p.logged.join(''))

test('after everything has happened, no card number, CVC or secret is in the log, in any row, or in any file', async () => {
  await everythingHappens()
  assert.ok(secrets.length > 60)
  const keyFile = join(dataDir, 'master.key')
  await writeFile(keyFile, p.masterKey.toString('base64'))
  held.defer(await writeSandboxFile(dataDir, { ...p.kaha.addresses, metrics: '' }, seed))
  await sql(p.kaha.db, 'checkpoint')

  assert.ok(p.logged.length > 80)
  assert.deepEqual(everything().foundIn(log()), [])
  assert.deepEqual(await foundInTables(p.kaha.db, everything()), [])
  const except = [keyFile, join(dataDir, 'sandbox.json')]
  assert.deepEqual(await foundInFiles(dataDir, everything(), except), [])
  // Control: those two files are the only places, and they are seen when nobody looks away.
  assert.equal(
    new Set((await foundInFiles(dataDir, searchFor(secrets), [])).map((one) => one.split(' in ').at(-1))).size,
    2,
  )
})

test('control: a card number or a key that is planted in any of these places is found there', async () => {
  const [number, key] = ['4242424242424242', p.merchant.secret_key]
  const { id } = await p.link()
  await sql(p.kaha.db, 'update ecommerce.links set description = $2 where id = $1', [id, `paid with ${number}`])
  await sql(p.kaha.db, 'update identity.keys set sealed = $1 where sealed is not null', [Buffer.from(key)])
  await sql(p.kaha.db, 'checkpoint')
  p.logged.push(`{"msg":"card 4242 4242 4242 4242"}`)

  assert.ok(everything().foundIn(log()).includes('the card …4242'))
  const inTables = await foundInTables(p.kaha.db, everything())
  for (const format of ['text', 'binary']) {
    assert.ok(inTables.includes(`the card …4242 in ecommerce.links as ${format}`), inTables.join('\n'))
    assert.ok(inTables.some((one) => one.startsWith("a merchant's key") && one.endsWith(`identity.keys as ${format}`)))
  }
  const inFiles = await foundInFiles(dataDir, everything(), [])
  for (const name of ['the card …4242', "a merchant's key"]) {
    assert.ok(
      inFiles.some((one) => one.startsWith(`${name} in postgres/base/`)),
      inFiles.join('\n'),
    )
  }
})
