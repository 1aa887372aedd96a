import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { cards } from '../platform.ts'
import { outcomeOf, payWith, receiptOn, submit, typeCard } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })

test(
  'a payer with nothing but a keyboard reaches every field in order, pays with Enter, and can stop the countdown',
  {
    skip,
  },
  async (t) => {
    const link = await shop.link({ redirect_urls: { success: shop.thanksUrl } })
    const { page } = await shop.payer(t)
    await page.clock.install()
    await page.goto(link.url)
    const order: string[] = []
    for (let tabs = 0; tabs < 8; tabs += 1) {
      await page.keyboard.press('Tab')
      order.push(await focused(page))
    }
    const [code, number, expiry, cvc, name, button, testCards, language] = order
    assert.equal(code, 'Show the QR Ph code')
    assert.deepEqual([number, expiry, cvc, name], ['number', 'expiry', 'cvc', 'name'])
    assert.deepEqual([button, testCards, language], ['Pay ₱98.00', 'Test cards', 'Filipino'])

    await page.locator('#number').focus()
    await page.keyboard.type('4242424242424242')
    await page.keyboard.press('Tab')
    await page.keyboard.type('1240')
    await page.keyboard.press('Tab')
    await page.keyboard.type('123')
    await Promise.all([page.waitForURL('**/pay/i/**'), page.keyboard.press('Enter')])
    assert.equal(await outcomeOf(page), 'succeeded')
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), 'stay')
    await page.keyboard.press('Enter')
    assert.equal(await focused(page), 'return')
    await page.clock.runFor(40_000)
    assert.equal(await outcomeOf(page), 'succeeded')
  },
)

test(
  'a form that is not ready to be sent stays, says what to mend beside each field, and puts the cursor into the first',
  {
    skip,
  },
  async (t) => {
    const link = await shop.link()
    const { page, asked } = await shop.payer(t)
    await page.goto(link.url)
    await page.getByRole('button', { name: 'Pay ₱98.00' }).click()
    assert.equal(await focused(page), 'number')
    assert.deepEqual(await page.locator('.error:visible').allTextContents(), [
      'Enter your card number.',
      'Enter the expiry date.',
      'Enter the 3 or 4 digits of the CVC.',
    ])
    await typeCard(page, '4242424242424241')
    await page.getByRole('button', { name: 'Pay ₱98.00' }).click()
    assert.deepEqual(await page.locator('.error:visible').allTextContents(), [
      'This card number is not right. Check the digits.',
    ])
    assert.equal(await page.locator('#number').getAttribute('aria-invalid'), 'true')
    await page.locator('#number').fill('4242424242424242')
    assert.deepEqual(await page.locator('.error:visible').allTextContents(), [])
    assert.deepEqual(
      asked.filter((url) => url.includes('/pay/')),
      [link.url],
      'nothing was sent',
    )
  },
)

test(
  "a card is good to the end of its month in the last time zone to reach it, by the server's clock and not the browser's",
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page, asked } = await shop.payer(t)
    await page.clock.setFixedTime(new Date('2060-01-01T12:00:00Z'))
    await page.goto(link.url)
    const form = page.locator('form[data-given-at]')
    const givenAt = await form.getAttribute('data-given-at')
    const told = () => page.locator('.error:visible').allTextContents()
    await typeCard(page)
    for (const [at, words] of [
      ['2040-02-01T11:59:59.999Z', []],
      ['2040-02-01T12:00:00.000Z', ['This card has expired. Use another one.']],
    ] as const) {
      await form.evaluate((element, to) => element.setAttribute('data-given-at', to), at)
      await page.locator('#expiry').fill('01 / 40')
      await page.locator('#name').focus()
      assert.deepEqual(await told(), words)
    }
    await page.getByRole('button', { name: 'Pay ₱98.00' }).click()
    assert.deepEqual(
      asked.filter((url) => url.includes('/pay/')),
      [link.url],
      'nothing was sent, and the card need not be typed again',
    )
    assert.equal(await page.locator('#cvc').inputValue(), '123')
    await form.evaluate((element, to) => element.setAttribute('data-given-at', to), givenAt ?? '')
    await payWith(page)
    assert.equal(await outcomeOf(page), 'succeeded')
  },
)

interface Field {
  setSelectionRange(start: number, end: number): void
}

test('the month of an expiry can be corrected where it stands, to each of the twelve', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  await page.goto(link.url)
  const expiry = page.locator('#expiry')
  for (const by of ['typed over', 'deleted first'])
    for (const month of ['10', '11', '12', '01', '02', '09', '5']) {
      await expiry.fill('12 / 31')
      await expiry.evaluate((input: Field) => input.setSelectionRange(0, 2))
      if (by === 'deleted first') await page.keyboard.press('Delete')
      await page.keyboard.type(month)
      assert.equal(await expiry.inputValue(), `${month.padStart(2, '0')} / 31`, `${month}, ${by}`)
    }
  // Left half typed, it is what the server reads.
  await expiry.evaluate((input: Field) => input.setSelectionRange(0, 2))
  await page.keyboard.type('1')
  await page.locator('#name').focus()
  assert.deepEqual(await page.locator('.error:visible').allTextContents(), [])
  // At the end of the field it is filled up as before.
  for (const typed of ['1/31', '0131', '01 / 2031']) {
    await expiry.fill('')
    await expiry.focus()
    await page.keyboard.type(typed)
    assert.equal(await expiry.inputValue(), '01 / 31', typed)
  }
})

