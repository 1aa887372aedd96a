import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { crc16 } from '@kaha/qrph'
import { sql } from '../sql.ts'
import { platform } from '../platform.ts'
import { assertRefused, type Answer } from './call.ts'
import { everybody } from './people.ts'
import { midnightAfter } from './operations.ts'
import { bankOf, newReference, qrAccount } from './qr-account.ts'
import { transactionsOf } from './reports.ts'

// Area E: what becomes of a code, and what reporting says of it.

const p = await platform({ after })
const people = await everybody(p)
const own = qrAccount(p)
const bank = bankOf(p)
const reports = transactionsOf(p)

const refused = (answer: Answer, code: string, rule: string): void => {
  assertRefused('/sandbox/', answer, code === 'NOT_FOUND' ? 404 : 422, code)
  assert.equal(answer.json.error.details.rule, rule)
}
const statusOf = async (id: string): Promise<string> => (await own.get(id)).plain.status
const transaction = (id: string) => p.sdk.reports.retrieveTransaction(id).then(({ data }) => data)
const unmatched = async (id: string) =>
  sql<{ amount: bigint; code_state: string }>(
    p.kaha.db,
    'select amount, code_state from qr.unmatched_payments where code_id = $1 order by id',
    [id],
  )
const counted = async (): Promise<number> => {
  const { text } = await (await import('./call.ts')).call(p.url, { path: '/metrics' })
  return Number(/^kaha_qr_unmatched_payments_total (\d+)$/m.exec(text)?.[1])
}

test('[E6.life.paid, S7.bank.pay, B3.status.one-per-code, B3.status.pending.qr, B3.status.captured.qr] a code that the bank pays is PAID, and its transaction CAPTURED', async () => {
  const reference = newReference()
  const { id, qrText } = await own.made({ amount: '1458.31', merchantReferenceNumber: reference })
  const before = await transaction(id)
  assert.deepEqual(
    [before.status, before.payment_method, before.amount, before.settlement_status],
    ['PENDING', 'QR_PH', 145_831, 'NOT_APPLICABLE'],
  )
  const answer = await bank({ qr_text: qrText, outcome: 'SUCCESS' })
  assert.equal(answer.status, 200, answer.text)
  const { bank_reference: bankReference, at, ...shown } = answer.json
  assert.deepEqual(shown, {
    id,
    status: 'PAID',
    amount: 145_831,
    currency: 'PHP',
    merchant_name: p.merchant.name,
    merchant_city: 'MANILA',
    merchant_reference_number: reference,
  })
  const { plain } = await own.get(id)
  assert.deepEqual([plain.status, plain.paidAt, plain.declineReason], ['PAID', at, undefined])
  const paid = await transaction(id)
  assert.deepEqual(
    [paid.status, paid.updated_at, paid.reference_number, paid.settlement_status],
    ['CAPTURED', at, bankReference, 'UNSETTLED'],
  )
  assert.equal(paid.amount_details.amount_received, 145_831)
  assert.deepEqual(
    paid.events.map(({ event_type: type }) => type),
    ['CREATED', 'CAPTURED'],
  )
  assert.equal(paid.merchant_details.branch_id, p.branch.id)
  assert.equal(paid.activation_code, p.branch.activation_code)
  assert.equal((await reports.listed(`payment_method=QR_PH`)).filter((row) => row.id === id).length, 1)
})

test('[E6.life.declined, S7.bank.decline, B3.status.declined.qr] a code that the bank declines is DECLINED, with the reason, and so is its transaction', async () => {
  const { id, qrText } = await own.made()
  assert.equal((await bank({ qr_text: qrText, outcome: 'DECLINED' })).json.status, 'DECLINED')
  const { plain } = await own.get(id)
  assert.deepEqual([plain.status, plain.declineReason, plain.paidAt], ['DECLINED', 'DECLINED_BY_BANK', undefined])
  const { status, events, amount_details: amounts, settlement_status: settlement } = await transaction(id)
  assert.deepEqual([status, amounts.amount_received, settlement], ['DECLINED', 0, 'NOT_APPLICABLE'])
  assert.deepEqual(
    events.map(({ event_type: type }) => type),
    ['CREATED', 'DECLINED'],
  )
})

