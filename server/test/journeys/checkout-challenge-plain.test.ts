import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards } from '../platform.ts'
import { answerBank, desktop, outcomeOf, payWith, receiptOn, toChallenge } from './payers.ts'
import { openShop } from './shop.ts'

// The same at a desktop, in a browser without scripts.
const { shop, skip } = await openShop({ after })
const plain = { scripts: false, size: desktop } as const

test(
  'without scripts, a payer who leaves the challenge can go on with it, pass it and see the receipt',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t, plain)
    await toChallenge(page, link.url)
    await page.getByRole('link', { name: 'Leave without an answer' }).click()
    await page.waitForURL(/\/pay\/i\//)
    assert.equal(await outcomeOf(page), 'challenge')
    assert.deepEqual(await shop.paymentsOf(link.id), ['REQUIRES_ACTION'])
    await page.getByRole('link', { name: "Continue on your bank's page" }).click()
    await page.waitForURL(/\/challenges\//)
    await answerBank(page, 'Approve')
    assert.equal((await receiptOn(page))['Card'], 'Visa ending in 3155')
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  },
)

test('without scripts, a payer whose challenge is refused pays with another card', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t, plain)
  await toChallenge(page, link.url)
  await answerBank(page, 'Refuse')
  assert.match((await page.getByRole('alert').textContent()) ?? '', /could not confirm that it is you/)
  await payWith(page)
  assert.deepEqual(await shop.paymentsOf(link.id), ['DECLINED', 'SUCCEEDED'])
})

test('a payer who reads Filipino reads it on the bank’s page too, and on the way back', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t, plain)
  await page.goto(`${link.url}?lang=fil`)
  await page.getByLabel('Numero ng card').fill(cards.challenge)
  await page.getByLabel('Expiry').fill('12 / 40')
  await page.getByLabel('CVC').fill('123')
  await page.getByRole('button', { name: /^Magbayad ng/ }).click()
  await page.waitForURL(/\/challenges\//)
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Kumpirmahin ang iyong bayad')
  await page.getByRole('link', { name: 'English' }).click()
  await page.getByRole('link', { name: 'Filipino' }).click()
  await page.getByRole('button', { name: 'Aprubahan' }).click()
  await page.waitForURL(/\/pay\/i\/[\w-]{22}\?lang=fil$/)
  assert.equal(await outcomeOf(page), 'succeeded')
  assert.equal(await page.locator('html').getAttribute('lang'), 'fil')
})