test(
  'what is pasted keeps all its digits, whatever stands between them, and no more than there may be',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t)
    await page.goto(link.url)
    for (const [name, pasted, shown] of [
      ['number', '4242 - 4242 - 4242 - 4242', '4242 4242 4242 4242'],
      ['number', 'Card number: 4242 4242 4242 4242', '4242 4242 4242 4242'],
      ['number', '42424242424242424242424242', '4242 4242 4242 4242 424'],
      ['expiry', '12  /  2031', '12 / 31'],
      ['cvc', '1 2 3', '123'],
      ['cvc', '1234567', '1234'],
    ] as const) {
      const input = page.locator(`#${name}`)
      await input.fill('')
      await input.focus()
      // As the payer's own paste does, this goes by the field's maxlength.
      await page.keyboard.insertText(pasted)
      assert.equal(await input.inputValue(), shown, pasted)
    }
  },
)

const slips: readonly { typed: { number?: string; expiry?: string; cvc?: string }; field: string; says: string }[] = [
  {
    typed: { number: '4242 4242 4242 4241' },
    field: 'number',
    says: 'This card number is not right. Check the digits.',
  },
  { typed: { number: '' }, field: 'number', says: 'Enter your card number.' },
  { typed: { expiry: '13 / 40' }, field: 'expiry', says: 'Enter month and year, like 04 / 31.' },
  { typed: { expiry: '01 / 20' }, field: 'expiry', says: 'This card has expired. Use another one.' },
  { typed: { cvc: '12' }, field: 'cvc', says: 'Enter the 3 digits on the back of the card.' },
  { typed: { number: '378282246310005' }, field: 'cvc', says: 'Enter the 4 digits on the front of the card.' },
]

test(
  'C4.confirm.card-no-attempt: without scripts the answer to a form with a slip leads to it, shows nothing of the card again, and can be mended',
  {
    skip,
  },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t, { scripts: false })
    await page.goto(link.url)
    for (const { typed, field, says } of slips) {
      await typeCard(page)
      // The browser's own check of an empty field would keep the form from being sent.
      for (const [name, value] of Object.entries(typed)) await page.locator(`#${name}`).fill(value === '' ? ' ' : value)
      const [answer] = await Promise.all([
        page.waitForResponse((one) => one.request().method() === 'POST'),
        submit(page),
      ])
      assert.equal(answer.status(), 400)
      assert.match(await page.title(), /^Error: Pay ₱98\.00/)
      assert.equal(await page.getByRole('alert').evaluate((alert) => alert === alert.ownerDocument.activeElement), true)
      assert.equal(await page.locator(`#${field}-error`).textContent(), says)
      assert.equal(await page.locator(`#${field}`).getAttribute('aria-invalid'), 'true')
      await page.getByRole('alert').getByRole('link', { name: says }).click()
      assert.equal(await focused(page), field)
      const shown = (await answer.text()).replace(/<details class="test-cards">[^]*<\/details>/, '')
      const number = typed.number ?? cards.approved
      for (const part of [number, number.replaceAll(' ', ''), typed.expiry ?? '12 / 40']) {
        assert.ok(part === '' || !shown.includes(part), `${part} is shown again`)
      }
      for (const name of ['number', 'expiry', 'cvc', 'name'])
        assert.equal(await page.locator(`#${name}`).inputValue(), '')
    }
    const attempts = await shop.sql(
      'select 1 from payments.attempts a join payments.intents i on i.id = a.intent_id where i.link_id = $1',
      [link.id],
    )
    assert.equal(attempts.length, 0)
    await payWith(page)
    assert.equal(await outcomeOf(page), 'succeeded')
  },
)

test(
  'C4.card-data.nowhere: a card is in no address, no cookie, no storage and no page of the payer',
  { skip },
  async (t) => {
    const link = await shop.link({ redirect_urls: { success: shop.thanksUrl } })
    const { page, asked } = await shop.payer(t)
    const pages: string[] = []
    await page.goto(link.url)
    for (const card of [cards.declined, cards.insufficientFunds, cards.approved]) {
      await payWith(page, card)
      pages.push(await page.content())
    }
    assert.equal(await outcomeOf(page), 'succeeded')
    const kept = await page.evaluate(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, history.state, location.href])',
    )
    const cookies = await page.context().cookies()
    const everything = JSON.stringify([asked, kept, cookies])
    for (const card of [cards.declined, cards.insufficientFunds, cards.approved]) {
      assert.ok(!everything.includes(card))
      assert.ok(!everything.includes(card.replaceAll(/(\d{4})(?=\d)/g, '$1 ')))
      for (const text of pages) assert.ok(!text.includes(card))
    }
    assert.ok(cookies.length > 0)
    assert.ok(cookies.every(({ httpOnly, sameSite, expires }) => httpOnly && sameSite === 'Lax' && expires === -1))
  },
)

