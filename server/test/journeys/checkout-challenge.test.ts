import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { answerBank, outcomeOf, payWith, receiptOn, toChallenge } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

test('a payer who passes the challenge has paid and sees the receipt', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  await toChallenge(page, link.url)
  assert.match((await page.locator('header').textContent()) ?? '', /^Simulation/)
  assert.match((await page.locator('dl').textContent()) ?? '', /₱98\.00.*ending in 3155/)
  await answerBank(page, 'Approve')
  assert.equal(await outcomeOf(page), 'succeeded')
  assert.equal((await receiptOn(page))['Card'], 'Visa ending in 3155')
  await page.reload()
  assert.equal(await outcomeOf(page), 'succeeded')
  assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
})

for (const [answer, state, told] of [
  ['Refuse', 'DECLINED', /could not confirm that it is you/],
  ['Service is down', 'FAILED', /verification service is not available/],
] as const) {
  test(`a payer whose challenge ends with “${answer}” is told why, and pays with another card`, { skip }, async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t)
    await toChallenge(page, link.url)
    await answerBank(page, answer)
    assert.match((await page.getByRole('alert').textContent()) ?? '', told)
    assert.deepEqual(await shop.paymentsOf(link.id), [state])
    await payWith(page)
    assert.equal(await outcomeOf(page), 'succeeded')
    assert.deepEqual(await shop.paymentsOf(link.id), [state, 'SUCCEEDED'])
  })
}

test('a payer whose bank refuses after a passed challenge is asked for another card', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  await toChallenge(page, link.url, '4000008400001629')
  await answerBank(page, 'Approve')
  assert.match((await page.getByRole('alert').textContent()) ?? '', /bank declined this card/)
})

test('a payer who leaves the challenge alone for 15 minutes sees the payment declined', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  await toChallenge(page, link.url)
  await page.getByRole('link', { name: 'Leave without an answer' }).click()
  await page.waitForURL(/\/pay\/i\//)
  assert.equal(await outcomeOf(page), 'challenge')
  await shop.advance(15 * 60)
  await page.reload()
  assert.match((await page.getByRole('alert').textContent()) ?? '', /could not confirm that it is you/)
  assert.deepEqual(await shop.paymentsOf(link.id), ['DECLINED'])
})

test('a payer who goes back to the bank’s page after answering comes to the result', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  await toChallenge(page, link.url)
  const bank = page.url()
  await answerBank(page, 'Approve')
  await page.goto(bank)
  await page.waitForURL(/\/pay\/i\//)
  assert.equal(await outcomeOf(page), 'succeeded')
  assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
})
