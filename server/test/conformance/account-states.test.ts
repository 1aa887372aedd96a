import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { identityStore, type AccountState } from '../../src/identity/store.ts'
import { urlOf } from '../faults/database-of.ts'
import { cards, newKey, platform } from '../platform.ts'
import { commandsUnder, folder } from '../start/program.ts'
import { shopOf, wire } from '../till.ts'
import { until } from '../until.ts'
import { call } from './call.ts'
import { startPayer } from './code-payer.ts'
import { keyFor } from './people.ts'
import { bodyOf, refusal, rowsOf, shop } from './shop.ts'

// What an operator stops: a branch, a merchant or a partner, with all of its keys, tills and payers.

const p = await platform({ after })
const settings = {
  KAHA_DATABASE_URL: urlOf(p.target),
  KAHA_DATA_DIR: folder({ after }),
  KAHA_MASTER_KEY: p.masterKey.toString('base64'),
}
const { kaha, refused } = commandsUnder({ after }, settings)
const merchant = shop(p)
const { secretKey: ofPartner } = await keyFor(p, { id: p.seed.partner.id, level: 'partner' })
const above = { branch: p.branch.id, merchant: p.merchant.id, partner: p.seed.partner.id } as const

const stands = async (id: string, state: AccountState) => {
  assert.ok(await identityStore.setAccountState(p.kaha.db, id, state))
  p.kaha.bus.hint('keys')
}

for (const [level, id] of Object.entries(above)) {
  for (const state of ['LOCKED', 'INACTIVE'] as const) {
    test(`[I1.account-state.payers] a payer of a branch begins no payment while its ${level} is ${state}, and afterwards pays as before`, async () => {
      const [waiting, byCode, paid] = [
        await merchant.newIntent(),
        await merchant.newIntent(),
        await merchant.newIntent(),
      ]
      bodyOf(await merchant.confirm(paid.id), 200)
      const tried = waiting.client_secret
      await stands(id, state)
      assert.equal(refusal(await merchant.confirmAsPayer(waiting.id, tried)), '403 FORBIDDEN')
      const secret = { client_secret: byCode.client_secret }
      assert.equal(refusal(await merchant.confirmBy({ type: 'qrph' }, byCode.id, secret)), '403 FORBIDDEN')
      // Nothing is lost by it: no attempt is counted, and what was paid is given back by whoever stands above.
      if (level === 'branch') {
        assert.equal(
          bodyOf(await merchant.createRefund(paid.id, { amount: 100 }, { key: ofPartner }), 201).status,
          'SUCCEEDED',
        )
        assert.equal(refusal(await merchant.confirm(waiting.id, undefined, { key: ofPartner })), '403 FORBIDDEN')
      }
      await stands(id, 'ACTIVE')
      assert.equal(bodyOf(await merchant.confirmAsPayer(waiting.id, tried), 200).status, 'SUCCEEDED')
      assert.equal(bodyOf(await merchant.confirmBy({ type: 'qrph' }, byCode.id, secret), 200).status, 'REQUIRES_ACTION')
    })
  }
}