test('[E6.life.expired, X0.clocks.business.codes, B3.status.expired.qr] a code is PENDING until expiresAt and EXPIRED from then on, and nobody is notified', async () => {
  await p.sdk.webhooks.createEndpoint({ url: p.receiver.url, enabled_events: ['payment.expired', 'payment.succeeded'] })
  const { id, qrText, expiresAt } = await own.made()
  await p.advance(840)
  assert.equal(await statusOf(id), 'PENDING')
  await p.kaha.sandboxClock.advance(new Date(expiresAt))
  const { plain } = await own.get(id)
  assert.deepEqual([plain.status, plain.expiresAt], ['EXPIRED', expiresAt])
  const { status, updated_at: updatedAt, events } = await transaction(id)
  assert.deepEqual(
    [status, updatedAt, events.map(({ event_type: type }) => type)],
    ['EXPIRED', expiresAt, ['CREATED', 'EXPIRED']],
  )
  await p.idle()
  assert.equal(p.receiver.received.length, 0)
  refused(await bank({ qr_text: qrText, outcome: 'SUCCESS' }), 'CODE_FINAL', 'expired')
})

test('[E6.life.expired] an expiry is told before anybody has stored it, by the code and by reporting, and a payment comes too late', async (t) => {
  const idle = await platform(t, { settings: { KAHA_ROLES: 'api,gateway' } })
  const account = qrAccount(idle)
  const { id, qrText, expiresAt } = await account.made()
  // Nobody sweeps here: the clock is moved behind the platform's back.
  await sql(idle.kaha.db, 'select kernel.move_clock_to($1)', [expiresAt])
  await idle.kaha.clock.refresh(idle.kaha.db)
  const [row] = await sql<{ state: string }>(idle.kaha.db, 'select state from qr.codes where id = $1', [id])
  assert.equal(row?.state, 'PENDING')
  assert.equal((await account.get(id)).plain.status, 'EXPIRED')
  const { data } = await idle.sdk.reports.retrieveTransaction(id)
  assert.deepEqual([data.status, data.updated_at, data.events.at(-1)?.event_type], ['EXPIRED', expiresAt, 'EXPIRED'])
  const { data: rows } = await idle.sdk.reports.listTransactions({ status: ['EXPIRED'] })
  assert.deepEqual(
    rows.map((one) => one.id),
    [id],
  )
  refused(await bankOf(idle)({ qr_text: qrText, outcome: 'SUCCESS' }), 'CODE_FINAL', 'expired')
})

test('S7.bank.expire: the bank app can let the time of a code run out', async () => {
  const { id, qrText, expiresAt } = await own.made()
  const { json } = await bank({ qr_text: qrText, outcome: 'EXPIRED' })
  assert.equal(json.status, 'EXPIRED')
  const { plain } = await own.get(id)
  assert.deepEqual([plain.status, plain.expiresAt], ['EXPIRED', json.at])
  assert.ok(plain.expiresAt < expiresAt)
  assert.equal((await transaction(id)).status, 'EXPIRED')
})

test('[E6.life.final, S7.bank.refused] a code has one outcome: whatever comes after it is refused with the reason', async () => {
  for (const [first, state] of [
    ['SUCCESS', 'PAID'],
    ['DECLINED', 'DECLINED'],
    ['EXPIRED', 'EXPIRED'],
  ] as const) {
    const { id, qrText } = await own.made()
    await bank({ qr_text: qrText, outcome: first })
    const before = (await own.get(id)).plain
    for (const outcome of ['SUCCESS', 'DECLINED', 'EXPIRED'])
      refused(await bank({ qr_text: qrText, outcome }), 'CODE_FINAL', state.toLowerCase())
    assert.deepEqual((await own.get(id)).plain, before)
  }
})

test('[E6.life.unmatched] money for a code that is final is kept as unmatched, counted and told in the log, and the code stays as it is', async () => {
  for (const [first, state] of [
    ['SUCCESS', 'PAID'],
    ['DECLINED', 'DECLINED'],
    ['EXPIRED', 'EXPIRED'],
  ] as const) {
    const { id, qrText } = await own.made({ amount: '12.34' })
    await bank({ qr_text: qrText, outcome: first })
    const before = await counted()
    await bank({ qr_text: qrText, outcome: 'SUCCESS' })
    await bank({ qr_text: qrText, outcome: 'SUCCESS', amount: 5 })
    await bank({ qr_text: qrText, outcome: 'DECLINED' })
    const money = (await unmatched(id)).map(({ amount, code_state: of }) => [amount, of])
    assert.deepEqual(money, [
      [1_234n, state],
      [5n, state],
    ])
    assert.equal(await counted(), before + 2)
    assert.equal(p.logged.filter((line) => line.includes(id) && line.includes('"level":50')).length, 2)
    assert.equal(await statusOf(id), state)
    const { amount_details: amounts } = await transaction(id)
    assert.equal(amounts.amount_received, first === 'SUCCESS' ? 1_234 : 0)
  }
})

