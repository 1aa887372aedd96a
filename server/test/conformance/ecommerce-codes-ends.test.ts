import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { until } from '../until.ts'
import { outcomeOf, startPayer, unmatchedOf } from './code-payer.ts'
import { bodyOf, fromNow, jump, refusal, rowsOf, shop, withoutWorker } from './shop.ts'

// How codes of the checkout end: by their own time, and with their intent or its link. Without a worker, so that nothing is swept.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)
const payer = startPayer(p)
const minuteMs = 60_000

const transactionOf = async (attemptId: string) => (await p.sdk.reports.retrieveTransaction(attemptId)).data
const endOf = async (attemptId: string): Promise<Date> => {
  const [row] = await rowsOf<{ at: Date }>(
    p,
    'select challenge_expires_at as at from payments.attempts where id = $1',
    [attemptId],
  )
  assert.ok(row)
  return row.at
}
const eventsOf = async (intentId: string): Promise<string[]> =>
  (await rowsOf<{ type: string }>(p, 'select type from delivery.events where payment_intent_id = $1', [intentId])).map(
    ({ type }) => type,
  )
const usesOf = async (linkId: string): Promise<string> => {
  const [row] = await rowsOf<{ uses: string }>(
    p,
    `select reserved_count || ' ' || success_count as uses from ecommerce.links where id = $1`,
    [linkId],
  )
  return row?.uses ?? ''
}
const intentOf = (linkId: string) => merchant.newIntent({ payment_link_id: linkId })
/** Business time reaches this moment. */
const reach = async (at: Date): Promise<void> => jump(p, Math.ceil(at.getTime() - p.kaha.clock.now().getTime()))

test('a code expires 15 minutes after it was made, exactly, whether or not anybody has stored that, and nobody is told', async () => {
  const intent = await merchant.newIntent()
  const made = p.kaha.clock.now()
  const code = await payer.chooseCode(intent.checkout_url)
  const { payment_attempt_id: attempt } = await merchant.readIntent(intent.id)
  const end = await endOf(attempt)
  assert.ok(
    end.getTime() - made.getTime() >= 15 * minuteMs && end <= new Date(p.kaha.clock.now().getTime() + 15 * minuteMs),
  )
  await jump(p, 14 * minuteMs)
  const last = await payer.get(code.page)
  assert.equal(outcomeOf(last), 'code')
  // What the page counts down is business time.
  const msLeft = Number(/data-ms-left="(\d+)"/.exec(last.text)?.[1])
  assert.ok(msLeft > 0 && msLeft <= minuteMs, String(msLeft))

  await reach(end)
  const expired = await merchant.readIntent(intent.id)
  assert.deepEqual([expired.status, expired.updated_at], ['ACTIVE', end.toISOString()])
  assert.deepEqual([expired.user_message, expired.failure_category], [undefined, undefined])
  const transaction = await transactionOf(attempt)
  assert.deepEqual([transaction.status, transaction.updated_at], ['EXPIRED', end.toISOString()])
  const page = await payer.get(code.page)
  assert.equal(outcomeOf(page), 'open')
  assert.match(page.text, /The time of your QR Ph code is over/)
  // The bank may have taken the money all the same, as it does in the next line.
  assert.match(page.text, /If your bank took the money, do not pay again/)
  assert.doesNotMatch(page.text, /Nothing was paid/)
  assert.match(refusal(await payer.pay(code.text)), /^422 CODE_FINAL qr_text expired/)
  assert.deepEqual(await unmatchedOf(p, attempt), ['EXPIRED 9800'])
  const open = await rowsOf(
    p,
    'select cause, merchant_id, branch_id, amount from qr.unmatched_report where settled_at is null',
  )
  assert.deepEqual(open, [
    { cause: 'unmatched_money', merchant_id: p.merchant.id, branch_id: p.branch.id, amount: 9_800n },
  ])

  await using worker = await p.another({ KAHA_ROLES: 'worker' })
  await p.idle()
  void worker
  assert.deepEqual(await merchant.readIntent(intent.id), expired)
  assert.deepEqual((await transactionOf(attempt)).updated_at, end.toISOString())
  assert.deepEqual(await eventsOf(intent.id), [])
})

