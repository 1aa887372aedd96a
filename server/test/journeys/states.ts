import assert from 'node:assert/strict'
import { identityStore, type AccountState } from '../../src/identity/store.ts'
import { cards } from '../platform.ts'
import { waysInto, type State } from './looks.ts'
import { payWith, submit, typeCard } from './payers.ts'
import type { Shop } from './shop.ts'

type States = Readonly<Record<string, State>>

/** A link that can be paid no more, and an address of nothing. */
export const endsOfLinks = (shop: Shop): States => ({
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
  'a link of a merchant that is locked': {
    outcome: 'closed',
    heading: /No payments right now/,
    async arrive(page) {
      const stands = async (state: AccountState) => {
        await identityStore.setAccountState(shop.kaha.db, shop.merchant.id, state)
        shop.kaha.bus.hint('keys')
      }
      const link = await shop.link()
      await stands('LOCKED')
      try {
        await page.goto(link.url)
      } finally {
        await stands('ACTIVE')
      }
    },
  },
  'an address of nothing': {
    arrive: (page) => page.goto(`${shop.url}/pay/l/nothing`.replace('127.0.0.1', 'localhost')),
    outcome: 'notice',
    heading: /There is nothing to pay here/,
  },
})

/** A form that was sent too late, or by no page of ours. */
export const formsOutOfDate = (shop: Shop): States => ({
  'a form that is out of date': {
    outcome: 'notice',
    heading: /This form is out of date/,
    async arrive(page) {
      await waysInto(shop).at()(page)
      await page
        .locator('form[data-given-at] input[name=csrf]')
        .evaluate((input: { value: string }) => (input.value = 'of another page'))
      await typeCard(page)
      await submit(page)
    },
  },
})

/** An intent that can be paid no more. */
export const endsOfIntents = (shop: Shop): States => {
  const ownIntent = () =>
    shop.sdk.paymentIntents.create({
      amount: 9800,
      currency: 'PHP',
      merchant_branch_reference_number: shop.branch.reference_number,
    })
  return {
    'an intent without a link that was cancelled': {
      outcome: 'cancelled',
      heading: /^This payment was cancelled$/,
      async arrive(page) {
        const { id, checkout_url: url } = await ownIntent()
        await shop.sdk.paymentIntents.cancel(id)
        await page.goto(url)
      },
    },
    'an intent without a link whose time is over': {
      outcome: 'expired',
      heading: /^The time for this payment is over$/,
      async arrive(page) {
        const { id, checkout_url: url } = await ownIntent()
        await shop.sql('update payments.intents set expires_at = kernel.now() where id = $1', [id])
        await page.goto(url)
      },
    },
    'a payment whose time is over, and that of its link is not': {
      outcome: 'expired',
      heading: /^The time for this payment is over$/,
      async arrive(page) {
        const link = await shop.link()
        await page.goto(link.url)
        await payWith(page, cards.declined)
        await shop.sql('update payments.intents set expires_at = kernel.now() where link_id = $1', [link.id])
        await page.reload()
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
}

/** What a submission leads to. */
export const results = (shop: Shop): States => {
  const { paid } = waysInto(shop)
  return {
    'a refused card': {
      arrive: paid(cards.declined, { redirect_urls: { declined: shop.thanksUrl } }),
      outcome: 'open',
      heading: /Pay/,
    },
    'a payment that failed': { arrive: paid(cards.error), outcome: 'open', heading: /Pay/ },
    'a payment in progress': {
      arrive: paid(cards.slow),
      outcome: 'processing',
      heading: /Confirming your payment/,
      leftWithoutScripts: { 'meta-refresh': 'the payer can stop it, which axe does not look for' },
    },
    'a payment in progress whose page was stopped': {
      outcome: 'processing',
      heading: /Confirming your payment/,
      async arrive(page) {
        await paid(cards.slow)(page)
        // Only a browser without scripts loads the page anew, and offers to stop that.
        const stop = page.getByRole('link', { name: 'Stop reloading it' })
        if ((await stop.count()) > 0) await stop.click()
        else await page.goto(`${page.url()}?stay=1`)
        await page.getByRole('link', { name: 'Look again' }).waitFor()
      },
    },
    'a payment that succeeded': { arrive: paid(cards.approved), outcome: 'succeeded', heading: /Payment complete/ },
  }
}

/** The same, later or again. */
export const laterResults = (shop: Shop): States => {
  const { paid } = waysInto(shop)
  const slowCard = { number: cards.slow, exp_month: 12, exp_year: 2040, cvc: '123' }
  return {
    'a payment that succeeded, with a way back': {
      outcome: 'succeeded',
      heading: /Payment complete/,
      async arrive(page) {
        // The countdown would leave the page while it is looked at.
        await page.clock.install()
        await paid(cards.approved, { redirect_urls: { success: shop.thanksUrl } })(page)
      },
    },
    'a payment that was given back in full': {
      outcome: 'refunded',
      heading: /Payment refunded/,
      async arrive(page) {
        const { id, checkout_url: url } = await shop.sdk.paymentIntents.create({
          amount: 9800,
          currency: 'PHP',
          merchant_branch_reference_number: shop.branch.reference_number,
        })
        await page.goto(url)
        await payWith(page)
        await shop.sdk.refunds.create({ payment_intent_id: id })
        await page.reload()
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
}
