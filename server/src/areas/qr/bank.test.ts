import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { crc16 } from '@kaha/qrph'
import { bodyOf, jump, rowsOf } from '../../../test/conformance/shop.ts'
import { heldLock } from '../../../test/held-lock.ts'
import { aChallenge, card, paymentsRoom, processorThat } from '../../../test/payments-room.ts'
import { until } from '../../../test/until.ts'
import { createLog } from '../../kernel/log.ts'
import { createCodeBank } from './bank.ts'
import { createQrService } from './service.ts'
import { codeText, readText } from './text.ts'

// What a bank says that does not know whether it was heard: the same again.
const room = await paymentsRoom({ after })
const { db, clock } = room.kaha
const bank = { bic: 'TESTPHM1XXX', notifyFlags: '010' }
const payments = room.payments(processorThat())
const told: string[] = []
const counted: number[] = []
let announcedCount = 0
const codeBank = createCodeBank({
  db,
  clock,
  bank,
  checkout: payments.codes,
  log: createLog('silent'),
  figures: { unmatched: () => void counted.push(1), open: async () => 0 } as never,
  announce: async (_tx, code) => void told.push(code.state),
  announced: () => void (announcedCount += 1),
})

/** What becomes of the code, or why the bank is refused. */
async function answerTo(text: string, event: 'paid' | 'declined' | 'expires', bankReference: string): Promise<string> {
  const answer = await codeBank.answer(room.seed.partner.id, { text, event, bankReference })
  return 'refusal' in answer ? answer.refusal.why : answer.code.state
}

const ownCode = async (by = clock): Promise<string> => {
  const branch = {
    partner_id: room.seed.partner.id,
    merchant_id: room.merchant.id,
    branch_id: room.branch.id,
    merchant_name: room.merchant.name,
    reference_number: 'KAPE1',
  }
  const accounts = { branchByCode: async () => branch }
  const qr = createQrService({ db, clock: by, accounts: accounts as never, bank, isTold: true })
  const asked = {
    activationCode: 'KAPE',
    currency: 'PHP',
    amount: '98.00',
    merchantReferenceNumber: `R-${Math.random()}`,
  }
  return (await qr.create({} as never, asked, crypto.randomUUID())).text
}
const codeOfCheckout = async (): Promise<string> => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 2 }), 201)
  const { id } = await room.intent({ payment_link_id: link.id })
  const { latestAttempt } = await payments.codes.make(await room.read(id), null)
  return latestAttempt?.code?.text ?? ''
}
const unmatched = () => rowsOf<{ bank_reference: string }>(room, 'select bank_reference from qr.unmatched_payments')

const kinds = [
  ['of the QR service', ownCode, 'select from qr.codes where text = $1 for update'],
  [
    'of a checkout',
    codeOfCheckout,
    'select from payments.intents where id = (select intent_id from payments.attempts where code_text = $1) for update',
  ],
] as const

for (const [whose, made] of kinds)
  test(`a payment of a code ${whose} that the bank tells again is that payment, and money without an owner that it tells again is told of once`, async () => {
    await rowsOf(room, 'delete from qr.unmatched_payments')
    for (const list of [told, counted]) list.length = 0
    const text = await made()
    const says = (bankReference: string) => answerTo(text, 'paid', bankReference)
    assert.deepEqual(await Promise.all([says('1'), says('1'), says('1')]), ['PAID', 'PAID', 'PAID'])
    assert.equal(await says('1'), 'PAID')
    assert.deepEqual([await unmatched(), counted.length], [[], 0])
    assert.ok(told.length <= 1)

    assert.deepEqual(await Promise.all([says('2'), says('2')]), ['final', 'final'])
    assert.equal(await says('2'), 'final')
    assert.deepEqual([await unmatched(), counted.length], [[{ bank_reference: '2' }], 1])
  })

