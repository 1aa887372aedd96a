import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { browser, type Shown } from './browsing.ts'
import { outcomeOf } from './code-payer.ts'
import { bodyOf, rowsOf, shop } from './shop.ts'

// What a browser has done with a link is told to its payer before they pay there again, whatever they tried since.
const p = await platform({ after }, { choices: { confirmWaitMsMax: 50 } })
const merchant = shop(p)
const several = (fields: object = {}) => merchant.newLink({ type: 'multi_use', ...fields })
const successesOf = async (id: string): Promise<number> => (await merchant.readLink(id)).successful_payment_count
const mistyped = '4242424242424241'
/** Gives back what was paid by a link: all of it, or so much. */
const refund = async (linkId: string, amount?: number) => {
  const paid = 'select id from payments.intents where link_id = $1 and succeeded_at is not null'
  const [intent] = await rowsOf<{ id: string }>(p, paid, [linkId])
  bodyOf(await merchant.createRefund(intent?.id ?? '', amount === undefined ? {} : { amount }), 201)
}

const isPaid = /You have already paid here\. Paying again is another payment\./
const isUnderWay = /A payment of yours is still under way here\. Paying now is another payment\./
type Payer = ReturnType<typeof browser>
const outcome = (page: Shown) => outcomeOf({ ...page, location: null })

test('a payment is told at its link after the next try was declined, five tries on, or was mistyped', async () => {
  const { id, url } = await several()
  const payer = browser()
  const paid = await payer.pay(await payer.open(url))
  assert.equal(outcome(paid), 'succeeded')
  for (const card of [...Array.from({ length: 6 }, () => cards.declined), mistyped]) {
    const before = await payer.open(url)
    assert.match(before.text, isPaid)
    assert.ok(before.text.includes(paid.url))
    const tried = await payer.pay(before, card)
    assert.equal(tried.status, card === mistyped ? 400 : 200)
  }
  assert.match((await payer.open(url)).text, isPaid)
  assert.equal(await successesOf(id), 1)
})

test('a payment that was given back in full is not told as paid at its link, and its receipt is found where that takes no more', async () => {
  const payer = browser()
  const { id, url, amount } = await several()
  const first = await payer.pay(await payer.open(url))
  await refund(id, amount - 1_000)
  assert.match((await payer.open(url)).text, isPaid, 'it was given back in part')
  await refund(id)
  const page = await payer.open(url)
  assert.doesNotMatch(page.text, /already paid|See your payment/)
  const second = await payer.pay(page)
  assert.equal(outcome(second), 'succeeded')
  const { text } = await payer.open(url)
  assert.match(text, isPaid)
  assert.ok(text.includes(second.url) && !text.includes(first.url), 'the other one is told')

  const once = await merchant.newLink()
  const paid = await payer.pay(await payer.open(once.url))
  await refund(once.id)
  const back = await payer.open(once.url)
  assert.equal(back.url, paid.url)
  assert.match(back.text, /Refunded/)
})

for (const [how, card] of [
  ['in a challenge', cards.challenge],
  ['at the bank', cards.slow],
] as const)
  test(`a payment that is ${how} is told at its link after the next try was declined`, async () => {
    const { url } = await several()
    const payer = browser()
    const [first, second] = [await payer.open(url), await payer.open(url)]
    const begun = await payer.pay(first, card)
    const told = await payer.pay(second, cards.declined)
    assert.match(told.text, isUnderWay)
    assert.match((await payer.pay(told, cards.declined)).text, /You have not been charged/)
    const back = await payer.open(url)
    assert.match(back.text, isUnderWay)
    if (card === cards.slow) assert.ok(back.text.includes(begun.url))
  })

test('whoever passes the challenge of a one-time link after a try in another tab finds the receipt', async () => {
  const { url } = await merchant.newLink()
  const payer = browser()
  const [first, second] = [await payer.open(url), await payer.open(url)]
  const challenge = await payer.pay(first, cards.challenge)
  assert.equal(outcome(await payer.pay(await payer.pay(second, cards.declined), cards.declined)), 'open')
  const paid = await payer.answer(challenge, 'passed')
  assert.equal(outcome(paid), 'succeeded')
  const back = await payer.open(url)
  assert.deepEqual([back.url, outcome(back)], [paid.url, 'succeeded'])
})

test('of what a browser did with a link a code that waits is told before a payment that was made after it', async () => {
  const { url } = await several()
  const payer = browser()
  const [first, second] = [await payer.open(url), await payer.open(url)]
  const paid = await payer.pay(first)
  const told = await payer.submit(second, { method: 'qrph' })
  assert.match(told.text, isPaid)
  const code = await payer.askCode(told)
  assert.equal(outcome(code), 'code')
  assert.notEqual(code.url, paid.url)
  assert.equal((await payer.open(url)).url, code.url)
})

