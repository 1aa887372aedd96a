import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards } from '../platform.ts'
import { examine, waysInto, type State } from './looks.ts'
import { payWith } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })
const { paid } = waysInto(shop)
const slowCard = { number: cards.slow, exp_month: 12, exp_year: 2040, cvc: '123' }

const states: Readonly<Record<string, State>> = {
  'a refused card': {
    arrive: paid(cards.declined, { redirect_urls: { declined: shop.thanksUrl } }),
    outcome: 'open',
    heading: /Pay/,
  },
  'a payment that failed': { arrive: paid(cards.error), outcome: 'open', heading: /Pay/ },
  'a payment in progress': { arrive: paid(cards.slow), outcome: 'processing', heading: /Confirming your payment/ },
  'a payment that succeeded': { arrive: paid(cards.approved), outcome: 'succeeded', heading: /Payment complete/ },
  'a payment that succeeded, with a way back': {
    outcome: 'succeeded',
    heading: /Payment complete/,
    async arrive(page) {
      // The countdown would leave the page while it is looked at.
      await page.clock.install()
      await paid(cards.approved, { redirect_urls: { success: shop.thanksUrl } })(page)
    },
  },
  'a link that another pays just now': {
    outcome: 'fully_reserved',
    heading: /Someone is paying/,
    async arrive(page) {
      const link = await shop.link()
      await shop.sdk.paymentIntents
        .create({ payment_link_id: link.id })
        .then(({ id }) => shop.sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card: slowCard } }))
      await page.goto(link.url)
    },
  },
  'an intent that was tried too often': {
    outcome: 'declined',
    heading: /Payment declined/,
    async arrive(page) {
      const intent = await shop.pay({ card: cards.declined })
      const { checkout_url } = await shop.sdk.paymentIntents.create({
        amount: 9800,
        currency: 'PHP',
        merchant_branch_reference_number: shop.branch.reference_number,
        redirect_urls: { declined: shop.thanksUrl },
      })
      assert.equal(intent.status, 'DECLINED')
      await page.goto(checkout_url)
      await payWith(page, cards.declined)
      await shop.sql(
        `update payments.intents set attempt_count = 20 where redirect_urls::text like '%declined%' and attempt_count = 1`,
      )
      await page.reload()
    },
  },
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
