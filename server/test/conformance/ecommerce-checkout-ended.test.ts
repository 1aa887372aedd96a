import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { browser, type Shown } from './browsing.ts'
import { outcomeOf, startPayer } from './code-payer.ts'
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

test('an intent that was tried too often leads to the payment that the same browser has under way by its link', async () => {
  const { url } = await merchant.newLink({ type: 'multi_use' })
  const payer = browser()
  const [one, two] = [await payer.open(url), await payer.open(url)]
  let tried = await payer.pay(one, cards.declined)
  for (let times = 1; times < 20; times += 1) tried = await payer.pay(await payer.open(tried.url), cards.declined)
  assert.match(tried.text, /tried too many times/)
  const paying = await payer.pay(two, cards.slow)
  assert.equal(outcome(paying), 'processing')
  assert.equal((await payer.open(tried.url)).url, paying.url)
  await p.advance(60)
  // What is paid there was another purchase.
  assert.match((await payer.open(tried.url)).text, /tried too many times/)
})

test('who is refused with a card after a bank took money for a code that was over is not told that nothing was charged', async () => {
  const { id, checkout_url } = await merchant.newIntent()
  const payer = startPayer(p)
  const { page, text } = await payer.chooseCode(checkout_url)
  await payer.giveUp(page)
  assert.equal((await payer.pay(text)).status, 422)
  await payer.payByCard(page, await payer.get(page), cards.declined)
  const { user_message: message } = await merchant.readIntent(id)
  for (const told of [message, (await payer.get(page)).text]) {
    assert.match(
      told,
      /This card was not charged\..* do not pay again: ask the merchant\. If not, please use another card/,
    )
    assert.doesNotMatch(told, /have not been charged/)
  }
})