test('a payer whose code has expired is shown a new one, and it takes the use of the old', async () => {
  const link = await merchant.newLink()
  const first = await payer.chooseCode(link.url)
  assert.equal(await usesOf(link.id), '1 0')
  await jump(p, 16 * minuteMs)
  const second = await payer.chooseCode(first.page)
  assert.notEqual(second.text, first.text)
  assert.equal(await usesOf(link.id), '1 0')
  assert.match(refusal(await payer.pay(first.text)), /^422 CODE_FINAL/)
  bodyOf(await payer.pay(second.text), 200)
  assert.equal(await usesOf(link.id), '0 1')
})

test('[C4.uses.code-over, X0.clocks.exact] a code whose time is over keeps no use of its link from others, though nobody has stored that', async () => {
  const [paid, passed, shown] = [await merchant.newLink(), await merchant.newLink(), await merchant.newLink()]
  const changed = await merchant.newLink({ type: 'multi_use', max_uses: 3 })
  const codes = []
  for (const link of [paid, passed, shown, changed, changed]) {
    const { id, checkout_url: url } = await intentOf(link.id)
    await payer.chooseCode(url)
    codes.push(bodyOf(await merchant.retrieveIntent(id), 200))
  }
  const ends = await Promise.all(codes.map(({ payment_attempt_id: attempt }) => endOf(attempt)))
  await jump(p, 14 * minuteMs)
  const [other, challenged] = [await intentOf(paid.id), await intentOf(passed.id)]
  assert.equal(refusal(await merchant.confirm(other.id)), '409 LINK_FULLY_RESERVED')
  assert.equal(outcomeOf(await payer.get(shown.url)), 'fully_reserved')
  const capOf = (max_uses: number) => merchant.updateLink(changed.id, { max_uses })
  assert.equal(refusal(await capOf(2)), '400 INVALID_MAX_USES max_uses greater_than_taken')

  await reach(new Date(Math.max(...ends.map((end) => end.getTime()))))
  assert.equal(bodyOf(await merchant.confirm(other.id), 200).status, 'SUCCEEDED')
  assert.equal(await usesOf(paid.id), '0 1')
  const [first] = codes
  assert.equal((await merchant.readIntent(first.id)).status, 'CONSUMED')
  const { status, updated_at: since } = await transactionOf(first.payment_attempt_id)
  assert.deepEqual([status, since], ['EXPIRED', ends[0]?.toISOString()])

  const { next_action: next } = bodyOf(await merchant.confirm(challenged.id, cards.challenge), 200)
  assert.equal(outcomeOf(await payer.get(shown.url)), 'open')
  assert.equal(bodyOf(await capOf(1), 200).max_uses, 1)
  assert.equal(await usesOf(changed.id), '0 0')

  // A code of another payer has taken the use while the challenge went on, and its time is over as well.
  const { checkout_url: url } = await intentOf(passed.id)
  await payer.chooseCode(url)
  assert.equal(await usesOf(passed.id), '1 0')
  await rowsOf(
    p,
    `update payments.attempts set challenge_expires_at = kernel.now() where state = 'REQUIRES_ACTION' and method = 'qrph'`,
  )
  const back = await payer.post(next.url, { result: 'passed' })
  await payer.get(back.location ?? '')
  assert.equal((await merchant.readIntent(challenged.id)).status, 'SUCCEEDED')
  assert.equal(await usesOf(passed.id), '0 1')
})

test('[C4.confirm.link-full] a payer whose expired code holds no use any more is told when others have taken them all, and no attempt is made', async () => {
  const link = await merchant.newLink()
  const [late, other] = [await intentOf(link.id), await intentOf(link.id)]
  await payer.chooseCode(late.checkout_url)
  await jump(p, 16 * minuteMs)
  await using worker = await p.another({ KAHA_ROLES: 'worker' })
  await p.idle()
  await worker[Symbol.asyncDispose]()
  assert.equal(await usesOf(link.id), '0 0')
  bodyOf(await merchant.confirm(other.id, cards.noAnswer), 202)
  assert.equal(await usesOf(link.id), '1 0')

  const before = await merchant.readIntent(late.id)
  for (const card of [cards.approved, cards.declined, cards.ineligible, cards.challenge])
    assert.equal(refusal(await merchant.confirm(late.id, card)), '409 LINK_FULLY_RESERVED')
  assert.equal(refusal(await merchant.confirmBy({ type: 'qrph' }, late.id)), '409 LINK_FULLY_RESERVED')
  assert.deepEqual(await merchant.readIntent(late.id), before)

  // The page asks for no card that it could not take, and the bank may have taken the money of the code all the same.
  const page = await payer.get(late.checkout_url)
  assert.equal(outcomeOf(page), 'fully_reserved')
  assert.match(page.text, /If your bank took the money, do not pay again/)
  // Nor is it known that somebody else pays: in another browser it may be this payer.
  assert.match(page.text, /If it is you, do not pay again/)
  assert.doesNotMatch(page.text, /not been charged/)
})

