import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createKaha } from '@kaha/sdk'
import { folder, keysIn, merchantOf, serversIn, start, stop, type SandboxFile } from './program.ts'

const shopDir = join(folder({ after }), 'shop')
const first = await start({ after }, shopDir)
const { sandbox } = first
const branchOf = ({ merchants: [merchant] }: SandboxFile) => merchant?.branches[0]?.id ?? ''

test('a first start says where Kaha runs, with which keys, what has happened, and gives a link to pay', async () => {
  const said = first.stdout()
  assert.ok(said.includes(`Kaha is running on ${sandbox.base_url}\n`))
  for (const { name, secret_key } of [sandbox.partner, ...sandbox.merchants]) {
    assert.match(said, new RegExp(`${name}.*  ${secret_key}`))
  }
  assert.match(said, /A first order has been paid already/)
  const [link = ''] = /http:\S+\/pay\/l\/\S+/.exec(said) ?? []
  const page = await fetch(link)
  assert.equal(page.status, 200)
  const [title] = /<title>.*<\/title>/.exec(await page.text()) ?? []
  assert.equal(title, '<title>Pay ₱295.00 to Kapihan ni Aling Nena</title>')
  assert.ok(said.includes(join(shopDir, 'sandbox.json')))
})

test('the request that a start prints can be sent as it is', async () => {
  const said = first.stdout()
  const [, url = ''] = /curl (\S+)/.exec(said) ?? []
  const headers = Object.fromEntries(
    [...said.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]),
  )
  const [, body = ''] = /-d '([^']+)'/.exec(said) ?? []
  const answer = await fetch(url, { method: 'POST', headers, body })
  assert.equal(answer.status, 201)
})

test('sandbox.json has exactly the promised shape, and only its owner may read it', () => {
  const path = join(shopDir, 'sandbox.json')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const text = 'a string'
  const branch = { id: text, name: text, reference_number: text, secret_key: text, activation_code: text }
  const keys = { api_key: text, api_secret: text }
  const terminal = { device_id: text, ...keys }
  const merchant = {
    id: text,
    name: text,
    secret_key: text,
    encryption_key: text,
    branches: [branch, branch],
    terminal_group: { id: text, desktop: keys, terminals: [terminal, terminal] },
  }
  assert.deepEqual(shapeOf(sandbox), {
    version: 'a number',
    pid: 'a number',
    base_url: text,
    terminal_url: text,
    terminal_ws_url: text,
    webhooks_url: text,
    qr_url: text,
    checkout_url: text,
    dashboard_url: text,
    sandbox_url: text,
    metrics_url: text,
    partner: { id: text, name: text, secret_key: text },
    merchants: [merchant, merchant],
    dashboard: { email: text, password: text },
  })
  assert.deepEqual([sandbox.version, sandbox.pid], [1, first.pid])
})

test('[X0.addresses.defaults, X0.addresses.one-process] the addresses in sandbox.json follow from the port, and one process answers all that is there', async () => {
  const { base_url: base } = sandbox
  const { port } = new URL(base)
  assert.equal(base, `http://localhost:${port}`)
  assert.deepEqual(
    [
      sandbox.terminal_url,
      sandbox.webhooks_url,
      sandbox.qr_url,
      sandbox.checkout_url,
      sandbox.dashboard_url,
      sandbox.sandbox_url,
    ],
    ['terminal', 'webhooks', 'qr', 'pay', 'dashboard', 'sandbox'].map((path) => `${base}/${path}`),
  )
  assert.equal(sandbox.terminal_ws_url, `ws://localhost:${port}/terminal`)
  for (const url of [
    `${base}/`,
    `${base}/healthz`,
    `${base}/readyz`,
    `${base}/docs`,
    sandbox.dashboard_url,
    sandbox.metrics_url,
  ]) {
    assert.equal((await fetch(url)).status, 200, url)
  }
})

test('[I1.key.form, X0.keys.prefix.sandbox] every key of a sandbox has its form, and no two are the same', () => {
  const secretKeys = [
    sandbox.partner,
    ...sandbox.merchants,
    ...sandbox.merchants.flatMap(({ branches }) => branches),
  ].map(({ secret_key }) => secret_key)
  for (const key of secretKeys) assert.match(key, /^sk_test_[0-9A-Za-z]{24}$/)
  for (const { encryption_key } of sandbox.merchants) assert.match(encryption_key, /^[\x21-\x7e]{32}$/)
  const all = keysIn(sandbox)
  assert.equal(all.length, 7 + 2 + 4 + 2 * 2 * 3 + 1)
  assert.equal(new Set(all).size, all.length)
})

