import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { qrUseCases, qrWebhookErrors, qrWebhookWireCodes, type QrWebhookCode } from '@kaha/contract'
import { crc16 } from '@kaha/qrph'
import { openToken, tokenKey } from '@kaha/qrph/token'
import { createMerchant } from '../../src/identity/issue.ts'
import { isUuid } from '../../src/kernel/ids.ts'
import { platform, type PlatformOptions } from '../platform.ts'
import { sql } from '../sql.ts'
import { call, type Answer } from './call.ts'
import { keyFor } from './people.ts'
import { bankOf, basic, qrAccount } from './qr-account.ts'
import { jump, withoutWorker } from './shop.ts'

// Area E: what a bank would do, on request, and the notifications that it causes.

const webhooks = '/webhooks/v1/webhooks'
const path = `${webhooks}/qrph/simulate`
const both = ['QRPH_SUCCESS', 'QRPH_DECLINED']

async function simulating(t: TestContext, options?: PlatformOptions) {
  const p = await platform(t, options)
  p.receiver.answer = (_request, response) => void response.writeHead(200).end()
  const ask = (body: unknown, key = p.merchant.secret_key) =>
    call(p.url, { method: 'POST', path, headers: { authorization: basic(key) }, body })
  const simulate = async (body: unknown, key?: string): Promise<string> => {
    const answer = await ask(body, key)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(Object.keys(answer.json), ['id'])
    await p.idle()
    return answer.json.id
  }
  const register = async (
    fields: Record<string, unknown> = {},
    headers: Record<string, string> = {},
    key = p.merchant.secret_key,
  ): Promise<void> => {
    const body = { webhookUrl: p.receiver.url, actions: both, status: 'ENABLED', ...fields }
    const answer = await call(p.url, {
      method: 'POST',
      path: webhooks,
      headers: { authorization: basic(key), ...headers },
      body,
    })
    assert.equal(answer.status, 201, answer.text)
  }
  /** What has come in since the last time, decrypted. */
  const told = (key = p.merchant.secret_key): Promise<any[]> =>
    Promise.all(
      p.receiver.received.splice(0).map(async ({ body }) => openToken(await tokenKey(key), JSON.parse(body).data)),
    )
  return { ...p, account: qrAccount(p), ask, simulate, register, told }
}

function assertRefused(answer: Answer, code: QrWebhookCode): void {
  const expected = `${qrWebhookErrors[code]} ${qrWebhookWireCodes[code]}`
  assert.equal(`${answer.status} ${answer.json?.code}`, expected, answer.text)
  assert.deepEqual(Object.keys(answer.json), ['code', 'error', 'referenceNumber'])
  assert.ok(isUuid(answer.json.referenceNumber))
}

test('[E6.simulate.ok, E6.simulate.settles, E6.simulate.use-cases] every useCase settles the code of the text as the bank would, and the webhook is told with its cause', async (t) => {
  const p = await simulating(t)
  await p.register()
  for (const useCase of qrUseCases) {
    const { id, qrText } = await p.account.made()
    // A newer one, which is left alone.
    const { id: other } = await p.account.made()
    assert.equal(await p.simulate({ useCase, qrBody: qrText }), id)
    const paid = useCase === 'SUCCESS'
    const reason = useCase === 'DECLINED' ? 'DECLINED_BY_BANK' : useCase
    const { plain } = await p.account.get(id)
    assert.deepEqual(
      [plain.status, plain.declineReason],
      [paid ? 'PAID' : 'DECLINED', paid ? undefined : reason],
      useCase,
    )
    const { timestamp, ...rest } = (await p.told())[0]
    assert.equal(typeof timestamp, 'string')
    assert.deepEqual(rest, {
      action: paid ? 'QRPH_SUCCESS' : 'QRPH_DECLINED',
      referenceNumber: plain.merchantReferenceNumber,
      amount: 9800,
      currency: 'PHP',
      transactionId: id,
      status: plain.status,
      ...(paid ? {} : { declineReason: reason }),
    })
    assert.equal((await p.account.get(other)).plain.status, 'PENDING')
    const { data } = await p.sdk.reports.retrieveTransaction(id)
    assert.equal(data.status, paid ? 'CAPTURED' : 'DECLINED')
  }
})

