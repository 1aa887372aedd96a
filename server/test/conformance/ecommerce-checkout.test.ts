import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { bodyOf, rowsOf, shop, whileHeld } from './shop.ts'

// The payer's side of a link by plain HTTP, as a browser without scripts does it.
const p = await platform({ after })
const merchant = shop(p)

interface Page {
  readonly status: number
  readonly text: string
  readonly location: string | null
}

async function get(url: string, method = 'GET'): Promise<Page> {
  const answer = await fetch(url, { method, redirect: 'manual' })
  return { status: answer.status, text: await answer.text(), location: answer.headers.get('location') }
}

/** The hidden fields of the form on a page, as a browser sends them back. */
const hiddenOf = ({ text }: Page): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )

async function submit(url: string, page: Page, number: string = cards.approved): Promise<Page> {
  const body = new URLSearchParams({ ...hiddenOf(page), number, expiry: '12/60', cvc: '123', name: 'Juana' })
  const answer = await fetch(url, { method: 'POST', body, redirect: 'manual' })
  return { status: answer.status, text: await answer.text(), location: answer.headers.get('location') }
}

const intentsOf = (linkId: string) =>
  rowsOf<{ id: string; attempt_count: number }>(
    p,
    'select id, attempt_count from payments.intents where link_id = $1 order by id',
    [linkId],
  )
const link = async (fields: object = {}) => bodyOf(await merchant.createLink(fields), 201)
const state = async (id: string): Promise<string> => {
  const { status, successful_payment_count: count } = bodyOf(await merchant.retrieveLink(id), 200)
  return `${status} ${count}`
}

test('C4.checkout.get-creates-nothing: however often the page of a link is looked at, nothing is made', async () => {
  const { id, url } = await link()
  const forms = new Set<string>()
  for (const method of ['GET', 'GET', 'HEAD', 'GET'])
    for (const address of [url, `${url}?lang=fil`, `${url}?utm_source=chat`]) {
      const page = await get(address, method)
      assert.equal(page.status, 200)
      if (method === 'GET') forms.add(hiddenOf(page)['nonce'] ?? '')
    }
  assert.equal(forms.size, 9, 'each visit has a form of its own')
  assert.deepEqual(await intentsOf(id), [])
  assert.equal(await state(id), 'ACTIVE 0')
})

test('C4.checkout.first-submission: a visit makes its intent when it is submitted first, and keeps it for the cards that follow', async () => {
  const { id, url } = await link()
  const visit = await get(url)
  const declined = await submit(url, visit, cards.declined)
  assert.equal(declined.status, 303)
  const [intent, ...more] = await intentsOf(id)
  assert.ok(intent)
  assert.deepEqual([more, intent.attempt_count], [[], 1])

  const place = declined.location ?? ''
  const second = await submit(place, await get(place))
  assert.deepEqual([second.status, second.location], [303, place])
  assert.deepEqual(await intentsOf(id), [{ id: intent.id, attempt_count: 2 }])
  assert.equal(bodyOf(await merchant.retrieveIntent(intent.id), 200).status, 'SUCCEEDED')
  assert.equal(await state(id), 'CONSUMED 1')
})

test('C4.checkout.first-submission: two visits are two payers with an intent each', async () => {
  const { id, url } = await link({ type: 'multi_use' })
  for (let payer = 1; payer <= 2; payer++) {
    assert.equal((await submit(url, await get(url))).status, 303)
    assert.equal((await intentsOf(id)).length, payer)
    assert.equal(await state(id), `ACTIVE ${payer}`)
  }
})

test('C4.checkout.twice: a form that is sent twice, one after the other or at once, pays once and leads to the same result', async () => {
  const { id, url } = await link({ type: 'multi_use' })
  const [calm, hasty] = [await get(url), await get(url)]
  const answers = [await submit(url, calm), await submit(url, calm)]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [303, 303],
  )
  assert.equal(answers[0]?.location, answers[1]?.location)
  assert.equal(await state(id), 'ACTIVE 1')

  const many = await Promise.all(Array.from({ length: 8 }, () => submit(url, hasty)))
  assert.deepEqual(new Set(many.map(({ status, location }) => `${status} ${location}`)).size, 1)
  assert.equal(await state(id), 'ACTIVE 2')
  const intents = await intentsOf(id)
  assert.deepEqual(
    intents.map(({ attempt_count: attempts }) => attempts),
    [1, 1],
  )
  for (const { location } of [...answers, ...many]) {
    const result = await get(location ?? '')
    assert.equal(result.status, 200)
    assert.match(result.text, /Your payment was successful|Payment successful/)
  }
})

