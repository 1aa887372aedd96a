import assert from 'node:assert/strict'
import { request, type IncomingHttpHeaders } from 'node:http'
import { after, test } from 'node:test'
import pg from 'pg'
import { identityStore, type AccountState } from '../../src/identity/store.ts'
import { connectionConfig, type DbTarget } from '../../src/kernel/db.ts'
import { cards, platform } from '../platform.ts'

const { kaha, link, sdk, merchant, branch, target, another, idle } = await platform({ after })

test('C4.checkout.get-creates-nothing: looking at a page writes nothing, however it is looked at', async () => {
  const { url } = await link()
  const { checkout_url } = await sdk.paymentIntents.create({
    amount: 9800,
    currency: 'PHP',
    merchant_branch_reference_number: branch.reference_number,
  })
  await idle()
  const before = await rowCounts()
  assert.ok((before['ecommerce.links'] ?? 0) > 0)
  for (const page of [url, checkout_url]) {
    for (const method of ['GET', 'HEAD']) {
      for (const search of ['', '?lang=fil', '?utm_source=chat&stay=1']) {
        const { status } = await ask(method, `${page}${search}`, { headers: { 'user-agent': 'a link preview' } })
        assert.equal(status, 200)
      }
    }
  }
  assert.deepEqual(await rowCounts(), before)
})

test('HEAD answers as GET does, without the page', async () => {
  const { url } = await link()
  for (const path of [url, `${url}x`]) {
    const [get, head] = [await ask('GET', path), await ask('HEAD', path)]
    assert.equal(head.status, get.status)
    assert.equal(head.headers['content-security-policy'], get.headers['content-security-policy'])
    assert.equal(head.headers['content-type'], get.headers['content-type'])
    assert.equal(head.text, '')
    assert.match(get.text, /^<!doctype html>/)
  }
})

test('a page that is asked for at 127.0.0.1 leads to its own address, and a form that is sent there is read there', async () => {
  const { url } = await link()
  const there = url.replace('//localhost:', '//127.0.0.1:')
  for (const method of ['GET', 'HEAD']) {
    const { status, headers, text } = await ask(method, `${there}?lang=fil&stay=1`)
    assert.deepEqual([status, headers.location, text], [307, `${url}?lang=fil&stay=1`, ''])
    assert.equal(headers['cache-control'], 'no-store')
  }
  const paid = await ask('POST', there, { form: { ...(await formOf(url)), ...typed } })
  assert.match((await ask('GET', paid.headers.location ?? '')).text, /data-outcome="succeeded"/)
  // What a proxy makes of Host is not what the browser shows: to lead from there could lead around in a circle.
  const behind = await another({ KAHA_BASE_URL: 'https://pay.example.test' })
  const { status, headers } = await ask('GET', behind.localUrl + new URL(url).pathname)
  const overTlsAlone = (cookie: string) => cookie.endsWith('; HttpOnly; SameSite=Lax; Secure')
  assert.deepEqual([status, headers['set-cookie']?.every(overTlsAlone)], [200, true])
})

test('every page of an error is a page of the checkout, with its policy and without a trace of the cause', async () => {
  const { id, url } = await link()
  const form = await formOf(url)
  const cases: readonly (readonly [status: number, method: string, path: string, options?: Asking])[] = [
    [404, 'GET', '/pay'],
    [404, 'GET', '/pay/'],
    [404, 'GET', '/pay/elsewhere'],
    [404, 'GET', '/pay/l/0000000000000000000000'],
    [404, 'GET', `/pay/l/${id}`],
    [404, 'GET', '/pay/i/0000000000000000000000'],
    [404, 'GET', `/pay/l/${'x'.repeat(600)}`],
    [404, 'GET', '/pay/l/%00'],
    [404, 'GET', '/pay/l/%F0%9F%98%80'],
    [404, 'GET', "/pay/l/'%20or%201=1--"],
    [400, 'GET', '/pay/l/%zz'],
    [405, 'PUT', url],
    [405, 'DELETE', url],
    [405, 'PATCH', url, { body: '{}', headers: { 'content-type': 'application/json' } }],
    [404, 'PUT', '/pay/elsewhere'],
    [403, 'POST', url],
    [403, 'POST', url, { form: {} }],
    [403, 'POST', url, { form: { ...form, csrf: '' } }],
    [403, 'POST', url, { form: { ...form, nonce: 'another' } }],
    [403, 'POST', url, { form: { ...form, nonce: 'x'.repeat(10_000) } }],
    [403, 'POST', url, { form, headers: { 'sec-fetch-site': 'cross-site' } }],
    [403, 'POST', url, { form, headers: { 'sec-fetch-site': 'same-site' } }],
    [403, 'POST', url, { form, headers: { 'sec-fetch-site': 'none' } }],
    [403, 'POST', (await link()).url, { form }],
    [415, 'POST', url, { body: '{}', headers: { 'content-type': 'application/json' } }],
    [415, 'POST', url, { body: 'a=1', headers: { 'content-type': 'text/plain' } }],
    [413, 'POST', url, { form: { ...form, name: 'x'.repeat(20_000) } }],
  ]
  const before = await rowCounts()
  for (const [status, method, path, options] of cases) {
    const answer = await ask(method, new URL(path, url).href.replace('%27', "'"), options)
    assertErrorPage(answer, status, `${method} ${path}`)
  }
  assert.deepEqual(await rowCounts(), before)
})

