import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openBank } from './bank.ts'
import { codeOn, picture, showCode, typeCard } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after }, { settings: { KAHA_CURRENCIES: 'PHP,KWD' } })

/** By the width of the page and the size of its text, in percent. */
const sizes = [
  [1280, 100],
  [390, 200],
  [320, 100],
  [320, 200],
  [195, 100],
] as const

/** The lines in which each amount of the page is shown, of what holds nothing but the amount. */
const linesOf = (page: Page): Promise<string[][]> =>
  page.evaluate(`(() => {
    const amount = /^(₱|KWD\\u00a0)[\\d,.]+$|(?<=(^Pay |× ))₱[\\d,.]+$/
    const holders = [...document.querySelectorAll('main *')].filter((one) =>
      amount.test(one.textContent) && one.checkVisibility() && ![...one.children].some(({ textContent }) => amount.test(textContent)))
    return holders.map((holder) => {
      const lines = new Map()
      const walker = document.createTreeWalker(holder, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
        for (let index = 0; index < node.length; index += 1) {
          const range = document.createRange()
          range.setStart(node, index)
          range.setEnd(node, index + 1)
          const { top } = range.getBoundingClientRect()
          lines.set(top, (lines.get(top) ?? '') + node.data[index])
        }
      return [...lines.values()]
    })
  })()`)

/** Looks at the page in all sizes, where it breaks no amount inside its digits and scrolls nowhere sideways. */
async function look(page: Page, name: string, amounts: number): Promise<void> {
  for (const [width, percent] of sizes) {
    await page.setViewportSize({ width, height: 800 })
    await page.evaluate(`document.documentElement.style.fontSize = '${percent}%'`)
    const where = `${name} at ${width} px and ${percent} %`
    await picture(page, where.replaceAll(/\W+/g, '-'))
    const found = await linesOf(page)
    assert.equal(found.length, amounts, where)
    for (const lines of found)
      for (const line of lines.slice(0, -1)) assert.match(line, /(^|\D)\d{1,3},$/, `${lines.join(' / ')}, ${where}`)
    if (percent === 100 && width >= 320) assert.equal(found[0]?.length, 1, where)
    const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    if (percent === 100) assert.equal(await page.evaluate(beyond), 0, where)
  }
}

const link = async (amount: number) =>
  shop.link({
    amount: amount * 2,
    line_items: [
      { sku: 'A', name: 'A machine for coffee', unit_price: amount / 2, quantity: 2 },
      { sku: 'B', name: 'A mill', unit_price: amount, quantity: 1 },
    ],
  })

const own = async (amount: number) => {
  const merchant_branch_reference_number = shop.branch.reference_number
  const { checkout_url: url } = await shop.sdk.paymentIntents.create({
    currency: 'KWD',
    amount,
    merchant_branch_reference_number,
  })
  return { url }
}

for (const [named, made, amounts] of [
  ['of thousands', () => link(617_284), 6],
  ['of billions', () => link(444_444_444_444), 6],
  ['with three decimals', () => own(88_888_888), 2],
  ['of millions with three decimals', () => own(888_888_888_888), 2],
] as const)
  test(`an amount ${named} breaks inside no digits, on the form and on the receipt`, { skip }, async (t) => {
    const { url } = await made()
    const { page } = await shop.payer(t)
    await page.goto(url)
    await look(page, `an amount ${named}, form`, amounts)
    await typeCard(page)
    await Promise.all([
      page.waitForEvent('domcontentloaded'),
      page.locator('form[data-given-at] [type=submit]').click(),
    ])
    await page.waitForSelector('[data-outcome=succeeded]')
    await look(page, `an amount ${named}, receipt`, 2)
  })

test('an amount breaks inside no digits, beside a code and in the bank app', { skip }, async (t) => {
  const bank = await openBank(shop)
  const { url } = await link(4_444_444)
  const { page } = await shop.payer(t)
  await page.goto(url)
  await showCode(page)
  await look(page, 'code', 1)
  await page.goto(bank.codeUrl(await codeOn(page)))
  await look(page, 'bank', 2)
})

test('an amount is one number to whoever hears the page, and after a payment that was stopped', { skip }, async (t) => {
  const { url } = await link(617_284)
  const { page } = await shop.payer(t)
  await page.clock.install()
  await page.goto(url)
  const browser = await page.context().newCDPSession(page)
  const { nodes } = await browser.send('Accessibility.getFullAXTree')
  const names = nodes.filter(({ role }) => ['heading', 'button'].includes(role?.value)).map(({ name }) => name?.value)
  assert.deepEqual(
    names.filter((name) => /₱/.test(name)),
    ['Pay Kapihan ni Aling Nena ₱12,345.68', 'Pay ₱12,345.68'],
  )
  await typeCard(page)
  await page.route('**/pay/l/**', (route) => route.fulfill({ status: 204 }))
  await page.getByRole('button', { name: 'Pay ₱12,345.68', exact: true }).click()
  await page.getByRole('button', { name: 'Paying…', exact: true }).waitFor()
  await page.clock.runFor(30_000)
  await page.getByRole('button', { name: 'Pay ₱12,345.68', exact: true }).waitFor()
  await look(page, 'stopped', 6)
})