for (const [end, status] of [
  ['expires', 'EXPIRED'],
  ['is cancelled', 'CANCELLED'],
] as const)
  test(`a payer who comes back to a link that ${end} with their code is not told that nothing was charged`, async () => {
    const link = await merchant.newLink({ expires_at: fromNow(p, 5 * minuteMs) })
    const code = await payer.chooseCode(link.url)
    const cookie = `kaha_payment=${code.page.split('/').at(-1)}`
    if (status === 'CANCELLED') bodyOf(await merchant.cancelLink(link.id), 200)
    else await jump(p, 5 * minuteMs)

    assert.equal((await merchant.readLink(link.id)).status, status)
    assert.deepEqual([(await payer.get(link.url, { cookie })).location], [code.page])
    assert.doesNotMatch((await payer.get(code.page)).text, /not been charged/)
    // Neither with another browser: the code may have been scanned by a phone, and the link opened there.
    const elsewhere = await payer.get(link.url)
    assert.match(elsewhere.text, /do not pay again/)
    assert.doesNotMatch(elsewhere.text, /You have not been charged/)
    // Whoever has shown no code has paid none.
    const without = await merchant.newLink()
    bodyOf(await merchant.confirm((await intentOf(without.id)).id, cards.declined), 200)
    bodyOf(await merchant.cancelLink(without.id), 200)
    assert.match((await payer.get(without.url)).text, /You have not been charged/)
  })

for (const [end, status] of [
  ['expired', 'EXPIRED'],
  ['was cancelled', 'CANCELLED'],
] as const)
  test(`whoever showed a code, gave it up and had a card declined is not told that nothing was charged once the link ${end}`, async () => {
    const link = await merchant.newLink({ expires_at: fromNow(p, 5 * minuteMs) })
    const intent = await intentOf(link.id)
    await payer.chooseCode(intent.checkout_url)
    await payer.giveUp(intent.checkout_url)
    bodyOf(await merchant.confirm(intent.id, cards.declined), 200)
    if (status === 'CANCELLED') bodyOf(await merchant.cancelLink(link.id), 200)
    else await jump(p, 5 * minuteMs)

    const { status: is, user_message: told } = await merchant.readIntent(intent.id)
    assert.equal(is, status)
    const pages = [await payer.get(intent.checkout_url), await payer.get(link.url)]
    for (const text of [told, ...pages.map((page) => page.text)]) {
      assert.match(text, /If your bank took the money, do not pay again/)
      assert.doesNotMatch(text, /not been charged/)
    }
    const filipino = await payer.get(`${intent.checkout_url}?lang=fil`)
    assert.match(filipino.text, /Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit/)
    assert.doesNotMatch(filipino.text, /Hindi ka siningil/)
  })

test('a payer whose code has expired comes back to the link, and is told what to do if the bank took the money', async () => {
  const link = await merchant.newLink({ type: 'multi_use' })
  const code = await payer.chooseCode(link.url)
  const cookie = `kaha_payment=${code.page.split('/').at(-1)}`
  await jump(p, 16 * minuteMs)
  assert.equal((await payer.get(link.url, { cookie })).location, code.page)
  const page = await payer.get(code.page)
  assert.match(page.text, /If your bank took the money, do not pay again/)
  assert.match((await payer.payByCard(code.page, page)).location ?? '', /\/i\//)
  const again = await payer.get(link.url, { cookie })
  assert.equal(outcomeOf(again), 'open')
  assert.match(again.text, /You have already paid here/)
})

test('a payer whose last attempt was a code that ended is told that there is no other, and is asked for no card', async () => {
  const { checkout_url: url } = await merchant.newIntent()
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    assert.equal(outcomeOf(await payer.get(url)), 'open', `before attempt ${attempt}`)
    await payer.chooseCode(url)
    await payer.giveUp(url)
  }
  const page = await payer.get(url)
  assert.equal(outcomeOf(page), 'failed')
  assert.match(page.text, /tried too many times.*If your bank took the money, do not pay again/)
  assert.doesNotMatch(page.text, /not been charged/)
})

