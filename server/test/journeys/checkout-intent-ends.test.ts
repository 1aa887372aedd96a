import { after, test } from 'node:test'
import { examine, type State } from './looks.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

const ownIntent = {
  amount: 9800,
  currency: 'PHP',
  merchant_branch_reference_number: skip === false ? shop.branch.reference_number : '',
}

const states: Readonly<Record<string, State>> = {
  'an intent without a link that was cancelled': {
    outcome: 'cancelled',
    heading: /^This payment was cancelled$/,
    async arrive(page) {
      const { id, checkout_url: url } = await shop.sdk.paymentIntents.create(ownIntent)
      await shop.sdk.paymentIntents.cancel(id)
      await page.goto(url)
    },
  },
  'an intent without a link whose time is over': {
    outcome: 'expired',
    heading: /^The time for this payment is over$/,
    async arrive(page) {
      const { id, checkout_url: url } = await shop.sdk.paymentIntents.create(ownIntent)
      await shop.sql('update payments.intents set expires_at = kernel.now() where id = $1', [id])
      await page.goto(url)
    },
  },
  'an intent whose link somebody else has used up': {
    outcome: 'used_up',
    heading: /has been used/,
    async arrive(page) {
      const link = await shop.link()
      const { checkout_url: url } = await shop.sdk.paymentIntents.create({ payment_link_id: link.id })
      await shop.pay({ linkId: link.id })
      await page.goto(url)
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