test('a form that was sent with a slip of the pen tells of what was paid since, before it pays', async () => {
  const { id, url } = await several()
  const payer = browser()
  const slip = await payer.pay(await payer.open(url), mistyped)
  assert.equal(slip.status, 400)
  await payer.pay(await payer.open(url))
  const told = await payer.pay(slip)
  assert.match(told.text, isPaid)
  assert.equal(await successesOf(id), 1)
  assert.equal(outcome(await payer.pay(told)), 'succeeded')
  assert.equal(await successesOf(id), 2)
})

test('the page of a declined payment tells of what was paid in another tab since, by a reload and before it pays', async () => {
  for (const reload of [true, false]) {
    const { id, url } = await several()
    const payer = browser()
    const declined = await payer.pay(await payer.open(url), cards.declined)
    const paid = await payer.pay(await payer.open(url))
    const told = reload ? await payer.open(declined.url) : await payer.pay(declined)
    assert.equal(told.url, declined.url)
    assert.match(told.text, isPaid)
    assert.ok(told.text.includes(paid.url))
    assert.equal(await successesOf(id), 1)
    const again = await payer.pay(told)
    assert.deepEqual([again.url, outcome(again)], [declined.url, 'succeeded'])
    assert.equal(await successesOf(id), 2)
  }
})

test('the page of a declined payment finds what was paid in another tab though the answer to that was lost', async () => {
  const { id, url } = await several()
  const payer = browser()
  const declined = await payer.pay(await payer.open(url), cards.declined)
  await payer.payUnheard(await payer.open(url))
  assert.match((await payer.pay(declined)).text, isPaid)
  assert.equal(await successesOf(id), 1)
})

test('the page of a declined payment leads to the code that another tab shows, by a reload and before it pays', async () => {
  const { id, url } = await several()
  const payer = browser()
  const declined = await payer.pay(await payer.open(url), cards.declined)
  const code = await payer.askCode(await payer.open(url))
  assert.equal(outcome(code), 'code')
  for (const shown of [await payer.open(declined.url), await payer.pay(declined), await payer.askCode(declined)])
    assert.equal(shown.url, code.url)
  assert.equal(await successesOf(id), 0)
})

for (const [how, begin] of [
  ['a card at the bank', (payer, form) => payer.pay(form, cards.slow)],
  ['a code', (payer, form) => payer.askCode(form)],
] as const satisfies readonly (readonly [string, (payer: Payer, form: Shown) => Promise<Shown>])[])
  test(`the page of a declined payment leads whoever pays the one-time link in another tab by ${how} there`, async () => {
    const { id, url } = await merchant.newLink()
    const payer = browser()
    const [first, second] = [await payer.open(url), await payer.open(url)]
    const declined = await payer.pay(first, cards.declined)
    const paying = await begin(payer, second)
    assert.notEqual(paying.url, declined.url)
    assert.equal((await payer.open(declined.url)).url, paying.url)
    // Another browser is not known, and may be the payer's all the same.
    const elsewhere = await browser().open(declined.url)
    assert.equal(outcome(elsewhere), 'fully_reserved')
    assert.match(elsewhere.text, /Someone is paying with this link right now\. If it is you, do not pay again/)
    assert.match((await browser().open(`${declined.url}?lang=fil`)).text, /Kung ikaw iyon, huwag nang magbayad ulit/)
    assert.equal(await successesOf(id), 0)
  })

test('whoever passes a challenge while they pay the last use in another tab is led to that payment', async () => {
  const { url } = await merchant.newLink()
  const payer = browser()
  const challenge = await payer.pay(await payer.open(url), cards.challenge)
  const paying = await payer.pay(await payer.open(url), cards.slow)
  assert.equal(outcome(paying), 'processing')
  assert.equal((await payer.answer(challenge, 'passed')).url, paying.url)
})

for (const [what, begin, goOn] of [
  [
    'passes a challenge',
    (payer, form) => payer.pay(form, cards.challenge),
    (payer, left) => payer.answer(left, 'passed'),
  ],
  [
    'opens the page of a declined payment',
    (payer, form) => payer.pay(form, cards.declined),
    (payer, left) => payer.open(left.url),
  ],
] as const satisfies readonly (readonly [string, ...((payer: Payer, page: Shown) => Promise<Shown>)[]])[])
  test(`whoever ${what} after they have used the link up in another tab is led to that payment, given back or not`, async () => {
    const { id, url } = await merchant.newLink()
    const payer = browser()
    const left = await begin(payer, await payer.open(url))
    const paid = await payer.pay(await payer.open(url))
    assert.equal(outcome(paid), 'succeeded')
    const back = await goOn(payer, left)
    assert.deepEqual([back.url, outcome(back)], [paid.url, 'succeeded'])
    await refund(id)
    const later = await goOn(payer, left)
    assert.deepEqual([later.url, outcome(later)], [paid.url, 'refunded'])
  })