test('[I1.account-state.payers] what was begun before a merchant was locked goes on: a card, a challenge, a code, and its webhooks', async () => {
  const [slow, challenged, coded] = [await merchant.newIntent(), await merchant.newIntent(), await merchant.newIntent()]
  bodyOf(await merchant.confirm(slow.id, cards.slow), 202)
  const { next_action: challenge } = bodyOf(await merchant.confirm(challenged.id, cards.challenge), 200)
  bodyOf(await merchant.confirmBy({ type: 'qrph' }, coded.id, { client_secret: coded.client_secret }), 200)
  const [code] = await rowsOf<{ text: string }>(
    p,
    'select code_text as text from payments.attempts where intent_id = $1',
    [coded.id],
  )
  const received = p.receiver.received.length
  await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.succeeded'] })
  const idempotencyKey = newKey()
  const first = await merchant.createLink({}, { key: ofPartner, idempotencyKey })
  await stands(p.merchant.id, 'LOCKED')
  // How it stands is told before that nothing can be begun: it may be the only word of a charge.
  assert.equal(refusal(await merchant.confirmAsPayer(slow.id, slow.client_secret)), '409 INTENT_PROCESSING')
  assert.equal(refusal(await merchant.confirmAsPayer(challenged.id, challenged.client_secret)), '409 INVALID_STATE')
  const again = await merchant.createLink({}, { key: ofPartner, idempotencyKey })
  assert.deepEqual([again.status, again.json.id, again.headers['idempotent-replayed']], [201, first.json.id, 'true'])
  const passed = await fetch(challenge.url, {
    method: 'POST',
    body: new URLSearchParams({ result: 'passed' }),
    redirect: 'manual',
  })
  await fetch(passed.headers.get('location') ?? '')
  assert.equal((await startPayer(p).pay(code?.text ?? '')).status, 200)
  await p.advance(60)
  const readAbove = async (id: string) => bodyOf(await merchant.retrieveIntent(id, { key: ofPartner }), 200).status
  for (const { id, client_secret } of [slow, challenged, coded]) {
    assert.equal(await readAbove(id), 'SUCCEEDED')
    assert.equal(refusal(await merchant.confirmAsPayer(id, client_secret)), '409 INVALID_STATE')
    const events = await rowsOf<{ type: string }>(p, 'select type from delivery.events where payment_intent_id = $1', [
      id,
    ])
    assert.deepEqual(events, [{ type: 'payment.succeeded' }])
  }
  assert.equal(p.receiver.received.length - received, 3)
  await stands(p.merchant.id, 'ACTIVE')
})

test('[I1.account-state.branch] a key of a partner or a merchant makes no links and no intents for a branch that is not ACTIVE', async () => {
  await stands(p.branch.id, 'LOCKED')
  for (const key of [ofPartner, p.merchant.secret_key]) {
    assert.equal(refusal(await merchant.createLink({}, { key })), '403 FORBIDDEN')
    assert.equal(refusal(await merchant.createIntent({}, { key })), '403 FORBIDDEN')
    // What is there is read on.
    assert.equal((await merchant.listLinks({}, { key })).status, 200)
  }
  await stands(p.branch.id, 'ACTIVE')
  await merchant.newLink()
})

test('[I1.account-state.terminals] an operator locks a merchant: its keys are refused and its sockets closed by the server beside, and all come back', async () => {
  const answerFor = async (key: string) => (await call(p.url, { path: '/ecom/v1/payment-links', key })).status
  const stateOf = async (id: string) =>
    (JSON.parse(await kaha('entities', 'list', '--json')) as { id: string; state: string }[]).find(
      (one) => one.id === id,
    )?.state
  const there = shopOf(p)
  after(() => there[Symbol.asyncDispose]())
  const terminal = await there.connect()
  assert.equal(await kaha('entities', 'lock', p.merchant.id), `${p.merchant.id} is LOCKED.\n`)
  // That was another process, whose word comes a moment later.
  await until('the refusal', async () => (await answerFor(p.branch.secret_key)) === 403)
  await until('the close', () => terminal.closed !== null)
  await assert.rejects(wire(p.url, there.first, { deviceId: there.first.device_id }))
  assert.deepEqual(JSON.parse(await kaha('entities', 'deactivate', p.branch.id, '--json')), {
    id: p.branch.id,
    state: 'INACTIVE',
    standing: 'LOCKED',
  })
  assert.deepEqual([await stateOf(p.merchant.id), await stateOf(p.branch.id)], ['LOCKED', 'INACTIVE'])
  assert.equal(
    await kaha('entities', 'activate', p.branch.id),
    `${p.branch.id} is ACTIVE. What stands above it is LOCKED, and so it stays refused.\n`,
  )
  const listed = await kaha('entities', 'list')
  assert.match(listed, new RegExp(`^${p.merchant.id}  LOCKED    merchant`, 'm'))
  assert.match(listed, new RegExp(`^${p.branch.id}  ACTIVE    branch .*, LOCKED above$`, 'm'))
  await kaha('entities', 'activate', p.merchant.id)
  await until('the end of it', async () => (await answerFor(p.branch.secret_key)) === 200)
  await there.connect()
  await refused(
    /there is no entity .* that is not ACTIVE: `kaha entities list` shows how each stands/,
    'entities',
    'activate',
    p.merchant.id,
  )
})