test('the story of a first start is real: a link whose payer was refused first and then paid, told to the inbox by two webhooks', async () => {
  const sdk = merchantOf(sandbox)
  const { data: links } = await sdk.paymentLinks.list()
  const [link] = links.filter(({ type, status }) => type === 'one_time' && status === 'CONSUMED')
  assert.equal(link?.successful_payment_count, 1)
  const { data: events } = await sdk.webhooks.listEvents({ branch_id: branchOf(sandbox) })
  assert.deepEqual(events.map(({ type, status, payment_link_id }) => [type, status, payment_link_id]).toReversed(), [
    ['payment.declined', 'DELIVERED', link?.id],
    ['payment.succeeded', 'DELIVERED', link?.id],
  ])
  const [{ payment_intent_id: id } = { payment_intent_id: '' }] = events
  const intent = await sdk.paymentIntents.retrieve(String(id))
  assert.equal(intent.status, 'SUCCEEDED')
  assert.ok(intent.receipt)
})

test('the story of a first start pays a QR Ph code once, and the bank app that it was paid with is named and answers', async () => {
  const { data } = await merchantOf(sandbox).reports.listTransactions()
  const codes = data.filter(({ payment_method }) => payment_method === 'QR_PH')
  assert.deepEqual(
    codes.map(({ status }) => status),
    ['CAPTURED'],
  )
  await first.says(new RegExp(`Bank app +${sandbox.sandbox_url}/bank`))
  assert.equal((await fetch(`${sandbox.sandbox_url}/bank`)).status, 200)
})

test('the story of a first start has a sale at a terminal, and one whose terminal lost its line: back too late, its approval is VOIDED', async () => {
  const { reports } = merchantOf(sandbox)
  const sales = async () => {
    const { data } = await reports.listTransactions({ payment_method: 'CARD_PRESENT' })
    return data
      .map(({ amount, status, terminal_details }) => [terminal_details?.terminal_name, amount, status])
      .toReversed()
  }
  const sale = ['sim-approve', 29_500, 'CAPTURED']
  assert.deepEqual(await sales(), [sale, ['sim-drop-75s', 18_000, 'PENDING']])
  assert.match(first.stdout(), /Another terminal lost its line in mid-payment\./)
  await createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.partner.secret_key }).sandbox.advanceClock({
    seconds: 75,
  })
  await first.says(/the terminal that lost its line is back, too late: its approval of 180 PHP is VOIDED\n/)
  assert.deepEqual(await sales(), [sale, ['sim-drop-75s', 18_000, 'VOIDED']])
})

test('a webhook that reaches the inbox is told in the window of the sandbox', async () => {
  await pay(sandbox)
  await first.says(/webhook payment\.succeeded arrived at the inbox, signature verified/)
})

test('a stop takes sandbox.json away and leaves no database running; the next start has the same keys and rows, no second story, and an inbox that is found on its new port', async (t) => {
  const { data: before } = await merchantOf(sandbox).paymentLinks.list()
  assert.equal(await stop(first), 0)
  assert.equal(existsSync(join(shopDir, 'sandbox.json')), false)
  assert.deepEqual(serversIn(shopDir), [])

  const again = await start(t, shopDir)
  assert.deepEqual(withoutAddresses(again.sandbox), withoutAddresses(sandbox))
  assert.doesNotMatch(again.stdout(), /A first order/)
  const { data: afterwards } = await merchantOf(again.sandbox).paymentLinks.list()
  const shown = ({ id, status, updated_at }: (typeof before)[number]) => ({ id, status, updated_at })
  assert.deepEqual(afterwards.slice(-before.length).map(shown), before.map(shown))
  // The link to try is one a day: where midnight (UTC) came between the two starts there is another.
  const days = afterwards.filter(({ type }) => type === 'multi_use').map(({ created_at }) => created_at.slice(0, 10))
  assert.deepEqual(days, [...new Set(days)])
  assert.equal(afterwards.length - before.length, days.length - 1)
  assert.ok(again.stdout().includes(`${again.sandbox.checkout_url}/l/`))
  assert.notEqual(again.sandbox.base_url, sandbox.base_url)
  await pay(again.sandbox)
  await again.says(/webhook payment\.succeeded arrived at the inbox, signature verified/)
  assert.equal(await stop(again), 0)
})

async function pay(on: SandboxFile): Promise<void> {
  const sdk = merchantOf(on)
  const intent = await sdk.paymentIntents.create({
    amount: 5000,
    currency: 'PHP',
    merchant_branch_reference_number: on.merchants[0]?.branches[0]?.reference_number ?? '',
  })
  const card = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }
  await sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
}

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === '' ? 'an empty string' : `a ${typeof value}`
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, shapeOf(inside)]))
}

const withoutAddresses = ({ partner, merchants, dashboard }: SandboxFile) => ({ partner, merchants, dashboard })