test('[E6.life.other-amount] a text that was stripped of its amount pays no code, open or final, and is no money of which nobody knows whose it is', async () => {
  const { id, qrText } = await own.made({ amount: '98.00' })
  const body = qrText.slice(0, -4).replace('540598.00', '')
  const stripped = body + crc16(body)
  const payStripped = async (): Promise<void> =>
    refused(await bank({ qr_text: stripped, outcome: 'SUCCESS' }), 'AMOUNT_MISMATCH', 'exact_amount')
  await payStripped()
  assert.equal((await bank({ qr_text: stripped, outcome: 'SUCCESS', amount: 9_800 })).json.status, 'PAID')
  await payStripped()
  assert.deepEqual(await unmatched(id), [])
})

test('[E6.life.other-amount] another amount is refused and leaves the code PENDING, to be paid with its own', async () => {
  const { id, qrText } = await own.made({ amount: '98.00' })
  for (const amount of [1, 9_799, 9_801, 999_999_999_999])
    refused(await bank({ qr_text: qrText, outcome: 'SUCCESS', amount }), 'AMOUNT_MISMATCH', 'exact_amount')
  assert.equal(await statusOf(id), 'PENDING')
  assert.deepEqual(await unmatched(id), [])
  assert.equal((await bank({ qr_text: qrText, outcome: 'SUCCESS', amount: 9_800 })).json.status, 'PAID')
})

test('[E6.life.final, E6.life.unmatched] of many payers at once one pays, and the money of all others is unmatched', async () => {
  const { id, qrText } = await own.made({ amount: '50.00' })
  const outcomes = ['SUCCESS', 'DECLINED', 'SUCCESS', 'EXPIRED', 'SUCCESS', 'SUCCESS', 'DECLINED', 'SUCCESS']
  const answers = await Promise.all(outcomes.map((outcome) => bank({ qr_text: qrText, outcome })))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers) if (answer.status !== 200) assert.equal(answer.json.error.code, 'CODE_FINAL')
  const isPaid = (await statusOf(id)) === 'PAID'
  assert.equal((await unmatched(id)).length, 5 - Number(isPaid))
  assert.equal((await transaction(id)).amount_details.amount_received, isPaid ? 5_000 : 0)
})

test('a code that is paid at the instant of its expiry is either, and everybody is told the same', async () => {
  const codes = await Promise.all(Array.from({ length: 6 }, () => own.made()))
  const [first] = codes
  await Promise.all([
    p.kaha.sandboxClock.advance(new Date(first?.expiresAt ?? '')),
    ...codes.map(({ qrText }) => bank({ qr_text: qrText, outcome: 'SUCCESS' })),
  ])
  await p.advance(1)
  for (const { id } of codes) {
    const status = await statusOf(id)
    assert.ok(status === 'PAID' || status === 'EXPIRED', status)
    assert.equal((await transaction(id)).status, status === 'PAID' ? 'CAPTURED' : 'EXPIRED')
    assert.equal((await unmatched(id)).length, status === 'PAID' ? 0 : 1)
  }
})

test('a code that was paid is settled at the next 00:00 in Manila like any payment, and one that was not is in no batch', async () => {
  const paid = await own.made({ amount: '77.00' })
  const declined = await own.made()
  await bank({ qr_text: paid.qrText, outcome: 'SUCCESS' })
  await bank({ qr_text: declined.qrText, outcome: 'DECLINED' })
  const midnight = midnightAfter(p.kaha.clock.now())
  await p.kaha.sandboxClock.advance(midnight)
  const { settlement_status: status, settled_at: at, events } = await transaction(paid.id)
  assert.deepEqual([status, at, events.at(-1)?.event_type], ['SETTLED', midnight.toISOString(), 'SETTLED'])
  assert.equal((await transaction(declined.id)).settlement_status, 'NOT_APPLICABLE')
})

test('everybody sees the codes of their entity and of everything under it as transactions, and nobody else does', async () => {
  const { id } = await own.made()
  for (const [who, sees] of [
    [people.partner, true],
    [people.merchant, true],
    [people.branch, true],
    [people.otherBranch, false],
    [people.otherMerchant, false],
    [people.otherPartner, false],
  ] as const) {
    const rows = await reports.listed('page_size=100', who.key)
    assert.equal(
      rows.some((row) => row.id === id),
      sees,
    )
  }
})