test('whoever buys a second time by a link of several uses, of which another takes the last, is not led to what they paid first', async () => {
  const { id, url } = await merchant.newLink({ type: 'multi_use', max_uses: 2 })
  const payer = browser()
  assert.equal(outcome(await payer.pay(await payer.open(url))), 'succeeded')
  const left = await payer.pay(await payer.open(url), cards.challenge)
  await p.pay({ linkId: id })
  const back = await payer.answer(left, 'passed')
  assert.equal(outcome(back), 'used_up')
  assert.match(back.text, /If not, you have not been charged/)
})

test('whoever paid by a link is not led there from a payment that its merchant made of it and cancelled', async () => {
  const { id, url } = await merchant.newLink()
  const other = await merchant.newIntent({ payment_link_id: id })
  bodyOf(await merchant.cancelIntent(other.id), 200)
  const payer = browser()
  assert.equal(outcome(await payer.pay(await payer.open(url))), 'succeeded')
  assert.equal(outcome(await payer.open(other.checkout_url)), 'cancelled')
})

test('of two payments that were left for codes, and whose link another has used up, neither page leads to the other', async () => {
  const { id, url } = await merchant.newLink()
  const payer = browser()
  const left: Shown[] = []
  for (let tabs = 0; tabs < 2; tabs += 1) {
    const code = await payer.askCode(await payer.open(url))
    left.push(await payer.submit(code, {}))
  }
  await p.pay({ linkId: id })
  for (const { url: page } of left) {
    const told = await payer.open(page)
    assert.deepEqual([told.url, outcome(told)], [page, 'used_up'])
    assert.match(told.text, /If your bank took the money, do not pay again/)
  }
})

test('what was paid on the page of an intent of a link is told at the link, and what was paid by another link is not', async () => {
  const [{ id, url }, other] = [await several(), await several()]
  const payer = browser()
  const intent = await merchant.newIntent({ payment_link_id: id })
  const paid = await payer.pay(await payer.open(intent.checkout_url))
  assert.equal(outcome(paid), 'succeeded')
  assert.ok((await payer.open(url)).text.includes(paid.url))
  assert.doesNotMatch((await payer.open(other.url)).text, isPaid)
  const declined = await payer.pay(await payer.open(other.url), cards.declined)
  assert.doesNotMatch((await payer.open(declined.url)).text, isPaid)
})

for (const lost of [0, 1] as const)
  test(`C4.checkout.twice: a payer who opened a link in two tabs at once finds what tab ${lost + 1} paid though the answer was lost`, async () => {
    const { id, url } = await several()
    const payer = browser()
    const tabs = await payer.openTogether([url, url])
    const [first, second] = [tabs[lost], tabs[1 - lost]]
    assert.ok(first !== undefined && second !== undefined)
    await payer.payUnheard(first)
    assert.match((await payer.pay(second)).text, isPaid)
    assert.match((await payer.open(url)).text, isPaid)
    assert.equal(await successesOf(id), 1)
  })

test('a browser keeps both of two payments that were answered at once', async () => {
  const { url } = await several()
  const payer = browser()
  // With a slip of the pen, for whoever comes second would be told of a payment that has begun.
  const tabs = await payer.payTogether(await payer.openTogether([url, url]), [mistyped, mistyped])
  assert.deepEqual(tabs.map(outcome), ['open', 'open'])
  assert.equal(new Set(rememberedIn('kaha_payment', payer.cookiesFor(url))).size, 2)
})

test('what was paid on the page of an intent of a link is told at the link, and by its other intents, though the answer was lost', async () => {
  const { id, url } = await several()
  const payer = browser()
  const [first, second] = [
    await merchant.newIntent({ payment_link_id: id }),
    await merchant.newIntent({ payment_link_id: id }),
  ]
  const [page, other, form] = [
    await payer.open(first.checkout_url),
    await payer.open(second.checkout_url),
    await payer.open(url),
  ]
  // Of what was merely looked at nothing is told.
  for (const shown of [page, other, form]) assert.doesNotMatch(shown.text, /See your payment/)
  await payer.payUnheard(page)
  for (const untold of [form, other]) assert.match((await payer.pay(untold)).text, isPaid)
  assert.ok((await payer.open(url)).text.includes(page.url))
  assert.equal(await successesOf(id), 1)
})

test('a browser that visits hundreds of links sends to each page what it needs of that alone, and forgets no link', async () => {
  const payer = browser()
  const first = await several()
  const paid = await payer.pay(await payer.open(first.url))
  for (let links = 0; links < 12; links += 1) await payer.pay(await payer.open((await several()).url))
  assert.ok((await payer.open(first.url)).text.includes(paid.url))
  assert.ok(payer.cookiesFor(paid.url).length < 1000)
  assert.ok(payer.cookiesFor(first.url).length < 1200)
})

