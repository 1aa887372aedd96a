import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tagsOf } from '../../../../test/tags-of.ts'
import type { Language } from '../../../kernel/language.ts'
import { assets, script, stylesheet } from './assets.ts'
import { codePage, type CodeView } from './code-page.ts'
import type { Following } from './page.ts'
import { noticePage, type NoticeView } from './notice-page.ts'
import { payPage, type PayView } from './pay-page.ts'
import { resultPage, type ResultView } from './result-page.ts'
import { resultKinds } from './texts.ts'

const languages: readonly Language[] = ['en', 'fil']

const pay: PayView = {
  language: 'en',
  merchantName: 'Kape Tala',
  currency: 'PHP',
  amount: '₱1,234.50',
  description: 'Your order of 21 November',
  orderReference: 'KT-20481',
  lineItems: [
    { name: 'Barako beans, 500 g', quantity: 2, unitPrice: '₱480.00', total: '₱960.00' },
    { name: 'Filter papers', quantity: 1, unitPrice: '₱199.50', total: '₱199.50' },
    { name: 'Delivery', quantity: 1, unitPrice: '₱75.00', total: '₱75.00' },
  ],
  expiresAt: new Date('2026-11-25T06:05:00Z'),
  action: '/l/abc',
  nonce: 'nonce-1',
  csrf: 'csrf-1',
  givenAt: new Date('2026-11-21T06:05:00Z'),
  sandbox: false,
  backUrl: 'https://shop.example/cart',
  otherLanguageUrl: '/l/abc?lang=fil',
}

const receipt = {
  approvalCode: '831204',
  transactionId: '0193a4c2-7f10-7a52-9c1e-2b7d4f6a8e90',
  invoiceNumber: '000128',
  card: { scheme: 'VISA', lastFour: '4242' },
  completedAt: new Date('2026-11-21T06:12:31Z'),
  orderReference: 'KT-20481',
  description: 'Your order of 21 November',
  items: pay.lineItems,
}

const code: CodeView = {
  ...pay,
  msLeft: 900_000,
  imageUrl: '/i/abc/code.png',
  text: 'ph.ppmi.p2m',
  otherWayAction: '/i/abc/other',
  following: { seconds: 3, stayUrl: '/i/abc?stay=1', attempts: 1 },
}

const notice: NoticeView = { language: 'en', title: 'None', message: 'Look again.', status: 404, sandbox: false }

const result: ResultView = {
  kind: 'succeeded',
  language: 'en',
  merchantName: 'Kape Tala',
  amount: '₱1,234.50',
  message: 'Your payment was approved.',
  receipt,
  redirect: { url: 'https://shop.example/thanks?a=1&b=2', seconds: 20, stayUrl: '/i/abc?stay=1' },
  retryUrl: '/l/abc',
  following: { seconds: 3, stayUrl: '/i/abc?stay=1', attempts: 1 },
  sandbox: false,
  otherLanguageUrl: '/i/abc?lang=fil',
}

const everyPage = languages.flatMap((language): [string, string][] => {
  const problem = { message: 'This card number is not right.', field: 'number' } as const
  return [
    [`pay ${language}`, payPage({ ...pay, language })],
    [`pay in a sandbox ${language}`, payPage({ ...pay, language, sandbox: true })],
    [`pay with a problem ${language}`, payPage({ ...pay, language, problem })],
    [
      `pay after a decline ${language}`,
      payPage({ ...pay, language, problem: { message: 'Declined.' }, declined: true }),
    ],
    ...resultKinds.flatMap((kind): [string, string][] => [
      [`${kind} ${language}`, resultPage({ ...result, language, kind })],
      [`${kind} without a link ${language}`, resultPage({ ...result, language, kind, withoutLink: true })],
    ]),
    [`pay by card or code ${language}`, payPage({ ...pay, language, offersCode: true })],
    [`paid by code ${language}`, resultPage({ ...result, language, receipt: { ...receipt, card: null } })],
    [`refunded ${language}`, resultPage({ ...result, language, receipt: { ...receipt, refunded: '₱30.00' } })],
    [`code ${language}`, codePage({ ...code, language })],
    [`code in a sandbox ${language}`, codePage({ ...code, language, sandbox: true, bankUrl: '/sandbox/bank' })],
    ...[true, false].map((isPaid): [string, string] => [
      `${isPaid ? 'paid before' : 'paying'} ${language}`,
      payPage({ ...pay, language, own: { url: '/i/abc', isPaid } }),
    ]),
    [`notice ${language}`, noticePage({ ...notice, language })],
  ]
})

