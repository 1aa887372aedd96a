import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { cards } from '../platform.ts'
import { outcomeOf, payButton, payWith, receiptOn, submit, typeCard } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after }, { choices: { confirmWaitMsMax: 200 } })

for (const scripts of [true, false]) {
  const how = scripts ? 'with scripts' : 'without scripts'

  test(`C4.checkout.twice: a payer who clicks twice ${how} pays once and sees the result`, { skip }, async (t) => {
    const link = await shop.link({ type: 'multi_use' })
    const { page } = await shop.payer(t, { scripts })
    await page.goto(link.url)
    await typeCard(page)
    await payButton(page).dblclick()
    // The second click may cut off the page that the first one has led to.
    await page.waitForSelector('body[data-outcome=succeeded]')
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  })
}

test(
  'C4.checkout.twice: a form that is sent five times at once pays once, and every answer leads to the same result',
  {
    skip,
  },
  async (t) => {
    const link = await shop.link({ type: 'multi_use' })
    const { page } = await shop.payer(t)
    await page.goto(link.url)
    const send = await formSender(page)
    const answers = await Promise.all(Array.from({ length: 5 }, send))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [303, 303, 303, 303, 303],
    )
    const [where = '', ...others] = new Set(answers.map(({ location }) => location ?? ''))
    assert.deepEqual(others, [])
    await page.goto(where)
    assert.equal(await outcomeOf(page), 'succeeded')
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
    // The same form once more, when everything is over.
    assert.deepEqual(await send(), { status: 303, location: where })
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  },
)

test('C4.checkout.twice: the form of a second try pays once too, however often it is sent', { skip }, async (t) => {
  const link = await shop.link({ type: 'multi_use' })
  const { page } = await shop.payer(t)
  await page.goto(link.url)
  await payWith(page, cards.declined)
  const send = await formSender(page)
  const answers = await Promise.all(Array.from({ length: 5 }, send))
  assert.ok(answers.every(({ status, location }) => status === 303 && location === page.url()))
  assert.deepEqual(await shop.paymentsOf(link.id), ['DECLINED', 'SUCCEEDED'])
})

test(
  'C4.checkout.twice: a payer who stopped the sending may send again after a while, and pays once',
  { skip },
  async (t) => {
    const link = await shop.link({ type: 'multi_use' })
    const { page } = await shop.payer(t)
    await page.clock.install()
    await page.goto(link.url)
    await typeCard(page)
    await page.clock.pauseAt(Date.now() + 3_600_000)
    // The first request reaches the server; of the answer the page hears nothing, as the payer has stopped it.
    const stopped = Promise.withResolvers<number>()
    let requests = 0
    await page.route(link.url, async (route) => {
      requests += 1
      if (requests > 1) return route.continue()
      const body = route.request().postData() ?? ''
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const { status } = await fetch(link.url, { method: 'POST', body, headers, redirect: 'manual' })
      await route.abort('aborted')
      stopped.resolve(status)
    })
    const button = page.locator('form[data-given-at] button[type=submit]')
    const stands = async () => [await button.textContent(), await button.getAttribute('aria-disabled')]
    await button.click({ noWaitAfter: true })
    assert.equal(await stopped.promise, 303)
    await page.clock.runFor(29_000)
    assert.deepEqual(await stands(), ['Paying…', 'true'])
    await page.clock.runFor(1_000)
    assert.deepEqual(await stands(), ['Pay ₱98.00', 'false'])
    assert.match(
      await page.locator('form[data-given-at] .no-answer').innerText(),
      /^There is no answer yet\. .* it pays once at most\.$/,
    )
    await submit(page)
    assert.equal(await outcomeOf(page), 'succeeded')
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  },
)

