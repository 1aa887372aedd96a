import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { qrAccount } from '../conformance/qr-account.ts'
import { cards } from '../platform.ts'
import { answerBank, outcomeOf, payWith, showCode, toChallenge } from './payers.ts'
import { openShop } from './shop.ts'

// This machine has more names than the one that its addresses are made of: whoever takes another finds pages that work.

const { shop, skip } = await openShop({ after })
const by = (name: string, url: string) => url.replace('//localhost:', `//${name}:`)

test('a payer who opens a link at 127.0.0.1 pays it', { skip }, async (t) => {
  const { page } = await shop.payer(t, { alsoAt: [shop.url] })
  const { url } = await shop.link()
  await page.goto(by('127.0.0.1', `${url}?lang=fil`))
  assert.equal(page.url(), `${url}?lang=fil`)
  await page.goto(by('127.0.0.1', url))
  await payWith(page)
  assert.equal(await outcomeOf(page), 'succeeded')
})

test(
  'a payer who opens an intent at 127.0.0.1 without scripts passes the challenge and comes back',
  { skip },
  async (t) => {
    const { page } = await shop.payer(t, { alsoAt: [shop.url], scripts: false })
    const { checkout_url } = await shop.sdk.paymentIntents.create({
      amount: 9800,
      currency: 'PHP',
      merchant_branch_reference_number: shop.branch.reference_number,
    })
    await toChallenge(page, by('127.0.0.1', checkout_url), cards.challenge)
    await page.goto(by('127.0.0.1', page.url()))
    await answerBank(page, 'Approve')
    assert.equal(page.url(), checkout_url)
    assert.equal(await outcomeOf(page), 'succeeded')
  },
)

test('a payer who opens a link at 127.0.0.1 is shown a code, and gives it up', { skip }, async (t) => {
  const { page } = await shop.payer(t, { alsoAt: [shop.url] })
  await page.goto(by('127.0.0.1', (await shop.link()).url))
  await showCode(page)
  await page.goto(by('127.0.0.1', page.url()))
  await page.getByRole('button', { name: 'Pay another way' }).click()
  await page.waitForSelector('[data-outcome=open]')
})

test('the bank app that is opened at 127.0.0.1 pays a code', { skip }, async (t) => {
  const { page } = await shop.payer(t, { alsoAt: [shop.url] })
  const { qrText } = await qrAccount(shop).made({ amount: '98.00' })
  await page.goto(`${shop.url}/sandbox/bank`)
  await page.locator('textarea[name=code]').fill(qrText)
  await page.getByRole('button', { name: 'Read the code' }).click()
  await page.getByRole('button', { name: /^Pay/ }).click()
  await page.getByRole('heading', { name: 'Paid' }).waitFor()
})