test('a payer who showed a code, and whose cards were declined as often as may be, is not told that nothing was charged', async () => {
  const { id, checkout_url: url } = await merchant.newIntent()
  await payer.chooseCode(url)
  await payer.giveUp(url)
  for (let attempt = 2; attempt <= 20; attempt += 1) bodyOf(await merchant.confirm(id, cards.declined), 200)
  const page = await payer.get(url)
  assert.equal(outcomeOf(page), 'declined')
  assert.match(page.text, /tried too many times.*If your bank took the money, do not pay again/)
  assert.doesNotMatch(page.text, /not been charged/)
})

test('nor is one whose link somebody pays, though a card was declined after the code', async () => {
  const link = await merchant.newLink()
  const [late, other] = [await intentOf(link.id), await intentOf(link.id)]
  await payer.chooseCode(late.checkout_url)
  await payer.giveUp(late.checkout_url)
  bodyOf(await merchant.confirm(late.id, cards.declined), 200)
  bodyOf(await merchant.confirm(other.id, cards.noAnswer), 202)
  const page = await payer.get(late.checkout_url)
  assert.equal(outcomeOf(page), 'fully_reserved')
  assert.match(page.text, /If your bank took the money, do not pay again/)
  assert.doesNotMatch(page.text, /not been charged/)
})

test('a code ends with its intent at the latest, and the intent tells that it has expired', async () => {
  const intent = await merchant.newIntent({ expires_at: fromNow(p, 5 * minuteMs) })
  const code = await payer.chooseCode(intent.checkout_url)
  const { payment_attempt_id: attempt } = await merchant.readIntent(intent.id)
  const end = await endOf(attempt)
  await reach(end)
  const expired = await merchant.readIntent(intent.id)
  assert.deepEqual([expired.status, expired.updated_at], ['EXPIRED', end.toISOString()])
  assert.equal(outcomeOf(await payer.get(code.page)), 'expired')
  assert.equal((await transactionOf(attempt)).status, 'EXPIRED')
  await using worker = await p.another({ KAHA_ROLES: 'worker' })
  await p.idle()
  void worker
  assert.deepEqual(await merchant.readIntent(intent.id), expired)
  assert.deepEqual(await eventsOf(intent.id), ['payment.expired'])
  assert.match(refusal(await payer.pay(code.text)), /^422 CODE_FINAL/)
})

test('a merchant who cancels the intent ends its code, and gives back the use of the link', async () => {
  const link = await merchant.newLink({ type: 'multi_use', max_uses: 1 })
  const { id, checkout_url: url } = await merchant.newIntent({ payment_link_id: link.id })
  const code = await payer.chooseCode(url)
  assert.equal(await usesOf(link.id), '1 0')
  assert.equal(bodyOf(await merchant.cancelIntent(id), 200).status, 'CANCELLED')
  const { payment_attempt_id: attempt } = await merchant.readIntent(id)
  assert.equal(await usesOf(link.id), '0 0')
  assert.equal((await transactionOf(attempt)).status, 'CANCELLED')
  assert.equal(outcomeOf(await payer.get(code.page)), 'cancelled')
  assert.match(refusal(await payer.pay(code.text)), /^422 CODE_FINAL/)
  assert.deepEqual(await unmatchedOf(p, attempt), ['EXPIRED 9800'])
  const { status, user_message: message } = await merchant.readIntent(id)
  assert.deepEqual(
    [status, /If your bank took the money, do not pay again/.test(message)],
    ['CANCELLED', true],
    message,
  )
})

test('a merchant who cancels the link ends the codes of all its payers', async () => {
  const link = await merchant.newLink({ type: 'multi_use' })
  const codes = [await payer.chooseCode(link.url), await payer.chooseCode(link.url)]
  assert.equal(await usesOf(link.id), '2 0')
  bodyOf(await merchant.cancelLink(link.id), 200)
  assert.equal(await usesOf(link.id), '0 0')
  for (const { page, text } of codes) {
    assert.equal(outcomeOf(await payer.get(page)), 'cancelled')
    assert.match(refusal(await payer.pay(text)), /^422 CODE_FINAL/)
  }
  assert.equal((await merchant.readLink(link.id)).successful_payment_count, 0)
})

