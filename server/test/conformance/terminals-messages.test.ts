import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { attentionStore } from '../../src/commands/store-attention.ts'
import { issueTerminalKey } from '../../src/identity/issue.ts'
import { statement } from '../../src/kernel/db.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, sale, shopOf, wire, type Wire } from '../till.ts'
import { until } from '../until.ts'

// Messages that come too late, from too far, or while nobody was there.

const p = await platform({ after })
const shop = shopOf(p)
const others = shopOf(p, p.seed.merchants[1])
after(() => shop[Symbol.asyncDispose]())
after(() => others[Symbol.asyncDispose]())
const device = shop.first.device_id

test('[D5.push.missed] a till that reconnects is told what it missed, once', async () => {
  const terminal = await shop.connect()
  const keeper = await shop.till()
  const { transactionId } = await keeper.ask({ action: 'payment', terminalId: device, paymentRequest: sale })
  await terminal.next('payment')
  keeper.drop()
  terminal.send(result(transactionId))
  await until('the end', async () => (await shop.read(transactionId)).json.status === 'COMPLETED')
  const back = await shop.till()
  const missed = await back.next('paymentComplete')
  assert.deepEqual([missed.transactionId, missed.paymentResponse.status], [transactionId, 'SUCCESS'])
  const unseen = statement(
    'test.unseen',
    'select transaction_id from terminals.transactions where complete_unseen and way = $1',
  )
  await until('that it was seen', async () => (await p.kaha.db.run(unseen, ['socket'])).length === 0)
  const again = await shop.till()
  await again.settled()
  assert.deepEqual(
    again.received.filter(({ action }) => action === 'paymentComplete'),
    [],
  )
  await terminal.close()
})

test('[D5.push.missed] a till that is here is told what became of its payment, though whoever decided it died before it said so', async () => {
  const [terminal, before] = [await shop.connect(), await shop.till()]
  const { transactionId } = await before.ask({ action: 'payment', terminalId: device, paymentRequest: sale })
  await terminal.next('payment')
  terminal.send(result(transactionId))
  await before.next('paymentComplete')
  const unseen = async () => (await sql(p.kaha.db, 'select from terminals.transactions where complete_unseen')).length
  await until('that it was seen', async () => (await unseen()) === 0)
  await before.close()
  const till = await shop.till()
  await till.settled()
  // As a process leaves it that was killed between the commit and the word.
  const lose = `update terminals.transactions set complete_unseen = true, updated_at = $2 where transaction_id = $1`
  await sql(p.kaha.db, lose, [transactionId, new Date(p.kaha.clock.now().getTime() - 6_000)])
  const told = await till.next('paymentComplete')
  assert.deepEqual([told.transactionId, told.paymentResponse.status], [transactionId, 'SUCCESS'])
  await until('that it was seen', async () => (await unseen()) === 0)
  await terminal.close()
  await till.close()
})

test('[D5.push.missed] what a till missed is kept for it, though another till of its group was told, and that one is told it once', async () => {
  const issuing = { keyring: p.kaha.keyring, keyPrefix: 'sk_test_' } as const
  const key = { role: 'desktop', groupId: shop.groupId, branchId: null } as const
  const { apiKey, apiSecret } = await issueTerminalKey(p.kaha.db, issuing, key, p.kaha.clock.now())
  const connectBeside = () => wire(p.url, { api_key: apiKey, api_secret: apiSecret })
  const completed = ({ received }: Wire) =>
    received.flatMap(({ action, transactionId }) => (action === 'paymentComplete' ? [transactionId] : []))
  const unseen = async () => {
    const those = 'select transaction_id from terminals.transactions where complete_unseen'
    return (await sql<{ transaction_id: string }>(p.kaha.db, those)).map((row) => row.transaction_id)
  }
  const [terminal, away, beside] = [await shop.connect(), await shop.till(), await connectBeside()]
  const pays = async (till: Wire): Promise<string> => {
    const { transactionId } = await till.ask({ action: 'payment', terminalId: device, paymentRequest: sale })
    await terminal.next('payment')
    return transactionId
  }
  const missed = await pays(away)
  away.drop()
  terminal.send(result(missed))
  await beside.next('paymentComplete')
  // It has seen this after that, and what tills have seen is stored in the order in which they saw it.
  const own = await pays(beside)
  terminal.send(result(own))
  await beside.next('paymentComplete')
  await until('that its own was seen', async () => !(await unseen()).includes(own))
  assert.deepEqual([completed(beside), await unseen()], [[missed, own], [missed]])

  const again = await connectBeside()
  await again.settled()
  assert.deepEqual(completed(again), [])
  const back = await shop.till()
  assert.equal((await back.next('paymentComplete')).transactionId, missed)
  await until('that it was seen', async () => (await unseen()).length === 0)
  for (const one of [terminal, again, back]) await one.close()
})

