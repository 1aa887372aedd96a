import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { browser, type Shown } from './browsing.ts'
import { outcomeOf } from './code-payer.ts'
import { shop } from './shop.ts'

// A form that is older than the latest attempt of its intent pays nothing. Its payer is told so, and nothing that another card has met.
const p = await platform({ after }, { choices: { confirmWaitMsMax: 10_000 } })
const merchant = shop(p)
const other = '5555555555554444'

const isUntried =
  /You can try again now[^]*Another payment was tried here after your form was opened\. What you have just sent was not tried and not charged\./
const tellsOfIt = /What you have just sent was not tried and not charged\./
const isRefused = /Your payment was not accepted[^]*does not have enough funds/
const outcome = (page: Shown) => outcomeOf({ ...page, location: null })

/** Two tabs with the same form: of an intent, and of a link, where a browser goes back to it. */
const places = {
  'an intent': async (payer: ReturnType<typeof browser>) => {
    const { checkout_url: url } = await merchant.newIntent()
    return [await payer.open(url), await payer.open(url)] as const
  },
  'a link': async (payer: ReturnType<typeof browser>) => {
    const form = await payer.open((await merchant.newLink()).url)
    return [form, form] as const
  },
} as const

for (const [place, open] of Object.entries(places)) {
  test(`C4.checkout.twice: a good card by a form of ${place} from before another was refused is told to be untried, and pays then`, async () => {
    const payer = browser()
    const [first, second] = await open(payer)
    const refused = await payer.pay(first, cards.insufficientFunds)
    assert.match(refused.text, isRefused)
    const told = await payer.pay(second, other)
    assert.deepEqual([told.status, outcome(told)], [200, 'open'])
    assert.match(told.text, isUntried)
    assert.doesNotMatch(told.text, /not accepted|does not have enough funds/)
    // The same card was tried: it finds what became of it.
    const again = await payer.pay(second, cards.insufficientFunds)
    assert.equal(again.url, refused.url)
    assert.match(again.text, isRefused)
    const paid = await payer.pay(told, other)
    assert.deepEqual([paid.url, outcome(paid)], [refused.url, 'succeeded'])
  })

  test(`of two forms of ${place} that are sent at once with two cards one is tried, and the other told that it was not`, async () => {
    const payer = browser()
    const forms = await open(payer)
    // A slip of the pen makes the intent of a link: what is sent at once is of the same one then.
    await payer.pay(forms[0], '4242424242424241')
    const pages = await payer.payTogether(forms, [cards.insufficientFunds, '4000000000009987'])
    const urls = pages.map(({ url }) => url)
    const shown = [await payer.open(urls[0] ?? ''), await payer.open(urls[1] ?? '')]
    assert.deepEqual(shown.map(outcome), ['open', 'open'])
    assert.equal(shown.filter(({ text }) => isUntried.test(text)).length, 1)
    assert.equal(shown.filter(({ text }) => text.includes('Your payment was not accepted')).length, 1)
  })
}

test('a code that is asked for by a form from before a card was refused is told not to have been made, in Filipino too', async () => {
  const payer = browser()
  const { id, checkout_url: url } = await merchant.newIntent()
  const [first, second] = [await payer.open(`${url}?lang=fil`), await payer.open(`${url}?lang=fil`)]
  await payer.pay(first, cards.declined)
  const told = await payer.askCode(second)
  assert.equal(outcome(told), 'open')
  assert.match(told.text, /Ang kakapadala mo lang ay hindi sinubukan at hindi siningil\./)
  const [, elsewhere = ''] = / href="([^"]*)" lang="en"/.exec(told.text) ?? []
  assert.match((await payer.open(elsewhere.replaceAll('&amp;', '&'))).text, isUntried)
  assert.equal((await merchant.readIntent(id)).status, 'DECLINED')
  assert.equal(outcome(await payer.askCode(told)), 'code')
})

test('whoever sends a card by a form from before a code is told of the code while it waits, and of its end', async () => {
  const payer = browser()
  const { checkout_url: url } = await merchant.newIntent()
  const [first, second] = [await payer.open(url), await payer.open(url)]
  assert.equal(outcome(await payer.askCode(first)), 'code')
  const waits = await payer.pay(second)
  assert.equal(outcome(waits), 'code')
  assert.match(waits.text, tellsOfIt)
  await p.advance(1_800)
  const over = await payer.open(waits.url)
  assert.equal(outcome(over), 'open')
  assert.match(over.text, /The time of your QR Ph code is over/)
  assert.doesNotMatch(over.text, tellsOfIt)
})

for (const [card, stands] of [
  [cards.approved, 'succeeded'],
  [cards.challenge, 'challenge'],
] as const)
  test(`whoever sends a card by a form from before another is told how that stands, ${stands}, and that theirs was not tried`, async () => {
    const payer = browser()
    const { id, checkout_url: url } = await merchant.newIntent()
    const [first, second] = [await payer.open(url), await payer.open(url)]
    await payer.pay(first, card)
    const told = await payer.pay(second, other)
    assert.equal(outcome(told), stands)
    assert.match(told.text, tellsOfIt)
    assert.doesNotMatch((await payer.open(url)).text, tellsOfIt)
    assert.equal((await merchant.readIntent(id)).status, stands === 'succeeded' ? 'SUCCEEDED' : 'REQUIRES_ACTION')
  })

test('the address that tells of an untried card tells nothing where nothing was tried', async () => {
  const payer = browser()
  const { checkout_url: url } = await merchant.newIntent()
  const form = await payer.open(`${url}?untried=1`)
  assert.doesNotMatch(form.text, tellsOfIt)
  await payer.pay(form)
  assert.equal(outcome(await payer.open(url)), 'succeeded')
})