for (const [name, page] of everyPage) {
  test(`the page "${name}" is well formed, in its language, with one h1 and one title`, () => {
    const tags = tagsOf(page)
    assert.equal(tags.filter((tag) => tag.name === 'h1').length, 1)
    assert.equal(tags.filter((tag) => tag.name === 'title').length, 1)
    assert.equal(tags.filter((tag) => tag.name === 'main').length, 1)
    assert.equal(tags.find((tag) => tag.name === 'html')?.attributes.get('lang'), name.split(' ').at(-1))
    const ids = tags.flatMap((tag) => tag.attributes.get('id') ?? [])
    assert.equal(new Set(ids).size, ids.length, 'ids are unique')
    for (const tag of tags) {
      const references = ['for', 'aria-describedby', 'aria-labelledby'].flatMap((key) => tag.attributes.get(key) ?? [])
      for (const id of references.flatMap((list) => list.split(' '))) assert.ok(ids.includes(id), `${id} exists`)
    }
  })

  test(`the page "${name}" has no inline script, style or handler, and loads nothing from elsewhere`, () => {
    for (const tag of tagsOf(page)) {
      assert.notEqual(tag.name, 'style')
      if (tag.name === 'script') assert.match(tag.attributes.get('src') ?? '', /^\/assets\/checkout\.[0-9a-f]{16}\.js$/)
      for (const [attribute, value] of tag.attributes) {
        assert.doesNotMatch(attribute, /^on|^style$|^srcset$/)
        if (attribute === 'src' || tag.name === 'link') assert.doesNotMatch(value, /:|^\/\//)
      }
    }
    assert.doesNotMatch(page.replaceAll('https://shop.example/', ''), /https?:|javascript:|"\/\//)
  })

  test(`the page "${name}" with all that it loads weighs at most 60 KiB`, () => {
    assert.ok(weightOf(page) <= 60 * 1024, `${weightOf(page)} bytes`)
  })

  test(`the page "${name}" shows nothing of a card`, () => {
    const inputs = tagsOf(page).filter((tag) => tag.name === 'input')
    for (const input of inputs) assert.equal(input.attributes.has('value'), input.attributes.get('type') === 'hidden')
    // In a sandbox the numbers of test cards are public and meant to be seen.
    if (!name.includes('sandbox'))
      assert.doesNotMatch(page.replaceAll(/(?:integrity|src|href)="[^"]*"/g, ''), /\d(?:[ -]?\d){12,}/)
  })
}

test('a hundred line items still weigh at most 60 KiB', () => {
  const item = { name: 'A box of something with a long name', quantity: 3, unitPrice: '₱1,100.00', total: '₱3,300.00' }
  const page = payPage({ ...pay, lineItems: Array.from({ length: 100 }, () => item) })
  assert.equal(tagsOf(page).filter((tag) => tag.name === 'li').length, 100)
  assert.ok(weightOf(page) <= 60 * 1024, `${weightOf(page)} bytes`)
})

test('hostile words from a merchant or a caller are shown as words', () => {
  const hostile = `</title><script>alert('1')</script>" onfocus="alert(2)" autofocus x='&`
  const item = { name: hostile, quantity: 2, unitPrice: hostile, total: hostile }
  const lines = { approvalCode: hostile, transactionId: hostile, invoiceNumber: hostile, completedAt: new Date(0) }
  const pages = [
    payPage({
      ...pay,
      merchantName: hostile,
      amount: hostile,
      description: hostile,
      orderReference: hostile,
      lineItems: [item, item, item],
      action: hostile,
      nonce: hostile,
      csrf: hostile,
      problem: { message: hostile, field: 'name' },
      own: { url: `/${hostile}`, isPaid: true },
      backUrl: `https://shop.example/${hostile}`,
    }),
    resultPage({
      ...result,
      merchantName: hostile,
      amount: hostile,
      message: hostile,
      receipt: {
        ...lines,
        card: { scheme: hostile, lastFour: hostile },
        orderReference: hostile,
        description: hostile,
        items: [item],
      },
      redirect: { url: `https://shop.example/${hostile}`, seconds: 1, stayUrl: `/${hostile}` },
      retryUrl: `/${hostile}`,
    }),
    codePage({
      ...code,
      merchantName: hostile,
      amount: hostile,
      imageUrl: `/${hostile}`,
      text: hostile,
      csrf: hostile,
    }),
    noticePage({ ...notice, title: hostile, message: hostile, retryUrl: `/${hostile}` }),
  ]
  for (const page of pages) {
    const tags = tagsOf(page)
    assert.equal(tags.filter((tag) => tag.name === 'script').length, 1)
    assert.equal(tags.filter((tag) => tag.attributes.has('onfocus')).length, 0)
    assert.ok(page.includes('&lt;script&gt;alert(&#39;1&#39;)'))
  }
})

test('an address that is not http or https is never a link, and a receipt stays without it', () => {
  for (const url of [
    'javascript:alert(1)',
    'data:text/html,x',
    '//elsewhere.example',
    ' jaVascript:x',
    'vbscript:x',
    '',
  ]) {
    const pages = [
      payPage({ ...pay, own: { url, isPaid: true }, backUrl: url, otherLanguageUrl: url }),
      resultPage({ ...result, redirect: { url, seconds: 3, stayUrl: url }, retryUrl: url, otherLanguageUrl: url }),
      noticePage({ ...notice, retryUrl: url, otherLanguageUrl: url }),
    ]
    for (const page of pages) {
      const tags = tagsOf(page)
      assert.equal(tags.filter((tag) => tag.name === 'a').length, 0, url)
      assert.equal(tags.filter((tag) => tag.attributes.has('http-equiv')).length, 0, url)
    }
    assert.match(pages[1] ?? '', /831204/)
  }
})

test('a payer can pay without scripts: the form posts every field under its own label', () => {
  const tags = tagsOf(payPage(pay))
  const form = tags.find((tag) => tag.name === 'form')?.attributes
  assert.equal(form?.get('method'), 'post')
  assert.equal(form?.get('action'), '/l/abc')
  const fields = tags.filter((tag) => tag.name === 'input').map((tag) => tag.attributes)
  const described = fields.map((field) => [field.get('name'), field.get('autocomplete'), field.get('inputmode')])
  assert.deepEqual(described, [
    ['form-nonce-1', undefined, undefined],
    ['nonce', undefined, undefined],
    ['csrf', undefined, undefined],
    ['number', 'cc-number', 'numeric'],
    ['expiry', 'cc-exp', 'numeric'],
    ['cvc', 'cc-csc', 'numeric'],
    ['name', 'cc-name', undefined],
  ])
  const labels = tags.filter((tag) => tag.name === 'label').map((tag) => tag.attributes.get('for'))
  assert.deepEqual(labels, ['number', 'expiry', 'cvc', 'name'])
  assert.deepEqual(
    fields.slice(1, 3).map((field) => field.get('value')),
    ['nonce-1', 'csrf-1'],
  )
})

test('a problem is told first, in the title and beside its field', () => {
  const page = payPage({ ...pay, problem: { message: 'This card has expired.', field: 'expiry' } })
  const tags = tagsOf(page)
  assert.match(page, /<title>Error: Pay ₱1,234\.50 to Kape Tala<\/title>/)
  assert.match(page, /role="alert"[^]*<a href="#expiry">This card has expired\.<\/a>/)
  assert.match(page, /<p class="error" id="expiry-error">This card has expired\.<\/p>/)
  const invalid = tags.filter((tag) => tag.attributes.get('aria-invalid') === 'true')
  assert.deepEqual(
    invalid.map((tag) => tag.attributes.get('id')),
    ['expiry'],
  )
  assert.equal(invalid[0]?.attributes.get('aria-describedby'), 'expiry-error')
})

test('news of a payment that may be tried again is told under its own heading, and not as an error', () => {
  const news = { message: 'Another was under way.', heading: 'You can try again now' }
  const page = payPage({ ...pay, problem: news })
  assert.match(page, /<title>You can try again now: Pay ₱1,234\.50 to Kape Tala<\/title>/)
  assert.match(page, /<div class="problem news" role="alert"[^>]*>\n<svg class="icon" data-icon="waiting"/)
})

test('a payer whose card was refused is told why, and may try again at once', () => {
  const page = payPage({ ...pay, declined: true, problem: { message: 'Your bank refused this payment.' } })
  assert.match(page, /<title>Declined: /)
  assert.match(page, /Your payment was not accepted[^]*Your bank refused this payment\.[^]*<form/)
  assert.equal(tagsOf(page).filter((tag) => tag.attributes.has('aria-invalid')).length, 0)
})

test('the title and the heading tell the outcomes apart, in each language', () => {
  for (const language of languages) {
    const titles = resultKinds.map(
      (kind) => /<title>(.*)<\/title>/.exec(resultPage({ ...result, language, kind }))?.[1],
    )
    assert.equal(new Set(titles).size, resultKinds.length)
    assert.ok(titles.every((title) => title?.includes('₱1,234.50') && title.includes('Kape Tala')))
  }
})

test('a payer who came by no link is told of no link, in each language', () => {
  for (const language of ['en', 'fil'] as const) {
    for (const kind of ['expired', 'cancelled'] as const) {
      const headingOf = (withoutLink: boolean) =>
        /<h1>(.*)<\/h1>/.exec(resultPage({ ...result, language, kind, withoutLink }))?.[1] ?? ''
      assert.match(headingOf(false), /link/)
      assert.doesNotMatch(headingOf(true), /link|^$/)
    }
  }
})

test('a payer goes back to the merchant without scripts too, by a timer or by the link', () => {
  const page = resultPage(result)
  const timer =
    '<noscript><meta http-equiv="refresh" content="20;url=https://shop.example/thanks?a=1&amp;b=2"></noscript>'
  assert.ok(page.includes(timer))
  assert.match(page, /<a class="button second" id="return" href="https:\/\/shop\.example\/thanks\?a=1&amp;b=2"/)
  assert.match(page, /<noscript><a class="link" href="\/i\/abc\?stay=1">Stay on this page<\/a><\/noscript>/)
})

test('that a page leaves by itself is told before the receipt', () => {
  assert.match(resultPage(result), /in <span id="seconds">20<\/span> seconds[^]*<section class="receipt"/)
})

test('a receipt tells what was paid for, and of many things how many they are', () => {
  const textOf = (lines: ResultView['receipt']) =>
    resultPage({ ...result, receipt: lines })
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
  const { description: _description, items, ...bare } = receipt
  assert.match(
    textOf(receipt),
    /Order KT-20481 For Your order of 21 November 2 × Barako beans, 500 g Filter papers Delivery Date/,
  )
  assert.match(
    textOf({ ...receipt, items: [...items, ...items, ...items] }),
    /For Your order of 21 November 9 items Date/,
  )
  assert.match(textOf({ ...bare, items }), /Order KT-20481 For 2 × Barako/)
  assert.match(textOf(bare), /Order KT-20481 Date/)
})

test('a redirect without seconds waits for the payer', () => {
  const page = resultPage({ ...result, redirect: { url: 'https://shop.example/declined' } })
  assert.doesNotMatch(page, /http-equiv|id="leaving"/)
  assert.match(page, /href="https:\/\/shop\.example\/declined"/)
})

test('only a payment that goes on elsewhere looks again by itself', () => {
  const redirect = undefined
  for (const kind of ['processing', 'challenge'] as const)
    assert.match(resultPage({ ...result, redirect, kind }), /http-equiv="refresh" content="3"/)
  assert.doesNotMatch(resultPage({ ...result, redirect, kind: 'declined' }), /http-equiv/)
})

test('a payer without scripts may stop a page from loading anew, and looks again by a link then', () => {
  const stopped = { againUrl: '/i/abc' }
  const pages = (following: Following) => [
    resultPage({ ...result, redirect: undefined, kind: 'processing', following }),
    codePage({ ...code, following }),
  ]
  for (const page of pages({ seconds: 3, stayUrl: '/i/abc?stay=1', attempts: 1 }))
    assert.match(page, /<noscript><p class="hint following">[^<]*3 seconds\.\n<a href="\/i\/abc\?stay=1">/)
  for (const page of pages(stopped)) {
    assert.doesNotMatch(page, /http-equiv|refresh-seconds/)
    assert.match(page, /<a class="button second" href="\/i\/abc">Look again<\/a>/)
  }
})

test('a code is shown with its name for those who do not see it, to save and to copy, and its page looks again by itself', () => {
  const page = codePage(code)
  const tags = tagsOf(page)
  const image = tags.find((tag) => tag.name === 'img')?.attributes
  assert.deepEqual(
    [image?.get('src'), image?.get('alt')],
    [code.imageUrl, 'QR Ph code that pays ₱1,234.50 to Kape Tala'],
  )
  const saved = tags.find((tag) => tag.attributes.has('download'))?.attributes
  assert.equal(saved?.get('href'), code.imageUrl)
  assert.match(page, new RegExp(`<textarea[^>]* readonly[^>]*>${code.text}</textarea>`))
  assert.match(page, /<noscript><meta http-equiv="refresh" content="3"><\/noscript>/)

  const bankOf = (view: CodeView) => tagsOf(codePage(view)).find((tag) => tag.attributes.has('target'))?.attributes
  const shown = new URL(bankOf({ ...code, bankUrl: 'http://localhost:8080/sandbox/bank' })?.get('href') ?? '')
  assert.deepEqual([shown.pathname, shown.searchParams.get('code')], ['/sandbox/bank', code.text])
  assert.equal(bankOf(code), undefined)
})

test('QR Ph is a way to pay where it is offered, by a form of its own that asks nothing', () => {
  const offered = tagsOf(payPage({ ...pay, offersCode: true }))
  assert.equal(offered.filter((tag) => tag.name === 'form').length, 2)
  assert.ok(offered.some(({ attributes }) => attributes.get('name') === 'method' && attributes.get('value') === 'qrph'))
  assert.doesNotMatch(payPage(pay), /QR Ph|qrph/)
})

test('only a sandbox says that it is one, and offers test cards', () => {
  assert.match(payPage({ ...pay, sandbox: true }), /Sandbox: no real money[^]*4242 4242 4242 4242/)
  assert.doesNotMatch(payPage(pay), /[Ss]andbox|Test cards/)
})

test('a moment is shown in Philippine time, with the exact moment for programs', () => {
  assert.match(payPage(pay), /<time datetime="2026-11-25T06:05:00\.000Z">Nov 25, 2026, 2:05.PM<\/time>/)
})

test('a page runs only the script, and wears only the style, that it was made for', () => {
  const page = payPage(pay)
  assert.ok(page.includes(`src="${script.path}" integrity="${script.integrity}"`))
  assert.ok(page.includes(`href="${stylesheet.path}" integrity="${stylesheet.integrity}"`))
})

function weightOf(page: string): number {
  return Buffer.byteLength(page) + assets.reduce((sum, asset) => sum + asset.bytes.length, 0)
}
