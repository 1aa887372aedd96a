import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cardOf, cards } from '../platform.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

test(
  "C4.confirm.pages: a payer pays on a page of the merchant's own, which confirms from the browser",
  { skip },
  async (t) => {
    const { id, client_secret } = await shop.sdk.paymentIntents.create({
      amount: 9800,
      currency: 'PHP',
      merchant_branch_reference_number: shop.branch.reference_number,
    })
    const { page } = await shop.payer(t)
    await page.goto(shop.thanksUrl)
    const request = {
      url: `${shop.kaha.addresses.base}/ecom/v1/payment-intents/${id}/confirm`,
      body: JSON.stringify({ client_secret, payment_method: { type: 'card', card: cardOf(cards.approved) } }),
    }
    const paid = await page.evaluate(async ({ url, body }) => {
      const headers = { accept: 'application/json', 'content-type': 'application/json' }
      const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' })
      return { status: answer.status, correlated: answer.headers.has('x-correlation-id'), body: await answer.text() }
    }, request)
    assert.deepEqual([paid.status, paid.correlated], [200, true])
    assert.equal(JSON.parse(paid.body).status, 'SUCCEEDED')
  },
)
