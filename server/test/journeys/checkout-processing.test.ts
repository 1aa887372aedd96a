import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards } from '../platform.ts'
import { outcomeOf, payWith, receiptOn } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after }, { choices: { confirmWaitMsMax: 50 } })

test(
  'the page of a payment in progress asks a small route how it stands, and shows the receipt by itself',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page, asked } = await shop.payer(t)
    await page.goto(link.url)
    await payWith(page, cards.slow)
    assert.equal(await outcomeOf(page), 'processing')
    const documents = asked.length
    const looked = page.waitForResponse(/\/pay\/i\/[\w-]{22}\/status$/)
    assert.deepEqual(await (await looked).json(), { outcome: 'processing', attempts: 1 })
    await shop.advance(25)
    await page.waitForSelector('[data-outcome=succeeded]')
    assert.equal((await receiptOn(page))['Amount'], '₱98.00')
    const later = asked.slice(documents).filter((url) => /\/i\/[\w-]{22}$/.test(url))
    assert.equal(later.length, 1)
  },
)

test(
  'a browser without scripts is told to look again while a payment is in progress, and finds the receipt',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t, { scripts: false })
    await page.goto(link.url)
    await payWith(page, cards.slow)
    assert.equal(await outcomeOf(page), 'processing')
    assert.equal(await page.locator('meta[http-equiv=refresh]').getAttribute('content'), '3')
    await shop.advance(25)
    await page.reload()
    assert.equal(await outcomeOf(page), 'succeeded')
  },
)