test(
  'a payer whose browser prefers Filipino gets every page in Filipino, and can change to English and back',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t, { locale: 'fil-PH' })
    await page.goto(link.url)
    assert.equal(await languageOf(page), 'fil')
    assert.match(await page.title(), /^Magbayad ng ₱98\.00 sa Kapihan ni Aling Nena$/)
    await page.getByRole('link', { name: 'English' }).click()
    await page.waitForURL('**?lang=en')
    assert.equal(await languageOf(page), 'en')
    await page.getByRole('link', { name: 'Filipino' }).click()
    await page.waitForURL('**?lang=fil')

    const fill = async (number: string) => {
      await page.getByLabel('Numero ng card').fill(number)
      await page.getByLabel('Expiry').fill('12 / 40')
      await page.getByLabel('CVC').fill('123')
      const button = page.getByRole('button', { name: 'Magbayad ng ₱98.00' })
      await Promise.all([page.waitForEvent('domcontentloaded'), button.click()])
    }
    await fill(cards.insufficientFunds)
    assert.match(
      (await page.getByRole('alert').textContent()) ?? '',
      /Kulang ang pondo ng card na ito\. Hindi ka siningil\./,
    )
    await fill(cards.approved)
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Nabayaran na')
    assert.equal(await languageOf(page), 'fil')
  },
)

test('what a merchant writes is shown as words: no markup, no script, no turned text', { skip }, async (t) => {
  const hostile = `</title></script><script>globalThis.hacked = 1</script><img src=x onerror="globalThis.hacked = 1">' "&amp; {{7*7}} \u202Edesrever`
  const link = await shop.link({
    line_items: [{ sku: 'A', name: hostile, unit_price: 9800, quantity: 1 }],
    description: hostile,
    order_reference: hostile.slice(0, 100),
  })
  const [branch] = shop.seed.merchants[1]?.branches ?? []
  assert.ok(branch)
  await shop.sql('update identity.entities set name = $1 where id = $2', [hostile, shop.seed.merchants[1]?.id])
  const other = await shop.as(branch.secret_key).paymentLinks.create({
    type: 'one_time',
    currency: 'PHP',
    amount: 100,
    line_items: [{ sku: 'A', name: 'A', unit_price: 100, quantity: 1 }],
  })
  const { page } = await shop.payer(t)
  for (const url of [link.url, other.url]) {
    await page.goto(url)
    assert.ok(((await page.locator('.lid').textContent()) ?? '').includes(hostile))
    assert.equal(await page.locator('img, script:not([src])').count(), 0)
    await payWith(page)
    assert.equal(await outcomeOf(page), 'succeeded')
    assert.equal(await page.locator('img, script:not([src])').count(), 0)
    assert.equal(await page.evaluate('globalThis.hacked'), undefined)
  }
  assert.equal((await receiptOn(page))['Paid to'], hostile)
})

test(
  'on paper the lid is black on white: what came of the payment, the amount and the merchant',
  { skip },
  async (t) => {
    const { page } = await shop.payer(t)
    const [open, paid, cancelled] = [await shop.link(), await shop.link(), await shop.link()]
    await shop.sdk.paymentLinks.cancel(cancelled.id)
    await page.emulateMedia({ media: 'print' })
    for (const { url } of [open, paid, cancelled]) {
      await page.goto(url)
      if (url === paid.url) await payWith(page)
      await page.emulateMedia({ media: 'print' })
      const colors =
        await page.evaluate(`[...document.querySelectorAll('.lid, .lid h1, .lid .amount, .lid .sum, .lid .sum b, .lid .until')]
      .map((element) => getComputedStyle(element).color)`)
      assert.deepEqual([...new Set(colors as string[])], ['rgb(0, 0, 0)'])
      const background = await page.evaluate(`getComputedStyle(document.querySelector('.lid')).backgroundColor`)
      assert.equal(background, 'rgba(0, 0, 0, 0)')
      await page.emulateMedia({ media: 'screen' })
    }
  },
)

test('a test card of the sandbox fills the form with a click', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t)
  await page.goto(link.url)
  await page.getByText('Test cards').click()
  await page.getByRole('button', { name: '4242 4242 4242 4242' }).click()
  await submit(page)
  assert.equal(await outcomeOf(page), 'succeeded')
})

/** The id of what has the focus, or its words. */
const focused = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.id || document.activeElement.textContent.trim()')

const languageOf = (page: Page) => page.locator('html').getAttribute('lang')