test('E6.simulate.newest: without a text the newest PENDING code of the account is settled, for a branch key that of its branch', async (t) => {
  const p = await simulating(t)
  await p.register()
  const [first, second] = p.merchant.branches
  assert.ok(first && second)
  const oldest = await p.account.made()
  const older = await p.account.made({ activationCode: first.activation_code })
  const newest = await p.account.made({ activationCode: second.activation_code })
  assert.equal(await p.simulate({ useCase: 'SUCCESS' }, first.secret_key), older.id)
  assert.equal(await p.simulate({ useCase: 'DECLINED' }), newest.id)
  assert.equal(await p.simulate({ useCase: 'SUCCESS' }), oldest.id)
  const seen = (await p.told()).map(({ transactionId, status }) => `${transactionId} ${status}`)
  assert.deepEqual(seen.toSorted(), [`${oldest.id} PAID`, `${older.id} PAID`, `${newest.id} DECLINED`].toSorted())
})

test('E6.simulate.test: without any PENDING code each ENABLED webhook that takes the action gets a test notification, and no payment comes of it', async (t) => {
  const p = await simulating(t)
  const [first, second] = p.merchant.branches
  assert.ok(first && second)
  await p.register()
  await p.register({ webhookUrl: `${p.receiver.url}/narrow` }, { 'activation-code': second.activation_code })
  await p.register({ webhookUrl: `${p.receiver.url}/paid`, actions: ['QRPH_SUCCESS'] })
  await p.register({ webhookUrl: `${p.receiver.url}/paused`, status: 'DISABLED' })
  const gone = await p.account.made()
  await p.advance(900)
  const before = await sql(p.kaha.db, 'select id from payments.transactions')

  const id = await p.simulate({ useCase: 'UNSUPPORTED_TRANSFER_TYPE' })
  assert.ok(isUuid(id))
  const codes = new Set(p.receiver.received.map(({ headers }) => headers['activation-code']))
  assert.deepEqual(codes, new Set([second.activation_code, undefined]))
  assert.equal(p.receiver.received.length, 2)
  const [one, other] = await p.told()
  assert.match(one.referenceNumber, /^TEST-\w+$/)
  assert.deepEqual(one, other)
  assert.deepEqual(
    [one.action, one.status, one.declineReason, one.transactionId],
    ['QRPH_DECLINED', 'DECLINED', 'UNSUPPORTED_TRANSFER_TYPE', id],
  )

  await p.simulate({ useCase: 'SUCCESS' })
  assert.equal((await p.told()).length, 3)
  await p.simulate({ useCase: 'SUCCESS' }, first.secret_key)
  assert.equal((await p.told()).length, 2)
  assert.equal((await p.account.get(gone.id)).plain.status, 'EXPIRED')
  assert.deepEqual(await sql(p.kaha.db, 'select id from payments.transactions'), before)
  assert.deepEqual((await p.account.find(one.referenceNumber)).plain.code, '20000004')
})

test('[E6.simulate.test] a code whose time is over is none that is PENDING, also while nobody has stored that', async (t) => {
  const p = await simulating(t, withoutWorker)
  await p.register()
  await p.account.made()
  await jump(p, 900_000)
  const answer = await p.ask({ useCase: 'SUCCESS' })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(await sql(p.kaha.db, 'select state from qr.codes'), [{ state: 'PENDING' }])
})

test('[E6.simulate.test] an account that has no branch yet is sent test notifications too', async (t) => {
  const p = await simulating(t)
  const merchant = await createMerchant(p.kaha.db, p.seed.partner.id, 'A shop without a branch', p.kaha.clock.now())
  const { secretKey } = await keyFor(p, merchant)
  assertRefused(await p.ask({ useCase: 'SUCCESS' }, secretKey), 'WEBHOOK_NOT_FOUND')
  await p.register({}, {}, secretKey)
  const id = await p.simulate({ useCase: 'SUCCESS' }, secretKey)
  const [told, ...others] = await p.told(secretKey)
  assert.deepEqual([told.transactionId, told.action, others], [id, 'QRPH_SUCCESS', []])
  assert.match(told.referenceNumber, /^TEST-\w+$/)
})

