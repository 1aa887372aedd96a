import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { outcomeOf, payWith } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

test(
  'a payer who stays on the receipt stays there in the other language, and when it is loaded anew',
  { skip },
  async (t) => {
    const { page } = await shop.payer(t)
    await page.clock.install()
    await page.goto((await shop.link({ redirect_urls: { success: shop.thanksUrl } })).url)
    await payWith(page)
    await page.getByRole('button', { name: 'Stay on this page' }).click()
    const stayed = async () => {
      await page.clock.runFor(40_000)
      assert.equal(await outcomeOf(page), 'succeeded')
      assert.equal(await page.locator('#leaving:visible').count(), 0)
    }
    await page.getByRole('link', { name: 'Filipino' }).click()
    await page.getByRole('heading', { name: 'Nabayaran na' }).waitFor()
    await stayed()
    await page.getByRole('link', { name: 'English' }).click()
    await page.getByRole('heading', { name: 'Payment complete' }).waitFor()
    await stayed()
    await page.goBack()
    await page.goBack()
    await page.getByRole('heading', { name: 'Payment complete' }).waitFor()
    await page.reload()
    await stayed()
  },
)

test('without scripts a payer who stays on the receipt stays there in the other language', { skip }, async (t) => {
  const { page } = await shop.payer(t, { scripts: false })
  await page.goto((await shop.link({ redirect_urls: { success: shop.thanksUrl } })).url)
  await payWith(page)
  await page.getByRole('link', { name: 'Stay on this page' }).click()
  for (const [name, heading] of [
    ['Filipino', 'Nabayaran na'],
    ['English', 'Payment complete'],
  ] as const) {
    await page.getByRole('link', { name }).click()
    await page.getByRole('heading', { name: heading }).waitFor()
    assert.equal(await page.locator('meta[http-equiv]').count(), 0)
  }
})

test('a receipt that is opened again stays, and so does one whose payment was given back', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  await page.clock.install()
  const opened = async (url: string, outcome = 'succeeded') => {
    await page.goto(url)
    await page.clock.runFor(40_000)
    assert.equal(await outcomeOf(page), outcome)
    assert.equal(await page.locator('#leaving').count(), 0)
    assert.equal(await page.locator('#return').getAttribute('href'), shop.thanksUrl)
  }
  const link = await shop.link({ redirect_urls: { success: shop.thanksUrl } })
  await page.goto(link.url)
  await payWith(page)
  await page.getByRole('button', { name: 'Stay on this page' }).click()
  await shop.advance(60)
  await opened(link.url)

  const url = (await shop.link({ redirect_urls: { success: shop.thanksUrl } })).url
  await page.goto(url)
  await payWith(page)
  await page.getByRole('button', { name: 'Stay on this page' }).waitFor()
  const [paid] = await shop.sql<{ id: string }>('select id from payments.intents order by id desc limit 1')
  const refund = (amount?: number) =>
    shop.sdk.refunds.create({ payment_intent_id: paid?.id ?? '', ...(amount === undefined ? {} : { amount }) })
  await refund(100)
  await opened(page.url())
  assert.equal(await page.getByText('A part of the amount was given back to you.').count(), 1)
  await refund()
  await opened(page.url(), 'refunded')
  assert.match(await page.title(), /^Payment refunded: ₱98\.00 from /)
  assert.match((await page.locator('.sum').textContent()) ?? '', /^₱98\.00 from /)
})

test('what a page tells of a use that was not free, it tells in the other language too', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  const { checkout_url: url } = await shop.sdk.paymentIntents.create({ payment_link_id: (await shop.link()).id })
  await page.goto(`${url}?full=1`)
  assert.match((await page.getByRole('alert').textContent()) ?? '', /You can try again now/)
  await page.getByRole('link', { name: 'Filipino' }).click()
  await page.waitForURL('**lang=fil**')
  assert.match((await page.getByRole('alert').textContent()) ?? '', /Puwede ka nang sumubok muli/)
})