for (const [whose, made] of kinds)
  test(`E6.life.other-amount: a code ${whose} is paid by its exact amount, no centavo more and none less, and to the bank of another partner it is none`, async () => {
    const { id: partnerId } = room.seed.partner
    const text = await made()
    const says = async (by: string, amount: bigint) => {
      const answer = await codeBank.answer(by, { text, event: 'paid', bankReference: text, amount })
      return 'refusal' in answer ? answer.refusal.why : answer.code.state
    }
    const reading = await codeBank.read(partnerId, text)
    assert.ok('made' in reading && reading.made !== undefined)
    const { amount } = reading.made
    for (const other of [amount + 1n, amount - 1n]) assert.equal(await says(partnerId, other), 'amount')
    const stranger = crypto.randomUUID()
    assert.equal(await says(stranger, amount), 'unknown')
    assert.equal((await codeBank.read(stranger, text)).refusal?.why, 'unknown')
    assert.equal(await says(partnerId, amount), 'PAID')
  })

for (const [whose, made, lock] of kinds)
  test(`a code ${whose} whose time ends while its payment waits for another answer is not paid`, async () => {
    const text = await made()
    const release = await heldLock(db, lock.replace('$1', `'${text}'`))
    const answering = codeBank.answer(room.seed.partner.id, { text, event: 'paid', bankReference: text })
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('that it waits', async () => (await rowsOf(room, waits)).length > 0)
    await jump(room, 16 * 60_000)
    await release()
    const answer = await answering
    assert.equal('refusal' in answer && answer.refusal.why, 'final')
  })

for (const [whose, made] of kinds)
  test(`a text that names a code ${whose} and another merchant than that of the code is of no code`, async () => {
    const text = await made()
    const named = readText(bank, text)
    assert.ok(named.is === 'ours')
    const rest = { merchantName: room.merchant.name, branchReference: 'KAPE1', amount: 9_800n, currency: 'PHP' }
    const forged = codeText(bank, { id: named.id, merchantId: crypto.randomUUID(), ...rest })
    const says = (of: string) => codeBank.answer(room.seed.partner.id, { text: of, event: 'paid', bankReference: '3' })
    for (const answer of [await says(forged), await codeBank.read(null, forged)])
      assert.equal('refusal' in answer && answer.refusal?.why, 'unknown')
    assert.ok('code' in (await says(text)))
  })

for (const [whose, made] of kinds)
  test(`S7.bank.expire: the time of a code ${whose} that its bank ends before it is over ends then, for whoever reads it`, async () => {
    const text = await made()
    const ended = await codeBank.answer(room.seed.partner.id, { text, event: 'expires', bankReference: '4' })
    assert.ok('code' in ended)
    const reading = await codeBank.read(null, text)
    assert.ok('made' in reading && reading.made !== undefined)
    const { state, stateAt, expiresAt } = reading.made
    assert.deepEqual([state, expiresAt], ['EXPIRED', stateAt])
    assert.deepEqual([ended.code.state, ended.code.expiresAt], ['EXPIRED', stateAt])
  })

for (const [whose, made] of kinds)
  test(`a bank app is told before it pays that a code ${whose} whose text was changed to another amount cannot be paid`, async () => {
    const text = await made()
    const named = readText(bank, text)
    assert.ok(named.is === 'ours')
    const { id, merchantId } = named
    const rest = { merchantName: room.merchant.name, branchReference: 'KAPE1', currency: 'PHP' }
    const reading = await codeBank.read(null, codeText(bank, { id, merchantId, ...rest, amount: 100n }))
    assert.deepEqual([reading.refusal?.why, 'made' in reading && reading.made?.state], ['amount', 'PENDING'])
    assert.equal((await codeBank.read(null, text)).refusal, undefined)
  })

