import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { crc16, readQrPh, writeQrPh, type MerchantCode } from '@kaha/qrph'
import { platform } from '../platform.ts'
import { assertRefused, call } from './call.ts'
import { everybody } from './people.ts'
import { bankOf, qrAccount } from './qr-account.ts'

// The sandbox's bank: which texts it takes, and what it says of the others.

const p = await platform({ after })
const people = await everybody(p)
const own = qrAccount(p)
const bank = bankOf(p)

const refused = async (text: string, code: string, rule: string): Promise<void> => {
  for (const outcome of ['SUCCESS', 'DECLINED', 'EXPIRED']) {
    const answer = await bank({ qr_text: text, outcome })
    assertRefused('/sandbox/', answer, code === 'NOT_FOUND' ? 404 : 422, code)
    assert.deepEqual(answer.json.error.details, { field: 'qr_text', rule })
  }
}

/** The same code with some fields changed, and the CRC that goes with them. */
const changed = (text: string, fields: Partial<MerchantCode>): string => {
  const read = readQrPh(text)
  assert.ok('code' in read)
  const { initiation, acquirer, merchantId, notifyFlags, mcc, amount, name, city, reference, terminal } = read.code
  return writeQrPh({
    initiation,
    acquirer,
    merchantId: merchantId ?? '',
    notifyFlags: notifyFlags ?? '',
    mcc,
    amount,
    name,
    city,
    reference: reference ?? '',
    terminal: terminal ?? '',
    ...fields,
  })
}

test('[S7.bank.refused] a text that is no QR Ph code is 422 with what is wrong with it', async () => {
  const { id, qrText } = await own.made()
  const wrong: readonly (readonly [text: string, rule: string])[] = [
    ['https://example.com/pay', 'not_emvco'],
    ['x', 'not_emvco'],
    [qrText.slice(0, -1), 'truncated'],
    [qrText.slice(0, -8), 'crc_missing'],
    [`${qrText.slice(0, -4)}0000`, 'crc'],
    [qrText.replace('540598.00', '540599.00'), 'crc'],
    [`${qrText}6102AB`, 'crc_not_last'],
    [`000201${'9'.repeat(1_000)}`, 'too_long'],
  ]
  for (const [text, rule] of wrong) await refused(text, 'MALFORMED_CODE', rule)
  assert.equal((await own.get(id)).plain.status, 'PENDING')
})

test('[S7.bank.refused] a code of a real bank, and one that pays a person, are recognised and refused', async () => {
  const { id, qrText } = await own.made()
  await refused(changed(qrText, { acquirer: 'BNORPHMMXXX' }), 'FOREIGN_CODE', 'another_bank')
  const person =
    '00020101021227770012com.p2pqrpay0111TESTPHM1XXX02089996440304120000000000010514+63-900000000052046016530360854036005802PH5911TEST PERSON6006MANILA6304A695'
  await refused(person, 'FOREIGN_CODE', 'person')
  assert.equal((await own.get(id)).plain.status, 'PENDING')
})

test('[S7.bank.unknown] a code that nobody made here, or for another merchant, is 404', async () => {
  const { id, qrText } = await own.made()
  for (const fields of [
    { reference: '0'.repeat(25) },
    { reference: 'Z'.repeat(25) },
    { reference: 'ORDER-1' },
    { merchantId: '000000000000001' },
    { merchantId: '1'.repeat(25) },
  ])
    await refused(changed(qrText, fields), 'NOT_FOUND', 'known_code')
  assert.equal((await own.get(id)).plain.status, 'PENDING')
})

test('[E6.life.other-amount] a text that was changed to another currency pays nothing', async () => {
  const { id, qrText } = await own.made()
  const body = qrText.slice(0, -4).replace('5303608', '5303840')
  const qr_text = `${body}${crc16(body)}`
  assertRefused('/sandbox/', await bank({ qr_text, outcome: 'SUCCESS' }), 422, 'AMOUNT_MISMATCH')
  const { json } = await call(p.url, {
    method: 'POST',
    path: '/sandbox/bank/read',
    key: p.seed.partner.secret_key,
    body: { qr_text },
  })
  assert.deepEqual([json.currency, json.refusal.code], ['840', 'AMOUNT_MISMATCH'])
  assert.equal((await own.get(id)).plain.status, 'PENDING')
})

test('[E6.life.other-amount] a text that was changed to another amount pays nothing', async () => {
  const { id, qrText } = await own.made()
  const answer = await bank({ qr_text: changed(qrText, { amount: '1.00' }), outcome: 'SUCCESS' })
  assertRefused('/sandbox/', answer, 422, 'AMOUNT_MISMATCH')
  assertRefused(
    '/sandbox/',
    await bank({ qr_text: changed(qrText, { amount: null }), outcome: 'SUCCESS' }),
    422,
    'AMOUNT_MISMATCH',
  )
  assert.equal((await own.get(id)).plain.status, 'PENDING')
  // The same amount as EMVCo lets others write it.
  assert.equal((await bank({ qr_text: changed(qrText, { amount: '98.' }), outcome: 'SUCCESS' })).status, 200)
})

test('a partner pays codes of its own merchants alone', async () => {
  const { id, qrText } = await own.made()
  const body = { qr_text: qrText, outcome: 'SUCCESS' }
  const answer = await call(p.url, { method: 'POST', path: '/sandbox/bank/pay', key: people.otherPartner.key, body })
  assertRefused('/sandbox/', answer, 404, 'NOT_FOUND')
  assert.equal((await own.get(id)).plain.status, 'PENDING')
})