test('a code that takes the last use of a link ends its other intents, a challenge of theirs with them', async () => {
  const link = await merchant.newLink({ type: 'multi_use', max_uses: 1 })
  const [challenged, untouched, paid] = [await intentOf(link.id), await intentOf(link.id), await intentOf(link.id)]
  bodyOf(await merchant.confirm(challenged.id, cards.challenge), 200)
  const code = await payer.chooseCode(paid.checkout_url)
  assert.equal((await payer.pay(code.text)).status, 200)
  for (const { id } of [challenged, untouched]) {
    assert.equal((await merchant.readIntent(id)).status, 'CONSUMED')
    assert.equal(refusal(await merchant.confirm(id, cards.approved)), '409 INVALID_STATE')
  }
  const rows = await rowsOf(p, 'select state from payments.attempts where intent_id = $1', [challenged.id])
  assert.deepEqual(rows, [{ state: 'ABANDONED' }])
})

test('a bank, the payer, the merchant of the intent and that of the link at the same moment: one of them is first, and the others see that', async () => {
  for (let round = 0; round < 6; round += 1) {
    const link = await merchant.newLink({ type: 'multi_use', max_uses: 1 })
    const { id, checkout_url: url } = await merchant.newIntent({ payment_link_id: link.id })
    const code = await payer.chooseCode(url)
    const page = await payer.get(code.page)
    const [bank] = await Promise.all([
      payer.pay(code.text),
      round % 3 === 0 ? payer.giveUp(code.page, page) : null,
      round % 3 === 1 ? merchant.cancelIntent(id) : null,
      round % 3 === 2 ? merchant.cancelLink(link.id) : null,
    ])
    const { status, payment_attempt_id: attempt } = await merchant.readIntent(id)
    const paid = bank.status === 200
    assert.equal(status === 'SUCCEEDED', paid)
    assert.equal(await usesOf(link.id), paid ? '0 1' : '0 0')
    assert.equal((await unmatchedOf(p, attempt)).length, paid ? 0 : 1)
    assert.equal((await transactionOf(attempt)).status, paid ? 'CAPTURED' : 'CANCELLED')
  }
})

for (const what of ['intent', 'link'] as const)
  test(`a code of the last seconds whose ${what} is cancelled by a process that is ahead of the database is paid no more`, async (t) => {
    const ahead = await platform(t, { ...withoutWorker, choices: { wall: () => Date.now() + 60_000 } })
    const [shopThere, payerThere] = [shop(ahead), startPayer(ahead)]
    const link = await shopThere.newLink()
    const intent = await shopThere.newIntent({ payment_link_id: link.id })
    const code = await payerThere.chooseCode(intent.checkout_url)
    const move = `select kernel.move_clock_to(challenge_expires_at - interval '30 seconds') from payments.attempts where intent_id = $1`
    await rowsOf(ahead, move, [intent.id])
    await ahead.kaha.clock.refresh(ahead.kaha.db)
    bodyOf(await (what === 'intent' ? shopThere.cancelIntent(intent.id) : shopThere.cancelLink(link.id)), 200)
    assert.match(refusal(await payerThere.pay(code.text)), /^422 CODE_FINAL/)
    assert.equal((await shopThere.readIntent(intent.id)).status, 'CANCELLED')
    const rows = await rowsOf(ahead, 'select state from payments.attempts where intent_id = $1', [intent.id])
    assert.deepEqual(rows, [{ state: 'ABANDONED' }])
  })

test('those who send events hear at once of what a code and a card have caused', async (t) => {
  let heard = 0
  t.after(p.kaha.bus.listen('events', () => void (heard += 1)))
  const hears = async (cause: string, act: () => Promise<unknown>) => {
    heard = 0
    await act()
    await until(`the word of ${cause}`, () => heard > 0)
  }
  const { checkout_url } = await merchant.newIntent()
  const { text } = await payer.chooseCode(checkout_url)
  await hears('a code that is paid', () => payer.pay(text))
  const { id } = await merchant.newIntent()
  await hears('a card that is refused', () => merchant.confirm(id, cards.declined))
  await hears('a card whose holder the bank does not know', () => merchant.confirm(id, '4230000000000004'))
  await hears('a card that is charged', () => merchant.confirm(id))
})