test('C4.checkout.twice: the form of a declined card, sent again, makes no second attempt; the page that follows does', async () => {
  const { id, url } = await link()
  const visit = await get(url)
  const first = await submit(url, visit, cards.declined)
  const again = await submit(url, visit, cards.declined)
  assert.deepEqual([again.status, again.location], [303, first.location])
  const other = await submit(url, visit)
  assert.deepEqual([other.status, other.location], [303, `${first.location}?untried=1`])
  const place = first.location ?? ''
  const retry = await get(place)
  assert.equal((await submit(place, retry)).status, 303)
  assert.equal((await submit(place, retry)).status, 303)
  assert.deepEqual(
    (await intentsOf(id)).map(({ attempt_count: attempts }) => attempts),
    [2],
  )
  assert.equal(await state(id), 'CONSUMED 1')
})

test('a visit whose link is used up before it is submitted, or in that very moment, is told so and leaves no intent behind', async () => {
  const used = await link()
  const [late, quick] = [await get(used.url), await get(used.url)]
  assert.equal((await submit(used.url, quick)).status, 303)

  const other = await link()
  const visit = await get(other.url)
  // The form has looked at the link and wants to hold it for its intent, when somebody else has just used it up.
  const hold = { text: 'select from ecommerce.links where id = $1 for update', values: [other.id] }
  const [inThatMoment] = await whileHeld(p, hold, [() => submit(other.url, visit)], async (_backends, holder) => {
    await holder.query(`update ecommerce.links set state = 'CONSUMED', success_count = 1 where id = $1`, [other.id])
  })

  for (const [page, { id, url }, intents] of [
    [await submit(used.url, late), used, 1],
    [inThatMoment, other, 0],
  ] as const) {
    assert.deepEqual([page?.status, page?.location], [303, url])
    const told = await get(url)
    assert.equal(told.status, 200)
    assert.ok(!('nonce' in hiddenOf(told)), 'the page has no form any more')
    assert.equal((await intentsOf(id)).length, intents)
  }
})

/** A page that tells of an end and takes no card: its outcome, as scripts and screen readers find it. */
const outcomeOf = ({ text }: Page): string => {
  const [, outcome] = /data-outcome="(\w+)"/.exec(text) ?? []
  if (outcome !== 'open') assert.doesNotMatch(text, /<form/)
  return outcome ?? ''
}
const pageOf = async (url: string): Promise<string> => outcomeOf(await get(url))
const newIntent = async (fields: object = {}) => bodyOf(await merchant.createIntent(fields), 201)
const soon = (): string => new Date(p.kaha.clock.now().getTime() + 3_600_000).toISOString()

test('a link that was cancelled says so to whoever comes, and to whoever had its page open and pays then; nothing is made', async () => {
  const { id, url } = await link()
  const before = await get(url)
  const intent = await newIntent({ payment_link_id: id })
  const [itsPage, filipino] = [await get(intent.checkout_url), `${url}?lang=fil`]
  assert.deepEqual([outcomeOf(before), outcomeOf(itsPage)], ['open', 'open'])
  bodyOf(await merchant.cancelLink(id), 200)

  for (const address of [url, intent.checkout_url, filipino]) assert.equal(await pageOf(address), 'cancelled')
  for (const [address, page] of [
    [url, before],
    [intent.checkout_url, itsPage],
  ] as const) {
    const sent = await submit(address, page)
    assert.equal(sent.status, 303)
    assert.equal(await pageOf(sent.location ?? ''), 'cancelled')
  }
  assert.deepEqual(await intentsOf(id), [{ id: intent.id, attempt_count: 0 }])
})

test('an intent that was cancelled says so, also to whoever had its page open; the link that it belongs to can still be paid', async () => {
  const { id, url } = await link()
  for (const fields of [{}, { payment_link_id: id }]) {
    const intent = await newIntent(fields)
    const page = await get(intent.checkout_url)
    bodyOf(await merchant.cancelIntent(intent.id), 200)
    assert.equal(await pageOf(intent.checkout_url), 'cancelled')
    const sent = await submit(intent.checkout_url, page)
    assert.deepEqual([sent.status, await pageOf(sent.location ?? '')], [303, 'cancelled'])
  }
  assert.equal(await pageOf(url), 'open')
  assert.equal((await submit(url, await get(url))).status, 303)
  assert.equal(await state(id), 'CONSUMED 1')
})