test('a page takes its own methods alone, and says which in Allow', async () => {
  const token = 'x'.repeat(22)
  const allowed: readonly (readonly [path: string, allow: string])[] = [
    [`/pay/l/${token}`, 'GET, HEAD, POST'],
    [`/pay/i/${token}`, 'GET, HEAD, POST'],
    [`/pay/i/${token}/status?lang=fil`, 'GET, HEAD'],
    [`/pay/i/${token}/challenge/${token}`, 'GET, HEAD'],
    [`/pay/i/${token}/code.png`, 'GET, HEAD'],
    [`/pay/i/${token}/other`, 'POST'],
    [`/sandbox/challenges/${token}`, 'GET, HEAD, POST'],
  ]
  const { url } = await link()
  for (const [path, allow] of allowed) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((one) => !allow.includes(one))) {
      const answer = await ask(method, new URL(path, url).href)
      assert.equal(answer.status, 405, `${method} ${path}`)
      assert.equal((answer.headers.allow ?? '').split(', ').toSorted().join(', '), allow)
      assert.match(answer.text, /^<!doctype html>/)
    }
  }
  assert.equal((await ask('GET', new URL(`/pay/i/${token}/codeXpng`, url).href)).status, 404)
})

test('a page of an error names its own cause: a form is blamed where there was one', async () => {
  const { url } = await link()
  const told = async (method: string, path: string) => (await ask(method, new URL(path, url).href)).text
  for (const [method, path, english, filipino] of [
    ['DELETE', url, 'This page cannot be used like that', 'Hindi magagamit nang ganyan ang pahinang ito'],
    ['GET', '/pay/l/%zz', 'This address could not be read', 'Hindi mabasa ang address na ito'],
    ['GET', '/pay/%zz', 'This address could not be read', 'Hindi mabasa ang address na ito'],
  ] as const) {
    assert.match(await told(method, path), new RegExp(`<h1>${english}</h1>`))
    assert.match(await told(method, `${path}?lang=fil`), new RegExp(`<h1>${filipino}</h1>`))
  }
  assert.doesNotMatch(await told('GET', '/pay/l/%zz'), /class="button"/)
  const unread = await ask('POST', url, { body: '{}', headers: { 'content-type': 'application/json' } })
  assert.match(unread.text, /<h1>This form could not be read<\/h1>/)
})

test('an error of the form that gives up a code leads to the page of the code, and claims nothing of the money', async () => {
  const { url } = await link()
  const page = new URL(`/pay/i/${'x'.repeat(22)}`, url).href
  for (const [method, status, lang] of [
    ['GET', 405, ''],
    ['POST', 403, ''],
    ['POST', 403, '?lang=fil'],
  ] as const) {
    const answer = await ask(method, `${page}/other${lang}`, method === 'POST' ? { form: { csrf: 'old' } } : {})
    assert.equal(answer.status, status)
    assert.match(answer.text, new RegExp(`class="button" href="${page}${lang.replace('?', '\\?')}"`))
    if (status === 403) assert.doesNotMatch(answer.text, /charged|siningil/)
  }
})

test('a failure of ours is a page that tells nothing of its cause, and asks to look again before paying', async () => {
  const { url } = await link()
  const form = await formOf(url)
  await sql('alter table ecommerce.links rename to links_away')
  try {
    for (const answer of [await ask('GET', url), await ask('POST', url, { form: { ...form, ...typed } })]) {
      assertErrorPage(answer, 500)
      assert.match(answer.text, /Open the page again to see how your payment stands before you pay again\./)
      assert.doesNotMatch(answer.text, /links|relation|ecommerce/)
    }
  } finally {
    await sql('alter table ecommerce.links_away rename to links')
  }
})

test('while the database has no room a payer is asked to come back, and told when', async () => {
  const { url } = await link()
  const crowded = await another({}, { databaseConnectionsMax: 1 })
  const held = Promise.withResolvers<void>()
  const holding = crowded.db.tx(() => held.promise)
  try {
    const answer = await ask('GET', url.replace(new URL(url).origin, crowded.addresses.base))
    assertErrorPage(answer, 503)
    assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
  } finally {
    held.resolve()
    await holding
  }
})

