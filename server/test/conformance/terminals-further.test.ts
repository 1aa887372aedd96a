import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { terminalFrameBytesMax } from '@kaha/contract'
import { attentionStore } from '../../src/commands/store-attention.ts'
import { attentionOf } from '../attention.ts'
import { cards, platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { approval, result, sale, shopOf, type Wire } from '../till.ts'
import { until } from '../until.ts'

// What terminals say of a payment beside the word that counts.

const p = await platform({ after })
const shop = shopOf(p)
const others = shopOf(p, p.seed.merchants[1])
after(() => shop[Symbol.asyncDispose]())
after(() => others[Symbol.asyncDispose]())

/** A payment that has arrived at the first terminal. */
async function begun() {
  const terminal = await shop.connect()
  const transactionId = `f-${randomUUID()}`
  const paying = shop.pay({ transactionId })
  await terminal.next('payment')
  return { transactionId, paying, terminal }
}

test('[D5.result.foreign] each result from another terminal is kept once, also after a word that was none', async () => {
  const { transactionId, paying, terminal } = await begun()
  const other = await shop.connect(shop.second)
  const said = [{ status: 'PENDING' }, approval, { ...approval, authorizationCode: 'Z9Y8X7' }]
  for (const one of [...said, ...said]) await other.ask(result(transactionId, one))
  const open = await attentionStore.list(p.kaha.db, 100)
  assert.deepEqual(
    open.map(({ cause, payment }) => [cause, payment]),
    [['foreign_result', transactionId]],
  )
  const told = open[0]?.detail.match(/"PENDING"|A1B2C3|Z9Y8X7/g)
  assert.deepEqual(told, ['"PENDING"', 'A1B2C3', 'Z9Y8X7'])
  // Of both terminals, whose journals a person must look at.
  const both = `${shop.first.device_id}: ${shop.second.device_id} says {"status":"PENDING"}`
  assert.ok(open[0]?.detail.startsWith(both), open[0]?.detail)
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  await Promise.all([terminal.close(), other.close()])
})

test('[D5.result.malformed, D5.result.foreign] of what is no result a person is told what leads to the money, and no card number; from another terminal it is Forbidden', async () => {
  const { transactionId, paying, terminal } = await begun()
  const other = await shop.connect(shop.second)
  const nonsense = {
    ...approval,
    authorizationCode: 123_456,
    errorCode: cards.approved,
    x: 'a'.repeat(9),
  }
  const own = await terminal.ask(result(transactionId, nonsense))
  assert.deepEqual([own.error, own.code], ['Bad Request', 'INVALID_REQUEST'])
  const foreign = await other.ask(result(transactionId, nonsense))
  assert.deepEqual([foreign.error, foreign.code], ['Forbidden', 'GROUP_MISMATCH'])
  const told = (await attentionStore.list(p.kaha.db, 100)).filter(({ payment }) => payment === transactionId)
  assert.deepEqual(
    told.map(({ cause }) => cause),
    ['malformed_result', 'foreign_result'],
  )
  for (const { detail } of told) {
    assert.match(
      detail,
      /"status":"SUCCESS","amount":"150.00","currency":"PHP","authorizationCode":"123456","errorCode":"\[removed\]"/,
    )
    assert.ok(!detail.includes('aaa'))
  }
  assert.ok(told[1]?.detail.includes(`${shop.second.device_id} says `))
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  await Promise.all([terminal.close(), other.close()])
})

test('[D5.result.malformed, D5.socket.frame] what was in a frame that nobody could read is for a person to find out, where a payment is open at the terminal', async () => {
  const frames = [
    ['{"frame":"more than 64 KiB"}', 1009, (to: Wire) => to.send(' '.repeat(terminalFrameBytesMax + 1))],
    ['{"frame":"more than 256 fragments"}', 1008, (to: Wire) => to.sendIn(257, '{}')],
    ['{"frame":"not UTF-8"}', 1007, (to: Wire) => to.socket.send(Buffer.from([0x7b, 0xff, 0x7d]), { binary: false })],
  ] as const
  for (const [detail, code, say] of frames) {
    const { transactionId, paying, terminal } = await begun()
    const alarms = async () =>
      (await attentionStore.list(p.kaha.db, 100)).filter(({ payment }) => payment === transactionId)
    say(terminal)
    await until('the close', () => terminal.closed !== null)
    assert.equal(terminal.closed, code)
    const back = await shop.connect()
    say(back)
    await until('an alarm', async () => (await alarms()).length > 0)
    await until('the close', () => back.closed !== null)
    const third = await shop.connect()
    await third.settled()
    third.send(result(transactionId))
    assert.equal((await paying).json.status, 'SUCCESS')
    assert.deepEqual(
      (await alarms()).map((one) => [one.cause, one.detail.endsWith(detail)]),
      [['malformed_result', true]],
    )
    await third.settled()
    say(third)
    await until('the close', () => third.closed !== null)
    assert.equal((await alarms()).length, 1)
  }
})

test('what a terminal says on a connection whose place another has taken is for nobody to find out', async () => {
  const { transactionId, paying, terminal } = await begun()
  const other = await shop.connect(shop.second)
  // What another process stores that lets the same two in.
  await sql(p.kaha.db, 'update terminals.sockets set connection_id = gen_random_uuid() where terminal_id is not null')
  terminal.socket.send('[]')
  assert.equal((await terminal.next('error')).code, 'INVALID_REQUEST')
  const nonsense = result(transactionId, { ...approval, authorizationCode: 123_456 })
  assert.equal((await terminal.ask(nonsense)).code, 'INVALID_REQUEST')
  for (const said of [nonsense, result(transactionId)]) assert.equal((await other.ask(said)).action, 'error')
  const told = (await attentionStore.list(p.kaha.db, 100)).filter(({ payment }) => payment === transactionId)
  assert.deepEqual(told, [])
  const newer = await shop.connect()
  await newer.next('paymentStatus')
  newer.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  for (const one of [terminal, other]) one.drop()
  await newer.close()
})

test('[D5.result.malformed, D5.socket.frame] a frame that is no message, or a result that names no payment, is for a person to find out, where a payment is open at the terminal', async () => {
  const frames = [
    ['{"frame":"no JSON object"}', '{"action":"paymentResponse","transactionId":'],
    ['{"frame":"no JSON object"}', '[]'],
    ['{"frame":"no JSON object"}', Buffer.from(JSON.stringify(result('binary')))],
    ['{"frame":"transactionId: is missing."}', JSON.stringify({ ...result(''), transactionId: undefined })],
  ] as const
  for (const [detail, frame] of frames) {
    const { transactionId, paying, terminal } = await begun()
    const alarms = async () =>
      (await attentionStore.list(p.kaha.db, 100)).filter(({ payment }) => payment === transactionId)
    terminal.socket.send(frame)
    assert.equal((await terminal.next('error')).code, 'INVALID_REQUEST')
    const words = async () => (await alarms()).map((one) => [one.cause, one.detail.replace(/^\S+ /, '')])
    assert.deepEqual(await words(), [['malformed_result', detail]])
    terminal.socket.send(frame)
    await terminal.next('error')
    terminal.send(result(transactionId))
    assert.equal((await paying).json.status, 'SUCCESS')
    terminal.socket.send(frame)
    await terminal.next('error')
    assert.deepEqual(await words(), [['malformed_result', detail]])
  }
})

test('[D5.message.to-terminal.payment-status] what ended without a result is asked about whenever the terminal is back, until it has said that it was paid', async () => {
  const { transactionId, paying, terminal } = await begun()
  await p.advance(91)
  assert.equal((await paying).json.error.code, 'TIMEOUT')
  await p.advance(24 * 3_600)
  terminal.drop()
  const back = async () => {
    const one = await shop.connect()
    await one.settled()
    const about = one.received.filter((message) => message.transactionId === transactionId)
    return { one, actions: about.map(({ action }) => action) }
  }
  const first = await back()
  assert.deepEqual(first.actions, ['paymentStatus'])
  first.one.drop()
  const second = await back()
  assert.deepEqual(second.actions, ['paymentStatus'])
  second.one.send(result(transactionId))
  await second.one.next('voidPayment')
  second.one.drop()
  const third = await back()
  assert.deepEqual(third.actions, ['voidPayment'])
  third.one.send({ action: 'voidResult', transactionId, success: true })
  await third.one.settled()
  third.one.drop()
  const fourth = await back()
  assert.deepEqual(fourth.actions, [])
  await fourth.one.close()
})

test('[D5.machine.ended.other, D5.machine.final.result, D5.machine.any.same-result] a further result is logged with what it said and how the payment stands, and nothing secret of it', async () => {
  const { transactionId, paying, terminal } = await begun()
  terminal.send(result(transactionId, { status: 'PENDING' }))
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  const further = () => p.logged.filter((line) => line.includes('further result')).map((line) => JSON.parse(line))
  await terminal.settled()
  assert.deepEqual(further(), [])
  for (const status of ['SUCCESS', 'FAILED', 'CANCELLED']) terminal.send(result(transactionId, { ...approval, status }))
  await terminal.settled()
  assert.deepEqual(
    further().map(({ state, said }) => [state, said]),
    ['SUCCESS', 'FAILED', 'CANCELLED'].map((said) => ['COMPLETED', said]),
  )
  assert.ok(!p.logged.join('').includes(approval.authorizationCode))
  await terminal.close()
})

test('[D5.result.further-approval, D5.machine.final.result, D5.machine.any.same-result] another approval of a payment that was completed changes nothing, and a person is told of it; the same again is no news', async () => {
  const { transactionId, paying, terminal } = await begun()
  const told = async () => {
    await terminal.settled()
    const open = await attentionStore.list(p.kaha.db, 100)
    return open.flatMap(({ cause, payment, detail }) => (payment === transactionId ? [{ cause, detail }] : []))
  }
  terminal.send(result(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  terminal.send(result(transactionId))
  for (const status of ['FAILED', 'CANCELLED']) terminal.send(result(transactionId, { ...approval, status }))
  assert.deepEqual(await told(), [])
  const standing = async () => ({ ...(await shop.read(transactionId)).json, timestamp: null })
  const completed = await standing()
  for (const other of [{ authorizationCode: 'SECOND' }, { amount: '1500.00' }, { currency: 'USD' }])
    terminal.send(result(transactionId, { ...approval, ...other }))
  const [first, ...more] = await told()
  assert.deepEqual([first?.cause, more], ['further_approval', []])
  for (const words of ['SECOND', '1500.00', 'USD']) assert.ok(first?.detail.includes(words), first?.detail)
  assert.deepEqual(await standing(), completed)

  const voiding = shop.voids(transactionId)
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId, success: true })
  assert.equal((await voiding).json.success, true)
  terminal.send(result(transactionId))
  assert.equal((await told())[0]?.detail, first?.detail)
  terminal.send(result(transactionId, { ...approval, authorizationCode: 'THIRD' }))
  assert.ok((await told())[0]?.detail.includes('THIRD'))
  assert.equal((await shop.read(transactionId)).json.status, 'VOIDED')
  await terminal.close()
})

test('[D5.result.further-approval, D5.machine.final.result] so is another approval of a payment whose approval was voided as it came, and that one again is no news', async () => {
  for (const [voided, other] of [
    [[{ status: 'FAILED' }, {}], { authorizationCode: 'SECOND' }],
    [[{ status: 'FAILED' }, { amount: '151.00' }], { amount: '150.00' }],
    [[{ amount: '150.01' }], { authorizationCode: 'SECOND' }],
    [[{ amount: '150.01' }], { amount: '150.00' }],
    [[{ amount: '150.01' }], { amount: '9000.00' }],
  ] as const) {
    const { transactionId, paying, terminal } = await begun()
    const says = (more: object) => terminal.send(result(transactionId, { ...approval, ...more }))
    const told = async () => {
      await terminal.settled()
      const open = await attentionStore.list(p.kaha.db, 100)
      return open.flatMap(({ cause, payment, detail }) => (payment === transactionId ? [{ cause, detail }] : []))
    }
    for (const one of voided) says(one)
    await terminal.next('voidPayment')
    assert.equal((await paying).json.status, 'FAILED')
    terminal.send({ action: 'voidResult', transactionId, success: true })
    for (const one of [...voided, { status: 'CANCELLED' }]) says(one)
    assert.deepEqual(await told(), [])
    says(other)
    const [first, ...more] = await told()
    assert.deepEqual([first?.cause, more], ['further_approval', []])
    assert.ok(first?.detail.includes(JSON.stringify(other).slice(1, -1)), first?.detail)
    const shown = await shop.read(transactionId)
    assert.equal(shown.json.status, 'VOIDED')
    assert.ok(!shown.text.includes(approval.authorizationCode), shown.text)
    await terminal.close()
  }
})

test('[D5.result.amount-mismatch] the receipt of an approval that is voided for its amount is given to nobody', async (t) => {
  const url = p.receiver.url
  const events = ['payment.failed']
  const { json } = await shop.ask({ method: 'POST', path: '/v1/webhooks/endpoints', body: { url, events } })
  t.after(() => shop.ask({ method: 'DELETE', path: `/v1/webhooks/endpoints/${json.endpointId}` }))
  const { transactionId, paying, terminal } = await begun()
  terminal.send(result(transactionId, { ...approval, amount: '150.01', receiptData: 'APPROVED 150.01' }))
  const answer = await paying
  assert.deepEqual([answer.status, answer.json.errorCode], [200, 'AMOUNT_MISMATCH'])
  await p.idle()
  const sent = p.receiver.received.map(({ body }) => body).filter((body) => body.includes(transactionId))
  assert.equal(sent.length, 1)
  for (const told of [answer.text, (await shop.read(transactionId)).text, ...sent])
    assert.ok(!told.includes('APPROVED') && told.includes('AMOUNT_MISMATCH'), told)
  terminal.send({ action: 'voidResult', transactionId, success: true })
  await terminal.settled()
  await terminal.close()
})

test('an approval of a payment that this process began, and that is no longer kept, is brought before a person all the same', async () => {
  const terminal = await shop.connect()
  const transactionId = `f-${randomUUID()}`
  const till = await shop.till()
  await till.ask({ action: 'payment', terminalId: shop.first.device_id, paymentRequest: { ...sale, transactionId } })
  await terminal.next('payment')
  // As after another process has dropped it, or from a backup that has not got it.
  await sql(
    p.kaha.db,
    `delete from terminals.used_signatures where transaction_id in (select id from terminals.transactions where transaction_id = '${transactionId}')`,
  )
  await sql(p.kaha.db, `delete from terminals.transactions where transaction_id = '${transactionId}'`)
  const waiting = async () =>
    (await attentionStore.list(p.kaha.db, 200)).filter(({ payment }) => payment === transactionId)
  for (const status of ['SUCCESS', 'FAILED']) {
    const refused = await terminal.ask(result(transactionId, { ...approval, status }))
    assert.deepEqual([refused.error, refused.code], ['Not Found', 'TRANSACTION_NOT_FOUND'])
  }
  const [one, ...more] = await waiting()
  assert.deepEqual([one?.cause, more.length], ['unmatched_result', 0])
  assert.ok(await attentionStore.settle(p.kaha.db, one?.id ?? '', 'Paid back.'))
  await Promise.all([terminal.close(), till.close()])
})

test('[D5.machine.pending.cancel] a cancel is said again every 30 seconds until the payment ends: a word to a terminal may be lost', async () => {
  const { transactionId, paying, terminal } = await begun()
  const cancels = async () => {
    await terminal.settled()
    return terminal.received.filter((one) => one.action === 'cancelPayment' && one.transactionId === transactionId)
      .length
  }
  assert.equal((await shop.cancel(transactionId)).status, 200)
  assert.equal(await cancels(), 1)
  await p.advance(31)
  assert.equal(await cancels(), 2)
  terminal.send(result(transactionId, { status: 'CANCELLED' }))
  assert.equal((await paying).json.status, 'CANCELLED')
  await p.advance(31)
  assert.equal(await cancels(), 2)
  await terminal.close()
})

test('an approval of a payment that the group does not have, or no longer, is brought before a person, once for each and so many at most', async () => {
  const terminal = await shop.connect()
  const unmatched = async () =>
    (await attentionStore.list(p.kaha.db, 200)).filter(({ cause }) => cause === 'unmatched_result')
  const tellings = () => p.logged.filter((line) => line.includes('"cause":"unmatched_result"')).length
  const toldBefore = tellings()
  for (const status of ['FAILED', 'CANCELLED', 'PENDING', 'SUCCESS', 'SUCCESS']) {
    const refused = await terminal.ask(result('nobody-s', { ...approval, status }))
    assert.deepEqual([refused.error, refused.code], ['Not Found', 'TRANSACTION_NOT_FOUND'])
    assert.equal((await unmatched()).length, status === 'SUCCESS' ? 1 : 0)
  }
  const [one] = await unmatched()
  assert.deepEqual(
    [one?.payment, one?.amount, one?.currency, one?.merchant_id],
    ['nobody-s', 15_000n, 'PHP', p.merchant.id],
  )
  assert.ok(one?.detail.startsWith(`${shop.first.device_id} says {"status":"SUCCESS","amount":"150.00"`), one?.detail)
  await terminal.ask(
    result('nobody-s', { ...approval, authorizationCode: 'Z9Y8X7', receiptData: `KAPE\n${cards.approved}\nCARD` }),
  )
  assert.match((await unmatched())[0]?.detail ?? '', /A1B2C3.*Z9Y8X7.*KAPE.n\[removed\].nCARD/)
  assert.equal(tellings() - toldBefore, 1)
  assert.ok(await attentionStore.settle(p.kaha.db, one?.id ?? '', 'Paid back.'))
  assert.deepEqual(await unmatched(), [])

  for (let times = 0; times < 102; times += 1)
    await terminal.ask(result(`made-up-${times}`, { ...approval, currency: times === 0 ? 'XYZ' : 'PHP' }))
  const open = await unmatched()
  assert.deepEqual([open.length, open[0]?.amount, open[1]?.amount], [100, null, 15_000n])
  // Those of another group count apart.
  const abroad = await others.connect()
  await abroad.ask(result('of-another-group'))
  const all = await unmatched()
  assert.deepEqual([all.length, all.at(-1)?.payment], [101, 'of-another-group'])
  await Promise.all([terminal.close(), abroad.close()])
})

test('a void that was refused and is confirmed after all is told to whoever sees to it, once', async () => {
  const { transactionId, paying, terminal } = await begun()
  terminal.send(result(transactionId, { ...approval, amount: '9.00' }))
  await paying
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId, success: false, error: 'HOST_BUSY' })
  for (let times = 0; times < 2; times += 1) terminal.send({ action: 'voidResult', transactionId, success: true })
  await terminal.settled()
  assert.match(
    await attentionOf(p.kaha.db, transactionId),
    /^void_refused: .*HOST_BUSY (?:(?!since).)*confirmed the void since: give nothing back(?:(?!since).)*$/,
  )
  await terminal.close()
})