test('[D5.push.missed] what Kaha still does about a void is no change of the payment: neither its record nor the order of what a till missed', async (t) => {
  const its = await platform(t)
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const terminal = await there.connect()
  const record = async (transactionId: string) => {
    const { timestamp: _now, ...rest } = (await there.read(transactionId)).json
    return rest
  }
  const late = there.pay({ transactionId: 'late' })
  await terminal.next('payment')
  await its.advance(91)
  assert.equal((await late).status, 504)
  terminal.send(result('late'))
  await terminal.next('voidPayment')
  const before = await record('late')
  assert.deepEqual([before.status, before.updatedAt], ['VOIDED', before.voidedAt])
  const next = there.pay({ transactionId: 'next' })
  await terminal.next('payment')
  terminal.send(result('next'))
  assert.equal((await next).status, 200)
  const paid = await record('next')
  const voiding = there.voids('next', { reason: 'Another try.' })
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId: 'next', success: false })
  assert.equal((await voiding).json.error, 'TERMINAL_REFUSED')
  assert.deepEqual(await record('next'), paid)
  await its.advance(31)
  await terminal.next('voidPayment')
  assert.deepEqual(await record('late'), before)
  terminal.send({ action: 'voidResult', transactionId: 'late', success: true })
  await until('that it is confirmed', async () => (await there.voids('late')).json.success)
  assert.deepEqual(await record('late'), before)
  const back = await there.till()
  await back.next('paymentComplete')
  const told = back.received.filter(({ action }) => action.startsWith('payment'))
  assert.deepEqual(
    told.map(({ action, transactionId }) => `${action} ${transactionId}`),
    ['paymentVoided late', 'paymentComplete next'],
  )
  await terminal.close()
})

test('[D5.push.missed] a till that was away is told of a sale and of its void, and after 7 days of neither', async (t) => {
  const its = await platform(t)
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const terminal = await there.connect()
  const voided = async (transactionId: string) => {
    const paying = there.pay({ transactionId })
    await terminal.next('payment')
    terminal.send(result(transactionId))
    assert.equal((await paying).status, 200)
    const voiding = there.voids(transactionId)
    await terminal.next('voidPayment')
    terminal.send({ action: 'voidResult', transactionId, success: true })
    assert.equal((await voiding).json.success, true)
  }
  const told = (on: Wire) =>
    on.received.flatMap(({ action, transactionId }) =>
      action.startsWith('payment') ? [`${action} ${transactionId}`] : [],
    )
  await voided('old')
  await its.advance(7 * 86_400 - 60)
  await voided('new')
  await its.advance(120)
  const back = await there.till()
  await until('what it missed', () => told(back).length > 1)
  await back.settled()
  assert.deepEqual(told(back), ['paymentComplete new', 'paymentVoided new'])
})

test('[D5.message.payment-again] a payment that is asked for again over a socket is told its end again, after the answer', async (t) => {
  const its = await platform(t)
  const there = shopOf(its)
  t.after(() => there[Symbol.asyncDispose]())
  const [till, terminal] = [await there.till(), await there.connect()]
  const asking = { action: 'payment', terminalId: there.first.device_id }
  /** What of payments comes after the answer. */
  const again = async (transactionId: string) => {
    const from = till.received.length
    const { action } = await till.ask({ ...asking, paymentRequest: { transactionId, ...sale } })
    await till.settled()
    const told = till.received.slice(from).filter((one) => one.transactionId === transactionId)
    assert.deepEqual([action, told.shift().action], ['paymentAccepted', 'paymentAccepted'])
    return told.map((one) => [one.action, one.transactionId, one.paymentResponse?.status ?? one.code ?? one.reason])
  }
  const pay = async (transactionId: string) => {
    assert.deepEqual(await again(transactionId), [])
    await terminal.next('payment')
  }

  await pay('kept')
  assert.deepEqual(await again('kept'), [])
  terminal.send(result('kept'))
  await till.next('paymentComplete')
  assert.deepEqual(await again('kept'), [['paymentComplete', 'kept', 'SUCCESS']])
  const voiding = till.ask({ action: 'voidPayment', transactionId: 'kept', reason: 'No.' })
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId: 'kept', success: true })
  await voiding
  await till.next('paymentVoided')
  assert.deepEqual(await again('kept'), [['paymentVoided', 'kept', 'No.']])

  await pay('given-up')
  await its.advance(91)
  await till.next('paymentTimeout')
  assert.deepEqual(await again('given-up'), [['paymentTimeout', 'given-up', 'TIMEOUT']])
  await terminal.settled()
  assert.equal(terminal.received.filter(({ action }) => action === 'payment').length, 2)
})

