import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { examine } from './looks.ts'
import { picture, showCode } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

/** Goes to the code of a new link in a browser whose time stands still, and which hears nothing of the server from then on. */
async function unheard(page: Page, search = '') {
  await page.clock.install({ time: new Date('2060-01-01T12:00:00Z') })
  await page.goto(`${(await shop.link({ type: 'multi_use' })).url}${search}`)
  await showCode(page)
  await page.route('**/status', (route) => route.fulfill({ status: 503 }))
  await page.clock.pauseAt(new Date('2060-01-01T12:01:00Z'))
  await page.reload()
  return Number(await page.locator('[data-ms-left]').getAttribute('data-ms-left'))
}

/** What a payer would pay the code by. */
const ways = (page: Page) => page.locator('#code').locator('img, [download], details, a')

const overs = {
  '?lang=en': 'The time of your QR Ph code is over.',
  '?lang=fil': 'Tapos na ang oras ng iyong QR Ph code.',
} as const

for (const [search, words] of Object.entries(overs))
  test(
    `a code is off the page when its time is over, also where the server is out of reach: ${search}`,
    { skip },
    async (t) => {
      const { page, asked } = await shop.payer(t)
      const msLeft = await unheard(page, search)
      assert.ok(msLeft > 600_000 && msLeft <= 900_000, `${msLeft} ms`)
      await page.clock.runFor(msLeft - 1_000)
      assert.ok(await ways(page).first().isVisible())
      assert.ok(await page.getByRole('alert').isHidden())
      const before = asked.length
      await page.clock.runFor(1_000)
      assert.equal(await page.getByRole('alert').textContent(), words)
      assert.deepEqual(await ways(page).filter({ visible: true }).count(), 0)
      assert.ok(
        asked.slice(before).some((url) => url.endsWith('/status')),
        'and it is asked what became of it',
      )
      assert.ok(await page.locator('form button').isVisible(), 'another way is still there')
      await picture(page, `code-over-${search.slice(-3)}`)
    },
  )

test(
  'a page that was put aside while the time of its code ran out shows no code when it comes back',
  { skip },
  async (t) => {
    const { page } = await shop.payer(t)
    const msLeft = await unheard(page)
    await page.clock.setSystemTime(new Date(Date.UTC(2060, 0, 1, 12, 1) + msLeft))
    assert.ok(await ways(page).first().isVisible())
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    assert.deepEqual(await ways(page).filter({ visible: true }).count(), 0)
  },
)

test('a page that the payer has stopped shows no code either whose time is over', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  const msLeft = await unheard(page)
  await page.goto(`${page.url()}?stay=1`)
  await page.clock.runFor(msLeft)
  assert.deepEqual(await ways(page).filter({ visible: true }).count(), 0)
  assert.ok(await page.getByRole('link', { name: 'Look again' }).isVisible())
})

test(
  'the page of a code whose time is over, out of reach of the server, has no barrier that axe knows',
  { skip },
  (t) =>
    examine(t, shop, 'a code that is over', {
      outcome: 'code',
      heading: /Pay by QR Ph/,
      async arrive(page) {
        await page.goto((await shop.link()).url)
        await showCode(page)
        await page.route('**/status', (route) => route.fulfill({ status: 503 }))
        await page.route('**/pay/i/*', async (route) => {
          const response = await route.fetch()
          const body = (await response.text()).replace(/data-ms-left="\d+"/, 'data-ms-left="1"')
          await route.fulfill({ response, body })
        })
        await page.reload()
        await page.getByRole('alert').waitFor()
      },
    }),
)
