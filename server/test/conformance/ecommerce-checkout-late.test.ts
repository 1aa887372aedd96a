import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { browser, type Shown } from './browsing.ts'
import { outcomeOf } from './code-payer.ts'
import { bodyOf, fromNow, hourMs, shop } from './shop.ts'

// What the page of a link has begun ends after a day. While its link takes payments, its payer can begin again.
const p = await platform({ after })
const merchant = shop(p)
const expired = 'https://shop.example.com/late'
const inDays = (days: number): string => fromNow(p, days * 24 * hourMs)
const newLink = (fields: object = {}) =>
  merchant.newLink({ expires_at: inDays(30), redirect_urls: { expired }, ...fields })
const laterThanADay = () => p.advance(25 * 3_600)
const mistyped = '4242424242424241'

type Payer = ReturnType<typeof browser>
const outcome = (page: Shown) => outcomeOf({ ...page, location: null })

/** Where the one button of a page leads: it has no other, also none to the merchant. */
const leadsTo = (page: Shown): string => {
  const buttons = [...page.text.matchAll(/<a class="button[^"]*"[^>]* href="([^"]*)"/g)].map(([, url = '']) => url)
  assert.equal(outcome(page), 'expired')
  assert.match(page.text, /<h1>(The time for this payment is over|Tapos na ang oras para sa bayad na ito)<\/h1>/)
  assert.equal(buttons.length, 1)
  return buttons[0] ?? ''
}

/** How a payer begins at a link, and what they do when they come back. */
const ways = {
  'a slip of the pen, and sends the form again': async (payer, url) => {
    const slip = await payer.pay(await payer.open(url), mistyped)
    assert.equal(slip.status, 400)
    return () => payer.pay(slip)
  },
  'a decline, and sends the form again': async (payer, url) => {
    const declined = await payer.pay(await payer.open(url), cards.declined)
    return () => payer.pay(declined)
  },
  'a decline, and opens its page': async (payer, url) => {
    const declined = await payer.pay(await payer.open(url), cards.declined)
    return () => payer.open(declined.url)
  },
  'the page of a challenge, and passes that': async (payer, url) => {
    const challenge = await payer.pay(await payer.open(url), cards.challenge)
    return () => payer.answer(challenge, 'passed')
  },
} as const satisfies Readonly<Record<string, (payer: Payer, url: string) => Promise<() => Promise<Shown>>>>

for (const [way, begin] of Object.entries(ways))
  test(`whoever comes back a day after ${way} is led to the link, and pays there`, async () => {
    const { id, url } = await newLink()
    const payer = browser()
    const goOn = await begin(payer, url)
    await laterThanADay()
    const over = await goOn()
    assert.match(over.text, /You have not been charged for it\. You can try again\./)
    assert.doesNotMatch(over.text, /ask the merchant/)
    assert.equal(leadsTo(over), url)
    assert.equal(outcome(await payer.pay(await payer.open(url))), 'succeeded')
    assert.equal((await merchant.readLink(id)).status, 'CONSUMED')
  })

test('whoever began at a link that was given more time since is led to it, in the language of the page', async () => {
  const { id, url } = await newLink({ expires_at: inDays(0.5) })
  const payer = browser()
  const declined = await payer.pay(await payer.open(url), cards.declined)
  bodyOf(await merchant.updateLink(id, { expires_at: inDays(30) }), 200)
  await laterThanADay()
  const filipino = await payer.open(`${declined.url}?lang=fil`)
  assert.match(filipino.text, /Hindi ka siningil para rito\. Puwede kang sumubok muli\./)
  assert.equal(leadsTo(filipino), `${url}?lang=fil`)
})

test('whoever was shown a code is told what to do if the bank took the money, before they are led to the link', async () => {
  const { url } = await newLink()
  const payer = browser()
  const code = await payer.askCode(await payer.open(url))
  assert.equal(outcome(code), 'code')
  await laterThanADay()
  const over = await payer.open(code.url)
  assert.match(
    over.text,
    /If your bank took the money, do not pay again: ask the merchant\. If not, you can try again\./,
  )
  assert.doesNotMatch(over.text, /not been charged/)
  assert.equal(leadsTo(over), url)
  const filipino = await payer.open(`${code.url}?lang=fil`)
  assert.match(
    filipino.text,
    /huwag nang magbayad ulit: magtanong sa merchant\. Kung hindi, puwede kang sumubok muli\./,
  )
  assert.doesNotMatch(filipino.text, /Hindi ka siningil/)
})

test('a payment that the merchant made, and one whose link is over too, leads back to the merchant', async () => {
  const { id } = await newLink()
  const made = await merchant.newIntent({ payment_link_id: id, redirect_urls: { expired } })
  const short = await newLink({ expires_at: inDays(0.5) })
  const payer = browser()
  const declined = await payer.pay(await payer.open(short.url), cards.declined)
  await laterThanADay()
  for (const url of [made.checkout_url, declined.url]) {
    const { text } = await payer.open(url)
    assert.match(text, /You have not been charged\. Please ask the merchant for a new one\./)
    assert.ok(text.includes(`id="return" href="${expired}"`))
    assert.doesNotMatch(text, /Try again/)
  }
})

test('whoever has paid by the link since is led to that payment, and not told that nothing was charged', async () => {
  const { url } = await newLink()
  const payer = browser()
  const declined = await payer.pay(await payer.open(url), cards.declined)
  await laterThanADay()
  const paid = await payer.pay(await payer.open(url))
  assert.deepEqual([(await payer.open(declined.url)).url, outcome(paid)], [paid.url, 'succeeded'])
})

test('a form that comes again after a slip of the pen tells until when its payment can be made', async () => {
  const { url } = await newLink()
  const payer = browser()
  const untilOf = ({ text }: Shown): string => /You can pay until <time datetime="([^"]*)"/.exec(text)?.[1] ?? ''
  const form = await payer.open(url)
  const slip = await payer.pay(form, mistyped)
  assert.ok(untilOf(form) > inDays(29))
  assert.ok(untilOf(slip) < inDays(1.01))
})
