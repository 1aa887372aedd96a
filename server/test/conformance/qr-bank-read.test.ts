import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { encode as encodeJpeg } from 'jpeg-js'
import { PNG } from 'pngjs'
import { platform } from '../platform.ts'
import { assertRefused, call } from './call.ts'
import { everybody } from './people.ts'
import { bankOf, qrAccount } from './qr-account.ts'

// The sandbox's bank app as an operation: what it shows of a code before it pays, from a text or a picture.

const p = await platform({ after })
const own = qrAccount(p)
const bank = bankOf(p)
const read = (body: unknown, key = p.seed.partner.secret_key) =>
  call(p.url, { method: 'POST', path: '/sandbox/bank/read', key, body })

test('S7.bank.any-text: what a bank app shows of a code is the same from its text, from its picture, and from a photo of that', async () => {
  const { qrText, qrBody, expiresAt } = await own.made({ merchantReferenceNumber: 'ORDER-READ', amount: '1458.31' })
  const { status, json } = await read({ qr_text: qrText })
  assert.equal(status, 200)
  const { reference, ...rest } = json
  assert.match(reference, /^[0-9A-Z]{25}$/)
  assert.deepEqual(rest, {
    qr_text: qrText,
    pays: 'merchant',
    bank: 'TESTPHM1XXX',
    payee_name: p.merchant.name,
    payee_city: 'MANILA',
    amount: '1458.31',
    currency: 'PHP',
    status: 'PENDING',
    merchant_reference_number: 'ORDER-READ',
    expires_at: expiresAt,
  })
  const photo = encodeJpeg(PNG.sync.read(Buffer.from(qrBody, 'base64')), 60).data.toString('base64')
  for (const qr_image of [qrBody, photo]) {
    assert.deepEqual((await read({ qr_image })).json, json)
  }
})

test('S7.bank.pay: a code is paid by its picture', async () => {
  const { id, qrBody } = await own.made()
  const paid = await bank({ qr_image: qrBody, outcome: 'SUCCESS' })
  assert.deepEqual([paid.status, paid.json.id, paid.json.status], [200, id, 'PAID'])
})

test('S7.bank.any-text: a code that cannot be paid here is shown with the reason, and one of nobody is shown too', async () => {
  const person =
    '00020101021227770012com.p2pqrpay0111TESTPHM1XXX02089996440304120000000000010514+63-900000000052046016530360854036005802PH5911TEST PERSON6006MANILA6304A695'
  const shown = async (qr_text: string) => {
    const { status, json } = await read({ qr_text })
    assert.equal(status, 200)
    assert.ok(json.refusal.message.length > 10)
    return [json.payee_name, json.status, json.refusal.code, json.refusal.rule]
  }
  assert.deepEqual(await shown(person), ['TEST PERSON', undefined, 'FOREIGN_CODE', 'person'])
  const nobodys =
    '00020101021228560011ph.ppmi.p2m0111TESTPHM1XXX0315000000000000001050301052045812530360854041.005802PH5912KAPE NI NIÑO6009PARAÑAQUE62170513REF00000000026304AC6C'
  assert.deepEqual(await shown(nobodys), ['KAPE NI NIÑO', undefined, 'NOT_FOUND', 'known_code'])
  const { qrText } = await own.made()
  await bank({ qr_text: qrText, outcome: 'DECLINED' })
  assert.deepEqual(await shown(qrText), [p.merchant.name, 'DECLINED', 'CODE_FINAL', 'declined'])
  const people = await everybody(p)
  const theirs = await read({ qr_text: qrText }, people.otherPartner.key)
  assert.deepEqual([theirs.json.status, theirs.json.refusal.code], [undefined, 'NOT_FOUND'])
})

test('S7.bank.refused: a text that is no code, and a picture that gives none, are 422 with the reason', async () => {
  const malformed = await read({ qr_text: 'https://example.com' })
  assertRefused('/sandbox/', malformed, 422, 'MALFORMED_CODE')
  const blank = PNG.sync.write(Object.assign(new PNG({ width: 9, height: 9 }), { data: Buffer.alloc(324, 255) }))
  const wrong = [
    [Buffer.from('hello'), 'not_png_or_jpeg'],
    [Buffer.from('h'), 'not_png_or_jpeg'],
    [blank, 'no_code'],
    [blank.subarray(0, 30), 'broken'],
    [Buffer.alloc(8 * 1024 * 1024 + 3), 'too_many_bytes'],
  ] as const
  for (const [bytes, rule] of wrong) {
    for (const answer of [
      await read({ qr_image: bytes.toString('base64') }),
      await bank({ qr_image: bytes.toString('base64'), outcome: 'SUCCESS' }),
    ]) {
      assertRefused('/sandbox/', answer, 422, 'UNREADABLE_IMAGE')
      assert.deepEqual(answer.json.error.details, { field: 'qr_image', rule })
    }
  }
})

test('a picture as a data: URL is refused with what to leave out', async () => {
  const answer = await read({ qr_image: 'data:image/png;base64,iVBORw0KGgo=' })
  assertRefused('/sandbox/', answer, 400, 'BAD_REQUEST')
  assert.match(answer.json.error.message, /the Base64 alone/)
})

test('neither a text nor a picture, and both at once, are 400', async () => {
  const { qrText, qrBody } = await own.made()
  for (const body of [{}, { qr_text: qrText, qr_image: qrBody }]) {
    assertRefused('/sandbox/', await read(body), 400, 'BAD_REQUEST')
    assertRefused('/sandbox/', await bank({ ...body, outcome: 'SUCCESS' }), 400, 'BAD_REQUEST')
  }
})
