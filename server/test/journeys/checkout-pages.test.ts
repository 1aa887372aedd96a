import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { examine, waysInto, type State } from './looks.ts'
import { payWith } from './payers.ts'
import { openShop } from './shop.ts'
import { formsOutOfDate } from './states.ts'

const { shop, skip } = await openShop({ after })
const { at } = waysInto(shop)

const item = (name: string, price: number, quantity = 1) => ({
  sku: name.slice(0, 20),
  name,
  unit_price: price,
  quantity,
})
const order = {
  type: 'multi_use',
  amount: 132_050,
  line_items: [item('Barako beans, 500 g', 48_000, 2), item('Filter papers', 28_550), item('Delivery', 7_500)],
  description: 'Your order of 21 November',
  order_reference: 'KT-20481',
}
const words = 'A box of something with a rather long name that goes on for a while, and then some more of it still'
const longest = {
  amount: 99_000_000_000,
  line_items: Array.from({ length: 100 }, (_, index) => item(`${index + 1}. ${words}`, 330_000_000, 3)),
  description: 'W'.repeat(255),
  order_reference: 'R'.repeat(100),
}

const states: Readonly<Record<string, State>> = {
  'a link to pay': { arrive: at(order), outcome: 'open', heading: /Pay Kapihan ni Aling Nena\s+₱1,320\.50/ },
  'a link with one line': { arrive: at(), outcome: 'open', heading: /₱98\.00/ },
  'a link with all that fits': { arrive: at(longest), outcome: 'open', heading: /₱990,000,000\.00/ },
  'a link in Filipino': {
    arrive: at(order, '?lang=fil'),
    outcome: 'open',
    heading: /Magbayad sa Kapihan ni Aling Nena/,
  },
  'a form with slips of the pen': {
    outcome: 'open',
    heading: /Pay/,
    async arrive(page) {
      await at(order)(page)
      await submitUnchecked(page, '4242424242424241')
    },
  },
  'a link that this payer has paid before': {
    outcome: 'open',
    heading: /Pay/,
    async arrive(page) {
      const { url } = await shop.link(order)
      await page.goto(url)
      await payWith(page)
      await page.goto(url)
    },
  },
  ...formsOutOfDate(shop),
}

for (const [state, described] of Object.entries(states)) {
  test(
    `the page of ${state} has no barrier that axe knows, in light and dark, on a phone and at a desktop, and obeys its policy`,
    {
      skip,
    },
    (t) => examine(t, shop, state, described),
  )
}

/** Sends the form past the script's own check, as a browser without scripts does. */
async function submitUnchecked(page: Page, number: string): Promise<void> {
  await page.locator('form[data-given-at]').evaluate(
    (form: { submit(): void; elements: Record<string, { value: string }> }, typed) => {
      for (const [name, value] of Object.entries(typed)) {
        const input = form.elements[name]
        if (input !== undefined) input.value = value
      }
    },
    { number, expiry: '12 / 40', cvc: '123' },
  )
  await Promise.all([
    page.waitForEvent('domcontentloaded'),
    page.locator('form[data-given-at]').evaluate((form: { submit(): void }) => form.submit()),
  ])
}
