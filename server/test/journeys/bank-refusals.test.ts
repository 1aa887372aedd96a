import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readQrPh, writeQrPh } from '@kaha/qrph'
import { qrAccount } from '../conformance/qr-account.ts'
import { openShop } from './shop.ts'

// What the bank app says of codes that it does not pay.

const { shop, skip } = await openShop({ after })
const home = skip === false ? `${shop.kaha.addresses.sandbox}/bank` : ''
const at = (text: string) => `${home}?${new URLSearchParams({ code: text }).toString()}`

const realBank =
  '00020101021128560011ph.ppmi.p2m0111BNORPHMMXXX031500000000000000105030005204531153036085802PH5913SANDBOX STORE6006MAKATI6304'
const person =
  '00020101021227770012com.p2pqrpay0111TESTPHM1XXX02089996440304120000000000010514+63-900000000052046016530360854036005802PH5911TEST PERSON6006MANILA6304A695'

test('a code that is refused is told with the precise reason, and with whom it would pay', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  const shown = async (url: string, status: number) => {
    assert.equal((await page.goto(url))?.status(), status)
    return (await page.locator('dl').textContent()) ?? ''
  }
  assert.match(await shown(at(person), 422), /TEST PERSON, MANILA.*600.*TESTPHM1XXX.*person/s)
  assert.match(await shown(at(`${realBank}0000`), 422), /CRC, tag 63, is not that of the text.*crc/s)
  assert.match(await shown(at('https://example.com'), 422), /does not begin as an EMVCo code.*not_emvco/s)
  const { qrText } = await qrAccount(shop).made()
  const read = readQrPh(qrText)
  assert.ok('code' in read)
  const { code } = read
  const { initiation, acquirer, merchantId, mcc, amount, name, city, reference } = code
  const fields = {
    initiation,
    acquirer,
    merchantId: merchantId ?? '',
    mcc,
    amount,
    name,
    city,
    reference: reference ?? '',
  }
  assert.match(await shown(at(writeQrPh({ ...fields, acquirer: 'BNORPHMMXXX' })), 422), /BNORPHMMXXX.*another_bank/s)
  assert.match(await shown(at(writeQrPh({ ...fields, amount: '1.00' })), 422), /1\.00.*exact_amount/s)
  assert.match(await shown(at(writeQrPh({ ...fields, reference: '0'.repeat(25) })), 404), /known_code/s)
})
