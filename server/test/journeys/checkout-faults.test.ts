import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { payButton } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

const wrongNumber = 'This card number is not right. Check the digits.'
const told = (page: Page) => page.locator('.error:visible').allTextContents()
const said = (page: Page) => page.locator('#status').textContent()

/** Presses near the upper edge, and releases there however what is below has moved. */
async function press(page: Page, target: Locator): Promise<void> {
  await target.scrollIntoViewIfNeeded()
  const box = await target.boundingBox()
  assert.ok(box)
  await page.mouse.move(box.x + box.width / 2, box.y + 5)
  await page.mouse.down()
  await page.mouse.up()
}

test('a click is not lost where the cursor is still in a number that is wrong', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  await page.goto((await shop.link()).url)
  const number = page.locator('#number')

  await number.fill('4242 4242 4242 4241')
  await press(page, page.getByText('Test cards'))
  assert.equal(await page.locator('.test-cards[open]').count(), 1)

  await number.focus()
  await press(page, payButton(page))
  const [first, ...others] = await told(page)
  assert.deepEqual([first, others.length], [wrongNumber, 2])
  assert.equal(await number.evaluate((input) => input === input.ownerDocument.activeElement), true)

  await page.reload()
  await number.fill('4242 4242 4242 4241')
  await press(page, page.getByRole('link', { name: 'Filipino' }))
  await page.waitForURL('**lang=fil')
})

test(
  'who goes on to the next field is told what is wrong in the one before, by a screen reader too',
  { skip },
  async (t) => {
    const { page } = await shop.payer(t)
    await page.goto((await shop.link()).url)
    await page.locator('#number').fill('4242 4242 4242 4241')
    await page.keyboard.press('Tab')
    assert.deepEqual([await told(page), await said(page)], [[wrongNumber], wrongNumber])
    await page.keyboard.press('Shift+Tab')
    await page.locator('#number').fill('4242 4242 4242 4242')
    assert.deepEqual([await told(page), await said(page)], [[], ''])
  },
)

test('what is wrong with a CVC goes by the card, also where that changes later', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  await page.goto((await shop.link()).url)
  const [number, cvc] = [page.locator('#number'), page.locator('#cvc')]
  const ofCvc = () => page.locator('#cvc-error').textContent()
  const typed = async (digits: string) => {
    await number.fill('')
    await number.pressSequentially(digits)
  }
  await payButton(page).click()
  assert.equal(await ofCvc(), 'Enter the 3 or 4 digits of the CVC.')
  await typed('378')
  assert.equal(await ofCvc(), 'Enter the 4 digits on the front of the card.')
  await typed('424')
  assert.equal(await ofCvc(), 'Enter the 3 digits on the back of the card.')
  await cvc.fill('1234')
  await typed('378282246310005')
  assert.deepEqual([await ofCvc(), await cvc.getAttribute('aria-invalid')], ['', null])
})

test('on the narrowest phone expiry and CVC stand side by side, in each language', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  const { url } = await shop.link()
  await page.setViewportSize({ width: 320, height: 568 })
  for (const language of ['en', 'fil']) {
    await page.goto(`${url}?lang=${language}`)
    const [expiry, cvc] = [await page.locator('#expiry').boundingBox(), await page.locator('#cvc').boundingBox()]
    assert.equal(expiry?.y, cvc?.y, language)
  }
})