test('C4.confirm.rate-setting: one address may not try cards without end, and the page says so', async () => {
  const { url } = await link({ type: 'multi_use' })
  const limited = await another({ KAHA_CONFIRM_LIMIT: '2' })
  const there = url.replace(new URL(url).origin, limited.addresses.base)
  const statuses: number[] = []
  for (let tries = 0; tries < 3; tries += 1) {
    const answer = await ask('POST', there, { form: { ...(await formOf(there)), ...typed } })
    statuses.push(answer.status)
    if (answer.status === 429) {
      assertErrorPage(answer, 429)
      assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
    }
  }
  assert.deepEqual(statuses, [303, 303, 429])
})

test('a payer whose form was taken, and is refused when it is sent again, is not told that nothing was charged', async () => {
  const { url } = await link()
  const limited = await another({ KAHA_CONFIRM_LIMIT: '1' })
  const there = url.replace(new URL(url).origin, limited.addresses.base)
  const form = { ...(await formOf(there)), ...typed }
  const paid = await ask('POST', there, { form })
  assert.match((await ask('GET', paid.headers.location ?? '')).text, /data-outcome="succeeded"/)
  const again = await ask('POST', there, { form })
  assertErrorPage(again, 429)
  assert.doesNotMatch(again.text, /not been charged/)
  assert.match(again.text, /how your payment stands before you pay again/)
})

test('a checkout on a host name of its own has short addresses, and every part of the way stays there', async () => {
  const checkout = 'http://pay.example.test'
  const there = await another({ KAHA_CHECKOUT_URL: checkout })
  const { url } = await link()
  const { pathname } = new URL(url.replace('/pay/', '/'))
  const own = (method: string, path: string, options: Asking = {}) =>
    ask(method, `${there.localUrl}${path}`, { ...options, headers: { ...options.headers, host: 'pay.example.test' } })

  const page = await own('GET', pathname)
  assert.equal(page.status, 200)
  const [stylesheet = ''] = /\/assets\/[\w.]+\.css/.exec(page.text) ?? []
  assert.equal((await own('GET', stylesheet)).status, 200)
  const form = fieldsOf(page.text)
  assert.equal(/<form[^>]*action="([^"]*)"/.exec(page.text)?.[1], `${checkout}${pathname}`)

  const refused = await own('POST', pathname, { form: { ...form, csrf: 'x' } })
  assertErrorPage(refused, 403)
  assert.match(refused.text, new RegExp(`href="${checkout}${pathname}"`))
  const paid = await own('POST', pathname, { form: { ...form, ...typed } })
  assert.equal(paid.status, 303)
  assert.match(paid.headers.location ?? '', /^http:\/\/pay\.example\.test\/i\/[\w-]{22}$/)
  const [cookie = ''] = paid.headers['set-cookie'] ?? []
  assert.match(cookie, new RegExp(`Path=${pathname};`))
  const back = await own('GET', pathname, { headers: { cookie: cookie.split(';')[0] ?? '' } })
  assert.deepEqual([back.status, back.headers.location], [303, paid.headers.location])
})