test('C4.checkout.twice: a payer whose answer was lost while other tabs showed forms of the link finds that payment back', async () => {
  const { id, url } = await several()
  const payer = browser()
  const first = await payer.open(url)
  for (let tabs = 0; tabs < 4; tabs += 1) await payer.open(url)
  await payer.payUnheard(first)
  const told = await payer.open(url)
  assert.match(told.text, isPaid)
  // It stays found, however many forms push the lost one out.
  for (let tabs = 0; tabs < 6; tabs += 1) assert.match((await payer.open(url)).text, isPaid)
  assert.equal(await successesOf(id), 1)
})

test('a browser remembers the last five payments and forms of a link, the last ten of all, and those that it has in one cookie', async () => {
  const { url } = await several()
  const payer = browser()
  const paid: string[] = []
  for (let time = 0; time < 7; time += 1) paid.push((await payer.pay(await payer.open(url))).url)
  const tokens = paid.map((page) => page.split('/').at(-1) ?? '')
  assert.deepEqual(listedIn('kaha_payment', payer.cookiesFor(url)), tokens.slice(-5).toReversed())
  assert.deepEqual(rememberedIn('kaha_payment', payer.cookiesFor(url)), tokens)
  const nonces: string[] = []
  for (const tabs of [6, 1, 3, 1, 1]) {
    const shown = await payer.openTogether(Array.from({ length: tabs }, () => url))
    nonces.push(...shown.map((page) => /name="nonce" value="(\w+)"/.exec(page.text)?.[1] ?? ''))
  }
  const listed = listedIn('kaha_form', payer.cookiesFor(url))
  assert.deepEqual([listed.length, listed[0], listed[1]], [5, nonces.at(-1), nonces.at(-2)])
  // Of the six that were opened at once, which came last is for the server to say.
  const kept = rememberedIn('kaha_form', payer.cookiesFor(url))
  assert.deepEqual([kept.length, new Set(nonces.slice(0, 6)).intersection(new Set(kept)).size], [10, 4])
  assert.deepEqual(new Set(kept.slice(4)), new Set(nonces.slice(6)))
  const list = `kaha_payment=${'x'.repeat(22)}.${tokens[3]}`
  assert.match(await (await fetch(url, { headers: { cookie: list } })).text(), isPaid)
})

test('what a browser is told of again is what it has remembered last, and a form of the link that is open still tells of it', async () => {
  const { id, url } = await several()
  const payer = browser()
  const declined = await payer.pay(await payer.open(url), cards.declined)
  assert.equal(outcome(await payer.pay(await payer.open(url))), 'succeeded')
  const decline = async () => payer.pay(await payer.open((await several()).url), cards.declined)
  for (let links = 0; links < 9; links += 1) await decline()
  assert.match((await payer.open(url)).text, isPaid)
  await decline()
  assert.match((await payer.pay(declined)).text, isPaid)
  assert.equal(await successesOf(id), 1)
})

test('an answer is no larger than a proxy takes, however many tabs a browser has opened at once', async () => {
  const { url } = await several()
  const payer = browser()
  await payer.openTogether(Array.from({ length: 40 }, () => url))
  const answer = await fetch(url, { headers: { cookie: payer.cookiesFor(url) } })
  assert.ok(answer.headers.getSetCookie().join('').length < 1500)
  for (let times = 0; times < 5; times += 1) await payer.open(url)
  assert.equal(rememberedIn('kaha_form', payer.cookiesFor(url)).length, 10)
})

test('of a link a browser keeps two cookies, however often it pays there', async () => {
  const payer = browser()
  const { url } = await several()
  for (let times = 0; times < 6; times += 1) await payer.pay(await payer.open(url))
  const ofLink =
    payer.cookiesFor(url).split('; ').length - payer.cookiesFor(new URL('/pay', url).href).split('; ').length
  assert.equal(ofLink, 2)
})

/** What the cookie of this name lists. */
const listedIn = (name: string, cookies: string): string[] =>
  cookies.split('; ').flatMap((pair) => (pair.startsWith(`${name}=`) ? pair.slice(name.length + 1).split('.') : []))

/** What the cookies of this name hold, in their order: each the first characters of it in its name. */
const rememberedIn = (name: string, cookies: string): string[] =>
  cookies.split('; ').flatMap((pair) => {
    const [, head, rest] = new RegExp(`^${name}_([\\w-]{8})=([\\w-]{14})\\.[0-9a-z]+$`).exec(pair) ?? []
    return head === undefined ? [] : [`${head}${rest}`]
  })