test('a payer whose payment has ended before its link is not told that the link has', async () => {
  const { id, url } = await link({ type: 'multi_use' })
  const headingOf = async (address: string) => /<h1>(.*)<\/h1>/.exec((await get(address)).text)?.[1]
  const [cancelled, expired, ofLink] = [
    await newIntent({ payment_link_id: id }),
    await newIntent({ payment_link_id: id, expires_at: soon() }),
    await newIntent({ payment_link_id: id }),
  ]
  bodyOf(await merchant.cancelIntent(cancelled.id), 200)
  await p.advance(3_700)
  assert.equal(await headingOf(cancelled.checkout_url), 'This payment was cancelled')
  assert.equal(await headingOf(expired.checkout_url), 'The time for this payment is over')
  assert.equal(await pageOf(url), 'open')

  bodyOf(await merchant.cancelLink(id), 200)
  assert.equal(await headingOf(ofLink.checkout_url), 'This payment link was cancelled')
  assert.equal(await headingOf(expired.checkout_url), 'The time for this payment is over')
})

test('a payment that was declined before its link was cancelled shows the end of the link, not the decline', async () => {
  const { id, url } = await link()
  const declined = await submit(url, await get(url), cards.declined)
  const place = declined.location ?? ''
  assert.equal(await pageOf(place), 'open')
  bodyOf(await merchant.cancelLink(id), 200)
  assert.equal(await pageOf(place), 'cancelled')
})

test('each other end of a link and of an intent has its page', async () => {
  const usedUp = await link()
  const late = await newIntent({ payment_link_id: usedUp.id })
  const paid = await submit(usedUp.url, await get(usedUp.url))
  assert.equal(await pageOf(paid.location ?? ''), 'succeeded')
  for (const address of [usedUp.url, late.checkout_url]) assert.equal(await pageOf(address), 'used_up')

  const [short, alone] = [await link({ expires_at: soon() }), await newIntent({ expires_at: soon() })]
  const ofShort = await newIntent({ payment_link_id: short.id })
  await p.advance(3_700)
  for (const address of [short.url, ofShort.checkout_url, alone.checkout_url])
    assert.equal(await pageOf(address), 'expired')
})

test('whoever comes to a link that is being paid, or was, is not told flatly that nothing was charged: it may be the payer', async () => {
  const told = async ({ url }: { url: string }) => (await get(url)).text
  const [paid, busy] = [await link(), await link()]
  const [cancelled, expired] = [
    await link({ type: 'multi_use' }),
    await link({ type: 'multi_use', expires_at: soon() }),
  ]
  for (const one of [paid, cancelled, expired]) await submit(one.url, await get(one.url))
  const processing = await submit(busy.url, await get(busy.url), cards.slow)
  assert.equal(await pageOf(processing.location ?? ''), 'processing')
  const isTold = [await told(busy), await told(paid)]
  bodyOf(await merchant.cancelLink(cancelled.id), 200)
  isTold.push(await told(cancelled))
  await p.advance(3_700)
  isTold.push(await told(expired))
  for (const text of isTold) {
    assert.match(text, /do not pay again/)
    assert.match(text, /If not, you have not been charged/)
    assert.doesNotMatch(text, /You have not been charged/)
  }

  const unpaid = await link()
  bodyOf(await merchant.cancelLink(unpaid.id), 200)
  assert.match(await told(unpaid), /You have not been charged/)
})

test('a payer whose card was declined and who paid by the link then is not told on the first page that nothing was charged', async () => {
  const { url } = await link()
  const declined = await submit(url, await get(url), cards.declined)
  const paid = await submit(url, await get(url))
  assert.equal(await pageOf(paid.location ?? ''), 'succeeded')
  const first = await get(declined.location ?? '')
  assert.equal(outcomeOf(first), 'used_up')
  assert.match(first.text, /If you paid with it, do not pay again/)
  assert.doesNotMatch(first.text, /You have not been charged/)
})

