import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards } from '../platform.ts'
import { outcomeOf, payWith, receiptOn } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

for (const scripts of [true, false]) {
  const how = scripts ? 'with scripts' : 'without scripts'

  test(`a payer who reloads after paying, ${how}, sees the same receipt and pays nothing`, { skip }, async (t) => {
    const link = await shop.link({ type: 'multi_use' })
    const { page } = await shop.payer(t, { scripts })
    await page.goto(link.url)
    await payWith(page)
    const receipt = await receiptOn(page)
    for (let times = 0; times < 3; times += 1) await page.reload()
    assert.deepEqual(await receiptOn(page), receipt)
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  })

  test(`a payer who goes back after paying, ${how}, comes to the result, and pays nothing`, { skip }, async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t, { scripts })
    await page.goto(link.url)
    await payWith(page)
    const receipt = await receiptOn(page)
    await page.goBack()
    assert.deepEqual(await receiptOn(page), receipt)
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  })

  test(
    `a payer who goes back to a link that takes more payments, ${how}, is told of the first and finds an empty form`,
    {
      skip,
    },
    async (t) => {
      const link = await shop.link({ type: 'multi_use' })
      const { page } = await shop.payer(t, { scripts })
      await page.goto(link.url)
      await payWith(page)
      const [receipt, paidAt] = [await receiptOn(page), page.url()]
      await page.goBack()
      assert.equal(await page.getByLabel('Card number').inputValue(), '')
      assert.match((await page.locator('main').textContent()) ?? '', /You have already paid here\./)
      assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
      await page.getByRole('link', { name: 'See your payment' }).click()
      await page.waitForURL(paidAt)
      assert.deepEqual(await receiptOn(page), receipt)
    },
  )
}

test(
  'a payer who goes back while the bank takes its time sees that payment, and cannot start another',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t)
    await page.goto(link.url)
    await payWith(page, cards.slow)
    await page.goBack()
    assert.equal(await outcomeOf(page), 'processing')
    assert.deepEqual(await shop.paymentsOf(link.id), ['PROCESSING'])
  },
)