test('[I1.account-state.payers] while its merchant is locked nothing can be paid: the pages say so, nothing is made, and the same forms pay afterwards', async () => {
  const stands = async (state: AccountState) => {
    assert.ok(await identityStore.setAccountState(kaha.db, merchant.id, state))
    kaha.bus.hint('keys')
  }
  const merchant_branch_reference_number = branch.reference_number
  const ofIntent = { amount: 9800, currency: 'PHP', merchant_branch_reference_number }
  const intentUrl = async () => (await sdk.paymentIntents.create(ofIntent)).checkout_url
  const paid = await link()
  const [receipt = ''] = [
    (await ask('POST', paid.url, { form: { ...(await formOf(paid.url)), ...typed } })).headers.location,
  ]
  const more = await link({ type: 'multi_use' })
  const once = await ask('POST', more.url, { form: { ...(await formOf(more.url)), ...typed } })
  const own = { cookie: `kaha_payment=${/[\w-]{22}$/.exec(once.headers.location ?? '')?.[0]}` }
  const again = fieldsOf((await ask('GET', more.url, { headers: own })).text)
  const often = { url: more.url, receipt: once.headers.location ?? '', form: { ...again, ...typed } }
  const [refused, coded] = [await intentUrl(), await intentUrl()]
  await ask('POST', refused, { form: { ...(await formOf(refused)), ...typed, number: cards.declined } })
  await ask('POST', coded, { form: { ...(await formOf(coded)), method: 'qrph' } })
  await ask('POST', `${coded}/other`, { form: await formOf(coded) })
  await ask('POST', coded, { form: { ...(await formOf(coded)), ...typed, number: cards.declined } })
  const pages = [(await link()).url, await intentUrl()]
  const forms = await Promise.all(pages.map(async (url) => ({ url, form: { ...(await formOf(url)), ...typed } })))
  await stands('LOCKED')
  const before = await rowCounts()
  for (const { url, form } of forms) {
    for (const method of [{ method: 'card' }, { method: 'qrph' }]) {
      const answer = await ask('POST', url, { form: { ...form, ...method } })
      const told = answer.status === 303 ? await ask('GET', answer.headers.location ?? '') : answer
      assert.match(told.text, /data-outcome="closed"/)
    }
    for (const [lang, title] of [
      ['', 'No payments right now'],
      ['?lang=fil', 'Walang bayaran sa ngayon'],
    ] as const) {
      const shown = await ask('GET', `${url}${lang}`)
      assert.equal(shown.status, 200)
      assert.match(shown.text, new RegExp(`data-outcome="closed"[^]*<h1>${title}</h1>`))
      assert.doesNotMatch(shown.text, /<form/)
    }
  }
  assert.match((await ask('GET', receipt)).text, /data-outcome="succeeded"/)
  // Whoever paid there before is not shown the receipt of that for the payment that they wanted to make.
  const asked = await ask('POST', often.url, { form: often.form, headers: own })
  assert.match(asked.text, /data-outcome="closed"/)
  assert.equal((await ask('GET', often.url, { headers: own })).headers.location, often.receipt)
  // One whose card was refused is told that, and not that they may have paid.
  assert.match((await ask('GET', refused)).text, /data-outcome="declined"[^]*You have not been charged/)
  // Where they were shown a code before, the bank may have taken money for that.
  const afterCode = await ask('GET', coded)
  assert.match(afterCode.text, /data-outcome="declined"[^]*If your bank took the money, do not pay again/)
  assert.doesNotMatch(afterCode.text, /not been charged/)
  assert.deepEqual(await rowCounts(), before)
  await stands('ACTIVE')
  for (const { url, form } of forms) {
    const { headers } = await ask('POST', url, { form })
    assert.match((await ask('GET', headers.location ?? '')).text, /data-outcome="succeeded"/)
  }
})

test('the cookie of one link opens nothing on another, and an invented one is ignored', async () => {
  const [mine, other] = [await link(), await link()]
  const paid = await ask('POST', mine.url, { form: { ...(await formOf(mine.url)), ...typed } })
  const cookie = (paid.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
  for (const value of [
    cookie,
    'kaha_payment=',
    'kaha_payment=x',
    'kaha_payment',
    '=;;=',
    `kaha_payment=${'x'.repeat(4000)}`,
  ]) {
    const { status, text } = await ask('GET', other.url, { headers: { cookie: value } })
    assert.equal(status, 200)
    assert.doesNotMatch(text, /already paid/)
  }
})

const typed = { number: cards.approved, expiry: '12/40', cvc: '123' }

interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
  readonly body?: string
}

interface Asked {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** One request as it is written here: `fetch` would mend paths and refuse some headers. */
function ask(method: string, url: string, { headers = {}, form, body }: Asking = {}): Promise<Asked> {
  const sent = form === undefined ? body : new URLSearchParams(form).toString()
  const type = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
  const { hostname, port } = new URL(url)
  const path = url.slice(new URL(url).origin.length)
  return new Promise((resolve, reject) => {
    const asking = request(
      { method, hostname, port, path, headers: { ...type, ...headers }, agent: false },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      },
    )
    asking.on('error', reject)
    asking.end(sent)
  })
}

function assertErrorPage({ status, headers, text }: Asked, expected: number, what = ''): void {
  assert.equal(status, expected, what)
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; .*frame-ancestors 'none'$/, what)
  assert.equal(headers['cache-control'], 'no-store', what)
  assert.equal(headers['referrer-policy'], 'no-referrer', what)
  assert.equal(headers['x-content-type-options'], 'nosniff', what)
  assert.equal(headers['x-frame-options'], 'DENY', what)
  assert.match(headers['content-type'] ?? '', /^text\/html; charset=utf-8$/, what)
  assert.match(text, /<body data-shape="slip" data-outcome="notice">/, what)
  assert.match(text, new RegExp(`Error ${expected}`), what)
  assert.doesNotMatch(text, /FST_|node_modules|\bat \w+ \(/, what)
}

const fieldsOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  )

const formOf = async (url: string) => fieldsOf((await ask('GET', url)).text)

async function sql<Row extends object>(text: string): Promise<Row[]> {
  return onDatabase(target, async (client) => (await client.query<Row>(text)).rows)
}

async function onDatabase<T>(where: DbTarget, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionConfig(where))
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** How many rows each table of the platform has. */
async function rowCounts(): Promise<Record<string, number>> {
  const tables = await sql<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1`,
  )
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as rows from ${name}`)
  const rows = await sql<{ name: string; rows: number }>(counts.join(' union all '))
  return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]))
}
