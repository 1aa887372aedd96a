import { after, test } from 'node:test'
import { examine, type State } from './looks.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

const states: Readonly<Record<string, State>> = {
  'a link that was used up': {
    outcome: 'used_up',
    heading: /has been used/,
    async arrive(page) {
      const link = await shop.link()
      await shop.pay({ linkId: link.id })
      await page.goto(link.url)
    },
  },
  'a link that expired': {
    outcome: 'expired',
    heading: /has expired/,
    async arrive(page) {
      const link = await shop.link({ redirect_urls: { expired: shop.thanksUrl } })
      await shop.sql('update ecommerce.links set expires_at = kernel.now() where id = $1', [link.id])
      await page.goto(link.url)
    },
  },
  'a link that was cancelled': {
    outcome: 'cancelled',
    heading: /was cancelled/,
    async arrive(page) {
      const link = await shop.link()
      await shop.sdk.paymentLinks.cancel(link.id)
      await page.goto(link.url)
    },
  },
  'an address of nothing': {
    arrive: (page) => page.goto(`${shop.url}/pay/l/nothing`.replace('127.0.0.1', 'localhost')),
    outcome: 'notice',
    heading: /There is nothing to pay here/,
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
