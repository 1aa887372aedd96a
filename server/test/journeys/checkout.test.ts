import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { cards } from '../platform.ts'
import type { Received } from '../receiver.ts'
import { desktop, outcomeOf, payWith, phone, picture, receiptOn } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })
const merchant = skip === false ? await subscribed() : ({} as Merchant)

/** How a payer may come back to the merchant from the page of a payment that succeeded. */
const leave = {
  countdown: (page: Page) => page.clock.runFor(22_000),
  'timer of the browser': async () => {},
  'button, after staying': async (page: Page) => {
    await page.getByRole('button', { name: 'Stay on this page' }).click()
    assert.equal(await page.getByText('Taking you back').isVisible(), false)
    await page.getByRole('link', { name: 'Return to Kapihan ni Aling Nena' }).click()
  },
  'link, after staying': async (page: Page) => {
    await page.getByRole('link', { name: 'Stay on this page' }).click()
    await page.waitForURL('**stay=1')
    await page.getByRole('link', { name: 'Return to Kapihan ni Aling Nena' }).click()
  },
}

const settings = [
  { name: 'on a phone', options: { size: phone }, by: 'countdown' },
  { name: 'at a desktop', options: { size: desktop, scheme: 'dark' }, by: 'button, after staying' },
  { name: 'on a phone without scripts', options: { size: phone, scripts: false }, by: 'timer of the browser' },
  { name: 'at a desktop without scripts', options: { size: desktop, scripts: false }, by: 'link, after staying' },
] as const

for (const { name, options, by } of settings) {
  test(
    `[C4.link.url, A2.signature.form] a payer pays a shared link ${name}, reads the receipt, goes back by the ${by}, and the merchant hears of it`,
    {
      skip,
    },
    async (t) => {
      const link = await shop.link({ redirect_urls: { success: shop.thanksUrl }, order_reference: 'ORDER-1001' })
      const { page } = await shop.payer(t, options)
      if (by === 'countdown') await page.clock.install()

      await page.goto(link.url)
      assert.match(await page.title(), /^Pay ₱98\.00 to Kapihan ni Aling Nena$/)
      await payWith(page)
      assert.equal(await outcomeOf(page), 'succeeded')
      assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Payment complete')
      const shown = await receiptOn(page)
      await leave[by](page)
      await page.waitForURL(shop.thanksUrl)

      const [event] = await merchant.heard(link.id)
      assert.equal(event?.type, 'payment.succeeded')
      const intent = await shop.sdk.paymentIntents.retrieve(String(event?.data['payment_intent_id']))
      assert.equal(intent.status, 'SUCCEEDED')
      assert.equal(intent.order_reference, 'ORDER-1001')
      assert.equal(shown['Approval code'], intent.receipt?.approval_code)
      assert.equal(shown['Invoice number'], intent.receipt?.invoice_number)
      assert.equal(shown['Transaction ID'], intent.receipt?.transaction_id)
      assert.deepEqual([shown['Amount'], shown['Card']], ['₱98.00', 'Visa ending in 4242'])
      assert.deepEqual(await merchant.statuses(link.id), ['payment.succeeded DELIVERED'])
      assert.equal((await shop.sdk.paymentLinks.retrieve(link.id)).status, 'CONSUMED')
    },
  )

  test(
    `[C4.confirm.again, C4.checkout.first-submission] a payer whose first card is refused ${name} pays the same intent with a second one`,
    {
      skip,
    },
    async (t) => {
      const link = await shop.link({ redirect_urls: { declined: shop.thanksUrl } })
      const { page } = await shop.payer(t, options)

      await page.goto(link.url)
      await payWith(page, cards.declined)
      assert.match(await page.title(), /^Declined: /)
      assert.match(
        (await page.getByRole('alert').textContent()) ?? '',
        /Your bank declined this card\. You have not been charged\./,
      )
      assert.equal(await page.getByRole('link', { name: /^Back to/ }).getAttribute('href'), shop.thanksUrl)
      await picture(page, `journey-declined-${name.replaceAll(' ', '-')}`)
      await payWith(page)
      assert.equal(await outcomeOf(page), 'succeeded')
      assert.equal(await page.getByRole('link', { name: /^Return to/ }).count(), 0)

      const events = await merchant.heard(link.id)
      assert.deepEqual(
        events.map((event) => event.type),
        ['payment.declined', 'payment.succeeded'],
      )
      const of = (field: string) => new Set(events.map(({ data }) => data[field]))
      assert.equal(of('payment_intent_id').size, 1)
      assert.equal(of('payment_attempt_id').size, 2)
      assert.deepEqual(await merchant.statuses(link.id), ['payment.declined DELIVERED', 'payment.succeeded DELIVERED'])
    },
  )
}

test(
  '[C4.intent-create.checkout-url] a payer pays an intent that has no link at its own address',
  { skip },
  async (t) => {
    const intent = await shop.sdk.paymentIntents.create({
      amount: 123_456,
      currency: 'PHP',
      description: 'Deposit for a catering order',
      merchant_branch_reference_number: shop.branch.reference_number,
    })
    const { page } = await shop.payer(t)
    await page.goto(intent.checkout_url)
    assert.match((await page.locator('main').textContent()) ?? '', /₱1,234\.56[^]*Deposit for a catering order/)
    await payWith(page, '378282246310005')
    assert.equal((await receiptOn(page))['Card'], 'American Express ending in 0005')
    assert.equal((await shop.sdk.paymentIntents.retrieve(intent.id)).status, 'SUCCEEDED')
  },
)

test(
  'a payer whose bank takes its time is told not to pay again, and the page follows the payment by itself',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t)
    await page.goto(link.url)
    await payWith(page, cards.slow)
    assert.equal(await outcomeOf(page), 'processing')
    assert.match((await page.locator('main').textContent()) ?? '', /Please do not pay again/)
    assert.equal(await page.locator('form').count(), 0)
    await shop.advance(30)
    await page.locator('body[data-outcome=succeeded]').waitFor()
    assert.equal((await receiptOn(page))['Card'], 'Visa ending in 0259')
  },
)

type Merchant = Awaited<ReturnType<typeof subscribed>>

interface Told {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A merchant's own server, and what the merchant knows of a link through it and through the API. */
async function subscribed() {
  const { signing_secret } = await shop.sdk.webhooks.retrieveSigningSecret(
    (
      await shop.sdk.webhooks.createEndpoint({
        url: shop.receiver.url,
        enabled_events: ['payment.succeeded', 'payment.declined', 'payment.failed'],
      })
    ).id,
  )
  const verifier = new Webhook(signing_secret)
  const verified = ({ headers, body }: Received) => verifier.verify(body, headers as Record<string, string>) as Told
  const attemptOf = ({ data }: Told) => String(data['payment_attempt_id'])
  return {
    /** What was delivered of the link, each delivery verified, in the order of the attempts. */
    async heard(linkId: string): Promise<Told[]> {
      await shop.idle()
      const told = shop.receiver.received.map(verified).filter(({ data }) => data['payment_link_id'] === linkId)
      return told.toSorted((a, b) => (attemptOf(a) < attemptOf(b) ? -1 : 1))
    },
    /** How the list of events tells of the link, oldest first. */
    async statuses(linkId: string): Promise<string[]> {
      const { data } = await shop.sdk.webhooks.listEvents({ branch_id: shop.branch.id })
      const own = data.filter(({ payment_link_id }) => payment_link_id === linkId)
      return own.map(({ type, status }) => `${type} ${status}`).toReversed()
    },
  }
}