test('a text that names an attempt by card is of no code: no bank ends its challenge', async () => {
  const { id } = await room.intent()
  await room.payments(processorThat({ verify: async () => aChallenge })).confirm(await room.read(id), card, null)
  const { amount, latestAttempt } = await room.read(id)
  const rest = { merchantName: room.merchant.name, branchReference: 'KAPE1', amount, currency: 'PHP' }
  const text = codeText(bank, { id: latestAttempt?.id ?? '', merchantId: room.merchant.id, ...rest })
  assert.equal((await codeBank.read(null, text)).refusal?.why, 'unknown')
  for (const event of ['paid', 'declined', 'expires'] as const)
    assert.equal(await answerTo(text, event, '5'), 'unknown')
  assert.equal((await room.read(id)).shown.status, 'REQUIRES_ACTION')
})

for (const [whose, made] of kinds)
  test(`E6.life.other-amount: one decimal of an amount is tenths: a text of a code ${whose} changed to 980.0 does not pay 98.00`, async () => {
    const changedTo = (text: string, tag: string) => {
      const body = text.slice(0, -4).replace('540598.00', tag)
      return body + crc16(body)
    }
    const text = await made()
    assert.equal((await codeBank.read(null, changedTo(text, '5405980.0'))).refusal?.why, 'amount')
    assert.equal(await answerTo(changedTo(text, '5405980.0'), 'paid', '6'), 'amount')
    assert.equal(await answerTo(changedTo(text, '540498.0'), 'paid', '6'), 'PAID')
  })

for (const [whose, made] of kinds)
  test(`money for a code ${whose} that its bank declined is nobody's, also under the name that the bank declined it by`, async () => {
    await rowsOf(room, 'delete from qr.unmatched_payments')
    const text = await made()
    assert.equal(await answerTo(text, 'declined', '7'), 'DECLINED')
    assert.equal(await answerTo(text, 'paid', '7'), 'final')
    assert.deepEqual(await unmatched(), [{ bank_reference: '7' }])
  })

for (const [whose, made] of kinds)
  test(`a bank that declines a code ${whose} that it has paid is refused, also by the name of that payment`, async () => {
    const text = await made()
    announcedCount = 0
    assert.equal(await answerTo(text, 'paid', '8'), 'PAID')
    for (const event of ['declined', 'expires'] as const) assert.equal(await answerTo(text, event, '8'), 'final')
    // Those who send are woken by what is announced, and by nothing else.
    assert.equal(announcedCount, 1)
  })

test('a form that asked for a code before makes no second one when that code is over', async () => {
  const { id } = await room.intent()
  const { latestAttempt } = await payments.codes.make(await room.read(id), null, 0)
  const text = latestAttempt?.code?.text ?? ''
  assert.equal(await answerTo(text, 'declined', '9'), 'DECLINED')
  await assert.rejects(payments.codes.make(await room.read(id), null, 0), { code: 'INTENT_PROCESSING' })
  assert.equal((await room.attempts(id)).length, 1)
})

for (const event of ['paid', 'declined', 'expires'] as const)
  test(`a code that the clock of another process made a little later than it is here ends no sooner than it began: ${event}`, async () => {
    const text = await ownCode({ ...clock, now: () => new Date(clock.now().getTime() + 1_500) })
    const ended = await codeBank.answer(room.seed.partner.id, { text, event, bankReference: '5' })
    assert.ok('code' in ended)
    const { id, stateAt, expiresAt } = ended.code
    const [row] = await rowsOf<{ created_at: Date; state_at: Date; expires_at: Date; captured_at: Date | null }>(
      room,
      `select c.created_at, c.state_at, c.expires_at, t.captured_at
         from qr.codes c join payments.transactions t using (id) where c.id = $1`,
      [id],
    )
    assert.ok(row !== undefined)
    const began = row.created_at
    assert.deepEqual(row, {
      created_at: began,
      state_at: began,
      expires_at: event === 'expires' ? began : new Date(began.getTime() + 15 * 60_000),
      captured_at: event === 'paid' ? began : null,
    })
    assert.deepEqual([stateAt, expiresAt], [row.state_at, row.expires_at])
  })
