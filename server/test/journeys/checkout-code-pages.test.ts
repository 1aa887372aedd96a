import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { bankOf } from '../conformance/qr-account.ts'
import { examine, type State } from './looks.ts'
import { codeOn, showCode } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

const order = { type: 'multi_use', description: 'Your order of 21 November', order_reference: 'KT-20481' }

/** Goes to the code of a new link, and lets its bank say this. */
const code =
  (search = '', outcome?: 'SUCCESS' | 'DECLINED' | 'EXPIRED') =>
  async (page: Page) => {
    await page.goto(`${(await shop.link(order)).url}${search}`)
    await showCode(page)
    if (outcome === undefined) return
    await bankOf(shop)({ qr_text: await codeOn(page), outcome })
    await page.waitForSelector(`[data-outcome=${outcome === 'SUCCESS' ? 'succeeded' : 'open'}]`)
  }

const states: Readonly<Record<string, State>> = {
  'a code in Filipino': { arrive: code('?lang=fil'), outcome: 'code', heading: /Magbayad gamit ang QR Ph/ },
  'a code, as a picture and as a text': {
    outcome: 'code',
    heading: /Pay by QR Ph/,
    async arrive(page) {
      await code()(page)
      await page.locator('summary').click()
    },
  },
  'a payment by QR Ph': { arrive: code('', 'SUCCESS'), outcome: 'succeeded', heading: /Payment complete/ },
  'a code that the bank declined': { arrive: code('', 'DECLINED'), outcome: 'open', heading: /₱98\.00/ },
  'a code whose time is over': { arrive: code('', 'EXPIRED'), outcome: 'open', heading: /₱98\.00/ },
}

for (const [state, described] of Object.entries(states)) {
  test(
    `the page of ${state} has no barrier that axe knows, in light and dark, on a phone and at a desktop, and obeys its policy`,
    { skip },
    (t) => examine(t, shop, state, described),
  )
}