test('[I1.foreign.terminals] no message reaches a terminal or a payment of another group', async () => {
  const [terminal, theirs, abroad] = [await shop.connect(), await others.connect(), await others.till()]
  const transactionId = 'ours-alone'
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  const asks: [Wire, Record<string, unknown>][] = [
    [abroad, { action: 'payment', terminalId: device, paymentRequest: sale }],
    [abroad, { action: 'cancelPayment', transactionId }],
    [abroad, { action: 'voidPayment', transactionId }],
    [theirs, result(transactionId)],
    [theirs, { action: 'paymentStatus', transactionId, status: 'PENDING' }],
    [theirs, { action: 'voidResult', transactionId, success: true }],
  ]
  for (const [on, message] of asks) {
    const { action, error, code } = await on.ask(message)
    assert.deepEqual([action, error, code], ['error', 'Forbidden', 'GROUP_MISMATCH'], String(message['action']))
  }
  // There may be money behind an approval.
  const kept = (await attentionStore.list(p.kaha.db, 10)).filter(({ payment }) => payment === transactionId)
  assert.deepEqual(
    kept.map(({ cause }) => cause),
    ['unmatched_result'],
  )
  assert.deepEqual((await abroad.ask({ action: 'getTerminals' })).terminals.length, 1)
  assert.equal((await shop.read(transactionId)).json.status, 'PENDING')
  await terminal.settled()
  assert.deepEqual(
    terminal.received.filter(({ action }) => action === 'cancelPayment' || action === 'voidPayment'),
    [],
  )
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  for (const one of [terminal, theirs]) await one.close()
})

test('[D5.socket-errors.connection-not-found] a connection whose place another has taken is told so and changes nothing, also where its process has not heard of it yet', async () => {
  const [desk, terminal] = [await shop.till(), await shop.connect()]
  const transactionId = 'by-the-newer-one'
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  // What another process stores when it lets the same key in, before a word of it is here.
  const replace = 'update terminals.sockets set connection_id = gen_random_uuid() where group_id = $1 returning key_id'
  assert.equal((await p.kaha.db.run(statement('test.replace', replace), [shop.groupId])).length, 2)
  const before = (await shop.read(transactionId)).json
  const asks: [Wire, Record<string, unknown>][] = [
    [desk, { action: 'getTerminals' }],
    [desk, { action: 'payment', terminalId: device, paymentRequest: sale }],
    [desk, { action: 'cancelPayment', transactionId }],
    [desk, { action: 'voidPayment', transactionId }],
    [terminal, result(transactionId)],
    [terminal, result(transactionId, { status: 'SUCCESS' })],
    [terminal, { action: 'paymentStatus', transactionId, status: 'PENDING' }],
    [terminal, { action: 'voidResult', transactionId, success: true }],
  ]
  for (const [on, message] of asks) {
    const { action, error, message: says, code } = await on.ask(message)
    assert.deepEqual([action, error], ['error', 'Not Found'], String(message['action']))
    assert.deepEqual([says, code], ['Connection not found', 'NOT_FOUND'])
  }
  assert.deepEqual({ ...(await shop.read(transactionId)).json, timestamp: before.timestamp }, before)
  const newer = await shop.connect()
  await newer.next('paymentStatus')
  newer.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  await newer.close()
})

test('a connection that was given up for lost, with no other in its place, is refused nothing: it is sent away, and what it reports counts over its next line', async () => {
  const [desk, terminal] = [await shop.till(), await shop.connect()]
  const transactionId = 'voided-at-the-terminal'
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  // What another process stores that has not heard of this one for 15 s, before a word of it is here.
  const lose = 'delete from terminals.sockets where group_id = $1 returning key_id'
  assert.equal((await sql(p.kaha.db, lose, [shop.groupId])).length, 2)
  const voided = { action: 'voidResult', transactionId, success: true }
  terminal.send(voided)
  desk.send({ action: 'getTerminals' })
  for (const one of [terminal, desk]) {
    assert.equal((await one.next('forceDisconnect')).reason, 'other')
    await until('its end', () => one.closed === 4000)
    assert.deepEqual(
      one.received.filter(({ action }) => action === 'error'),
      [],
    )
  }
  assert.equal((await shop.read(transactionId)).json.status, 'COMPLETED')
  const back = await shop.connect()
  back.send(voided)
  await until('the void', async () => (await shop.read(transactionId)).json.status === 'VOIDED')
  await back.close()
})