test('E6.simulate.unknown: a text of no code of the account is 404, and so is a code that no ENABLED webhook would hear of', async (t) => {
  const p = await simulating(t)
  const [first, second] = p.merchant.branches
  const [, neighbour] = p.seed.merchants
  assert.ok(first && second && neighbour)
  assertRefused(await p.ask({ useCase: 'SUCCESS' }), 'WEBHOOK_NOT_FOUND')
  await p.register({ actions: ['QRPH_SUCCESS'] }, { 'activation-code': second.activation_code })
  await p.register({ webhookUrl: `${p.receiver.url}/paused`, status: 'DISABLED' })
  assertRefused(await p.ask({ useCase: 'DECLINED' }), 'WEBHOOK_NOT_FOUND')
  const { id, qrText } = await p.account.made({ activationCode: first.activation_code })
  assertRefused(await p.ask({ useCase: 'SUCCESS', qrBody: qrText }), 'WEBHOOK_NOT_FOUND')
  const theirs = await qrAccount(p, {
    key: neighbour.secret_key,
    encryptionKey: neighbour.encryption_key,
    activationCode: neighbour.branches[0]?.activation_code ?? '',
  }).made()
  for (const qrBody of ['x', qrText.slice(0, -1), qrText.replace('98.00', '99.00'), theirs.qrText])
    assertRefused(await p.ask({ useCase: 'SUCCESS', qrBody }), 'CODE_NOT_FOUND')
  assert.match((await p.ask({ useCase: 'SUCCESS', qrBody: 'iVBORw0KGgo=' })).text, /send the qrText/)
  // A whole text that names the code, and that nobody made.
  const other = qrText.slice(0, -4).replace('98.00', '99.00')
  assert.match((await p.ask({ useCase: 'SUCCESS', qrBody: other + crc16(other) })).text, /of no code of this account/)
  assertRefused(await p.ask({ useCase: 'SUCCESS', qrBody: qrText }, second.secret_key), 'CODE_NOT_FOUND')
  assert.equal((await p.account.get(id)).plain.status, 'PENDING')
  assert.deepEqual(p.receiver.received, [])
})

test('E6.simulate.not-pending: a code that is paid, declined or expired is 409 with 20000015, and no money is taken for unmatched', async (t) => {
  const p = await simulating(t)
  await p.register()
  const bank = bankOf(p)
  for (const outcome of ['SUCCESS', 'DECLINED', 'EXPIRED']) {
    const { qrText } = await p.account.made()
    await bank({ qr_text: qrText, outcome })
    assertRefused(await p.ask({ useCase: 'SUCCESS', qrBody: qrText }), 'CODE_NOT_PENDING')
  }
  assert.deepEqual(await sql(p.kaha.db, 'select id from qr.unmatched_payments'), [])
})

test('E6.webhook.invalid: a simulation of an unknown useCase, or with anything else in it, is 400 with 20000002', async (t) => {
  const p = await simulating(t)
  await p.register()
  const wrong = [
    {},
    { useCase: 'success' },
    { useCase: 'DECLINED_BY_BANK' },
    { useCase: null },
    { useCase: 'SUCCESS', qrBody: '' },
    { useCase: 'SUCCESS', qrBody: 'x'.repeat(2_049) },
    { useCase: 'SUCCESS', amount: 1 },
    [],
  ]
  for (const body of wrong) assertRefused(await p.ask(body), 'BAD_REQUEST')
  assertRefused(
    await call(p.url, { path, headers: { authorization: basic(p.merchant.secret_key) } }),
    'METHOD_NOT_ALLOWED',
  )
})

test('[E6.simulate.newest] simulations in one moment settle a code each, and those for which there is none are tests; no money is unmatched', async (t) => {
  const p = await simulating(t)
  await p.register()
  const codes = await Promise.all(Array.from({ length: 4 }, () => p.account.made()))
  const answers = await Promise.all(Array.from({ length: 6 }, () => p.ask({ useCase: 'SUCCESS' })))
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
    answers.map(({ text }) => text).join(),
  )
  const settled = new Set(answers.map(({ json }) => json.id))
  assert.equal(settled.size, answers.length)
  for (const { id } of codes) assert.ok(settled.has(id))
  await p.idle()
  const told = (await p.told()).map(({ referenceNumber }) => referenceNumber)
  assert.equal(new Set(told).size, answers.length)
  assert.equal(told.filter((one) => one.startsWith('TEST-')).length, 2)
  const { qrText } = await p.account.made()
  const same = await Promise.all(Array.from({ length: 3 }, () => p.ask({ useCase: 'SUCCESS', qrBody: qrText })))
  assert.deepEqual(
    same.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409, 409],
  )
  assert.deepEqual(await sql(p.kaha.db, 'select id from qr.unmatched_payments'), [])
})
