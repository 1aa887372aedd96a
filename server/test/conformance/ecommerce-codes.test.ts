import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { startPayer } from './code-payer.ts'
import { bodyOf, shop } from './shop.ts'

// QR Ph in the checkout, by plain HTTP, as a browser without scripts does it.
const p = await platform({ after })
const merchant = shop(p)
const payer = startPayer(p)

test('a payer of a link chooses QR Ph, the bank pays the code, and everybody is told', async () => {
  const link = bodyOf(await merchant.createLink(), 201)
  const code = await payer.chooseCode(link.url)
  assert.equal((await payer.pay(code.text)).status, 200)
  const page = await payer.get(code.page)
  assert.match(page.text, /data-outcome="succeeded"/)
  void cards
})