test('a payer who is back at a link while the bank takes its time is not told to have paid', async () => {
  const { url } = await link({ type: 'multi_use' })
  const form = new URLSearchParams({ ...hiddenOf(await get(url)), number: cards.slow, expiry: '12/60', cvc: '123' })
  const answer = await fetch(url, { method: 'POST', body: form, redirect: 'manual' })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const back = async () => (await fetch(url, { headers: { cookie } })).text()
  const during = await back()
  assert.match(during, /A payment of yours is still under way here\. Paying now is another payment\./)
  assert.doesNotMatch(during, /You have already paid/)
  await p.advance(60)
  assert.match(await back(), /You have already paid here\./)
})

test('a payer who goes back from their bank to the link is told that the payment is still under way, and led to it', async () => {
  const { url } = await link({ type: 'multi_use' })
  const form = { ...hiddenOf(await get(url)), number: cards.challenge, expiry: '12/60', cvc: '123' }
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })
  assert.match(answer.headers.get('location') ?? '', /\/challenges\//)
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const back = await (await fetch(url, { headers: { cookie } })).text()
  assert.match(back, /A payment of yours is still under way here\. Paying now is another payment\./)
  assert.equal(await pageOf(/<a href="([^"]+\/i\/[\w-]+)">See your payment/.exec(back)?.[1] ?? ''), 'challenge')
})

test('a payer who has paid in one tab and submits the form of another is told of that payment first, and pays again only after that', async () => {
  const { id, url } = await link({ type: 'multi_use' })
  const form = (page: Page) =>
    new URLSearchParams({ ...hiddenOf(page), number: cards.approved, expiry: '12/60', cvc: '123' })
  const [first, other] = [await get(url), await get(url)]
  const paid = await fetch(url, { method: 'POST', body: form(first), redirect: 'manual' })
  const headers = { cookie: paid.headers.get('set-cookie')?.split(';')[0] ?? '' }
  const post = (page: Page) => fetch(url, { method: 'POST', body: form(page), redirect: 'manual', headers })
  assert.equal((await post(other)).headers.get('location'), url)
  assert.equal(await state(id), 'ACTIVE 1')
  const told = { ...other, text: await (await fetch(url, { headers })).text() }
  assert.match(told.text, /You have already paid here\. Paying again is another payment\./)
  assert.match((await post(told)).headers.get('location') ?? '', /\/i\//)
  assert.equal(await state(id), 'ACTIVE 2')
})

test('C4.checkout.twice: a payer who never got the answer to a form finds its payment back at the link, now and later', async () => {
  const cookies = new Map<string, string>()
  const visit = async (address: string) => {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(address, { headers: { cookie }, redirect: 'manual' })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] =
        /^([\w-]+)=([^;]*); Path=\/pay(?:\/l\/[^;]+)?; HttpOnly; SameSite=Lax$/.exec(line) ?? []
      cookies.set(name, value)
    }
    return { status: answer.status, text: await answer.text(), location: answer.headers.get('location') }
  }
  const several = await link({ type: 'multi_use' })
  const lost = await submit(several.url, await visit(several.url))
  assert.equal(lost.status, 303)
  for (let time = 0; time < 3; time += 1) {
    const { text } = await visit(several.url)
    assert.match(text, /You have already paid here\./)
    assert.ok(text.includes(lost.location ?? '-'))
  }
  assert.equal((await intentsOf(several.id)).length, 1)

  const single = await link()
  const paid = await submit(single.url, await visit(single.url))
  assert.equal((await visit(single.url)).location, paid.location)
})

test('a receipt says what was given back of its payment, once it was', async () => {
  const { id, checkout_url: url } = await newIntent()
  bodyOf(await merchant.confirm(id), 200)
  const refunded = async () => /<dt>Refunded<\/dt><dd><span[^>]*>([^<]*)</.exec((await get(url)).text)?.[1]
  assert.equal(await refunded(), undefined)
  bodyOf(await merchant.createRefund(id, { amount: 994 }), 201)
  assert.equal(await refunded(), undefined)
  bodyOf(await merchant.createRefund(id, { amount: 3_000 }), 201)
  assert.equal(await refunded(), '₱30.00')
  await p.advance(60)
  assert.equal(await refunded(), '₱39.94')
})

test('what was changed of a link is what its page shows from then on', async () => {
  const { id, url } = await link({ description: 'Two bags', expires_at: soon() })
  assert.match((await get(url)).text, /Two bags/)
  bodyOf(await merchant.updateLink(id, { description: 'Three bags', order_reference: 'ORDER-77' }), 200)
  const { text } = await get(url)
  assert.match(text, /Three bags/)
  assert.match(text, /ORDER-77/)
  assert.doesNotMatch(text, /Two bags/)
})
