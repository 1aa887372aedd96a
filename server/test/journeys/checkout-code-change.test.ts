import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Route } from 'playwright-core'
import { bankOf } from '../conformance/qr-account.ts'
import { codeOn, outcomeOf, payWith, receiptOn, showCode } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })
const bank = (text: string, outcome = 'SUCCESS') => bankOf(shop)({ qr_text: text, outcome })

test(
  'a payer whose bank declines the code is told so at once, asks for another, and changes to a card',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t)
    await page.goto(link.url)
    await showCode(page)
    await bank(await codeOn(page), 'DECLINED')
    await page.waitForSelector('[data-outcome=open]')
    assert.match((await page.getByRole('alert').textContent()) ?? '', /Your bank declined this payment/)

    await showCode(page)
    const second = await codeOn(page)
    await page.getByRole('button', { name: 'Pay another way' }).click()
    await page.waitForSelector('[data-outcome=open]')
    assert.equal((await bank(second)).status, 422)
    await payWith(page)
    assert.equal(await outcomeOf(page), 'succeeded')
    assert.match((await receiptOn(page))['Card'] ?? '', /Visa/)
    assert.deepEqual(await shop.paymentsOf(link.id), ['DECLINED', 'ABANDONED', 'SUCCEEDED'])
  },
)

test('a page that shows a code shows the new one after another window has asked for that', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  await page.goto(link.url)
  await showCode(page)
  const first = await codeOn(page)
  const other = await page.context().newPage()
  await other.goto(page.url())
  // The first window hears of nothing in between: when it looks again, a code waits, as before.
  const unheard: Route[] = []
  let hears = false
  await page.route('**/status', async (route) => {
    if (hears) await route.continue()
    else unheard.push(route)
  })
  await other.getByRole('button', { name: 'Pay another way' }).click()
  await other.waitForSelector('[data-outcome=open]')
  await showCode(other)
  const second = await codeOn(other)
  assert.notEqual(second, first)
  hears = true
  await Promise.all(unheard.map((route) => route.continue()))
  await page.locator('#code-text', { hasText: second }).waitFor({ state: 'attached' })
  assert.equal((await bank(second)).status, 200)
})

test('a payer who goes back to the link while the code can be paid is shown the code again', { skip }, async (t) => {
  const link = await shop.link({ type: 'multi_use' })
  const { page } = await shop.payer(t, { scripts: false })
  await page.goto(link.url)
  await showCode(page)
  const text = await codeOn(page)
  await page.goto(link.url)
  assert.equal(await codeOn(page), text)
  assert.deepEqual(await shop.paymentsOf(link.id), ['REQUIRES_ACTION'])
})
