import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { browser, type Shown } from './browsing.ts'
import { outcomeOf } from './code-payer.ts'
import { bodyOf, hourMs, shop } from './shop.ts'

// What the page of an intent says whose link has ended: beside it the same payer may have paid, or be paying, in another tab.
const p = await platform({ after }, { choices: { confirmWaitMsMax: 50 } })
const merchant = shop(p)
const outcome = (page: Shown) => outcomeOf({ ...page, location: null })

const ends = {
  cancelled: async (id: string) => void bodyOf(await merchant.cancelLink(id), 200),
  expired: () => p.advance(2 * 3_600),
} as const
const nothingCharged = /(cancelled|expired)\. You have not been charged\./

for (const [end, ending] of Object.entries(ends)) {
  test(`beside a payment by a link that was ${end} no other tab says that nothing was charged`, async () => {
    for (const card of [cards.approved, cards.slow]) {
      const { id, url } = await merchant.newLink({
        type: 'multi_use',
        expires_at: new Date(p.kaha.clock.now().getTime() + hourMs).toISOString(),
      })
      const payer = browser()
      const [one, two] = [await payer.open(url), await payer.open(url)]
      const declined = await payer.pay(one, cards.declined)
      await payer.pay(two, card)
      await ending(id)
      const { text } = await payer.open(declined.url)
      assert.match(text, /If you paid with it before, do not pay again: your payment is not undone\./)
      assert.doesNotMatch(text, nothingCharged)
      await p.idle()
    }
    // The control: where nobody has, that is what it says.
    const { id, url } = await merchant.newLink({
      type: 'multi_use',
      expires_at: new Date(p.kaha.clock.now().getTime() + hourMs).toISOString(),
    })
    const payer = browser()
    const declined = await payer.pay(await payer.open(url), cards.declined)
    await ending(id)
    assert.match((await payer.open(declined.url)).text, nothingCharged)
  })
}

test('a tab of a one_time link that was cancelled leads to the payment that the same browser has under way', async () => {
  const { id, url } = await merchant.newLink()
  const payer = browser()
  const [one, two] = [await payer.open(url), await payer.open(url)]
  const declined = await payer.pay(one, cards.declined)
  const paying = await payer.pay(two, cards.slow)
  assert.equal(outcome(paying), 'processing')
  await ends.cancelled(id)
  assert.equal((await payer.open(declined.url)).url, paying.url)
  await p.advance(60)
  const paid = await payer.open(declined.url)
  assert.deepEqual([paid.url, outcome(paid)], [paying.url, 'succeeded'])
})