test(
  'C4.checkout.twice: while one form is on its way no other is sent, and none twice: neither the card beside the code nor the code again',
  { skip },
  async (t) => {
    const link = await shop.link({ type: 'multi_use' })
    const [card, code, other] = ['form[data-given-at]', '.code-way', '.other-way']
    for (const [outcome, ...forms] of [
      ['code', code, card],
      ['succeeded', card, code],
    ] as const) {
      const { page } = await shop.payer(t)
      await page.goto(link.url)
      await typeCard(page)
      const sent: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'POST')
          sent.push(request.postData()?.includes('number=') === true ? card : request.url())
      })
      /** All of them in one turn of the page, so that no answer comes between; what the first button says then, and whether all are disabled. */
      const clickTwice = (all: readonly string[]) =>
        page.evaluate<[string, ...string[]]>(`(() => {
          const buttons = ${JSON.stringify(all)}.map((form) => document.querySelector(form + ' [type=submit]'))
          for (const button of [...buttons, ...buttons]) button.click()
          return [buttons[0].textContent, ...buttons.map((button) => button.ariaDisabled)]
        })()`)
      assert.deepEqual(await clickTwice(forms), [forms[0] === card ? 'Paying…' : 'One moment…', 'true', 'true'])
      await page.waitForSelector(`body[data-outcome=${outcome}]`)
      assert.deepEqual(sent, [forms[0] === card ? card : link.url])
      if (outcome !== 'code') continue
      assert.deepEqual(await clickTwice([other]), ['One moment…', 'true'])
      await page.waitForSelector('body[data-outcome=open]')
      assert.deepEqual([sent.length, sent[1]?.endsWith('/other')], [2, true])
    }
  },
)

test('of two tabs of a one-time link one pays, and the other is led to what became of it', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  const other = await page.context().newPage()
  for (const tab of [page, other]) {
    await tab.goto(link.url)
    await typeCard(tab)
  }
  await submit(page)
  const receipt = await receiptOn(page)
  await submit(other)
  assert.deepEqual(await receiptOn(other), receipt)
  assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
})

test(
  'of two payers with a one-time link one pays, and the other is told that it has been used and that nothing was charged',
  {
    skip,
  },
  async (t) => {
    const link = await shop.link()
    const [first, second] = [await shop.payer(t), await shop.payer(t)]
    for (const { page } of [first, second]) {
      await page.goto(link.url)
      await typeCard(page)
    }
    await submit(first.page)
    assert.equal(await outcomeOf(first.page), 'succeeded')
    await submit(second.page)
    assert.equal(await outcomeOf(second.page), 'used_up')
    assert.match((await second.page.locator('main').textContent()) ?? '', /If not, you have not been charged/)
    // A redirect led there, so a reload asks nothing.
    assert.equal(second.page.url(), link.url)
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  },
)

test(
  'C4.confirm.link-full: a payer who tries again while another pays the last use is told so, and may pay once it is free',
  {
    skip,
  },
  async (t) => {
    const link = await shop.link()
    const [first, second] = [await shop.payer(t), await shop.payer(t)]
    for (const { page } of [first, second]) await page.goto(link.url)
    await payWith(first.page, cards.declined)
    await payWith(second.page, '4000000000006728')
    assert.equal(await outcomeOf(second.page), 'processing')
    // However slow this machine is, the processor is not asked before the time is moved.
    await shop.sql(
      `update payments.attempts set run_at = kernel.now() + interval '30 minutes' where state = 'PROCESSING'`,
    )

    await payWith(first.page)
    assert.equal(await outcomeOf(first.page), 'fully_reserved')
    assert.match((await first.page.locator('main').textContent()) ?? '', /If not, you have not been charged/)
    await shop.advance(3600)
    await first.page.getByRole('link', { name: 'Try again' }).click()
    await payWith(first.page)
    assert.equal(await outcomeOf(first.page), 'succeeded')
  },
)

/** Sends the form of the page with a card that is approved, as its browser would, as often as it is called. */
async function formSender(page: Page): Promise<() => Promise<{ status: number; location: string | null }>> {
  const hidden = await page
    .locator('form[data-given-at] input[type=hidden]')
    .evaluateAll((all: { name: string; value: string }[]) =>
      all.map(({ name, value }) => [name, value] as [string, string]),
    )
  const action = (await page.locator('form[data-given-at]').getAttribute('action')) ?? ''
  const body = new URLSearchParams([...hidden, ['number', cards.approved], ['expiry', '12/40'], ['cvc', '123']])
  return async () => {
    const answer = await fetch(new URL(action, page.url()), { method: 'POST', body, redirect: 'manual' })
    return { status: answer.status, location: answer.headers.get('location') }
  }
}
