import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards } from '../platform.ts'
import { examine, waysInto, type State } from './looks.ts'
import { toChallenge } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })
const { paid } = waysInto(shop)

const states: Readonly<Record<string, State>> = {
  "the bank's challenge": {
    outcome: null,
    heading: /Confirm your payment/,
    async arrive(page) {
      await paid(cards.challenge)(page)
      await page.waitForURL(/\/challenges\//)
    },
  },
  'a challenge that the payer has left': {
    outcome: 'challenge',
    heading: /Confirm with your bank/,
    async arrive(page) {
      await paid(cards.challenge)(page)
      await page.getByRole('link', { name: 'Leave without an answer' }).click()
      await page.waitForURL(/\/pay\/i\//)
    },
  },
}

for (const [state, described] of Object.entries(states)) {
  test(
    `the page of ${state} has no barrier that axe knows, in light and dark, on a phone and at a desktop, and obeys its policy`,
    { skip },
    (t) => examine(t, shop, state, described),
  )
}

test("the bank's page breaks none of its labels beside a merchant whose name is long", { skip }, async (t) => {
  const { page } = await shop.payer(t)
  await toChallenge(page, (await shop.link()).url)
  await page.setViewportSize({ width: 360, height: 740 })
  const linesOfLabels = () =>
    page.evaluate(`[...document.querySelectorAll('dt')].map((label) => {
      const range = document.createRange()
      range.selectNodeContents(label)
      return range.getClientRects().length
    })`)
  for (const language of ['English', 'Filipino']) {
    if (language === 'Filipino') await page.getByRole('link', { name: language }).click()
    await page.locator('dd bdi').evaluate((name) => (name.textContent = 'Panaderya at Kapihan '.repeat(12)))
    assert.deepEqual(await linesOfLabels(), [1, 1, 1], language)
  }
})
