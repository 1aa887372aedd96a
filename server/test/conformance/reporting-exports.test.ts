import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { after, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReportingService } from '../../src/areas/reporting/index.ts'
import { createCursors } from '../../src/kernel/cursor.ts'
import type { Db } from '../../src/kernel/db.ts'
import { heldLock } from '../held-lock.ts'
import { cards, platform } from '../platform.ts'
import { until } from '../until.ts'
import { assertRefused, call } from './call.ts'
import { everybody, keyFor } from './people.ts'
import { transactionsPath as path } from './reports.ts'
import { rowsOf } from './shop.ts'

// Area B: exports that many ask for at once, or that nobody reads.

// More rows than all buffers between a server and a caller that does not read hold.
const rows = 27_000
const rowsAtOnce = 3_000

const p = await platform({ after })
await p.pay({ card: cards.declined })
for (let from = 1; from <= rows; from += rowsAtOnce) {
  await rowsOf(
    p,
    `insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, created_at, updated_at)
     select lpad(to_hex(n), 32, '0')::uuid, t.partner_id, t.merchant_id, t.branch_id, 'FAILED', n, t.currency, t.payment_method,
            t.created_at - n * interval '1 second', t.updated_at
       from payments.attempts a join payments.transactions t on t.id = a.id,
            generate_series($1::integer, $1::integer + ${rowsAtOnce - 1}) n`,
    [from],
  )
}

const [ofMerchant, ofBranch, ofPartner] = [p.merchant.secret_key, p.branch.secret_key, p.seed.partner.secret_key]

/** Asks for an export on a connection of its own, which ends with the test. */
function ask(t: TestContext, key: string, url = p.url) {
  const asked = request(`${url}${path}`, { agent: false, headers: { accept: 'text/csv', 'x-api-key': key } })
  t.after(() => asked.destroy())
  asked.on('error', () => {})
  return asked.end()
}

/** An export that is under way and that nobody reads. */
async function held(t: TestContext, key: string, url = p.url): Promise<IncomingMessage> {
  const [response] = (await once(ask(t, key, url), 'response')) as [IncomingMessage]
  response.on('error', () => {})
  await once(response, 'readable')
  assert.equal(response.statusCode, 200)
  return response
}

/** Those that are declined, which is a short export. */
const short = (key = ofMerchant, url = p.url) =>
  call(url, { path: `${path}?status=DECLINED`, key, headers: { accept: 'text/csv' } })

const isFree = (key?: string, url?: string) => until('a free place', async () => (await short(key, url)).status === 200)

const areBothFree = (url: string) =>
  until('two free places', async () =>
    (await Promise.all([short(ofMerchant, url), short(ofMerchant, url)])).every(({ status }) => status === 200),
  )

/** Keeps whoever reads or writes transactions waiting, until it is released. */
const locked = () => heldLock(p.kaha.work, 'lock table payments.transactions')

test('[B3.csv.at-once] a third export of a merchant and its branches and a fifth in all are 429 with Retry-After, until one is over, taken to its end or left', async (t) => {
  const { otherMerchant, otherMerchantsBranch, otherPartner } = await everybody(p)
  const [first, second] = [await held(t, ofMerchant), await held(t, ofBranch)]
  const { secretKey: another } = await keyFor(p, { id: p.merchant.id, level: 'merchant' }, { scopes: ['reports.read'] })
  for (const key of [ofMerchant, ofBranch, another]) {
    const third = await short(key)
    assertRefused(path, third, 429, 'RATE_LIMITED')
    assert.equal(third.headers['retry-after'], '5')
    assert.match(third.json.error.message, /of yours/)
  }
  assert.equal((await call(p.url, { path, key: ofMerchant })).status, 200)
  for (const { key } of [otherMerchant, otherMerchantsBranch, otherPartner])
    assert.equal((await short(key)).status, 200)

  await Promise.all([held(t, ofPartner), held(t, ofPartner)])
  assert.match((await short(ofPartner)).json.error.message, /of yours/)
  const fifth = await short(otherMerchant.key)
  assertRefused(path, fifth, 429, 'RATE_LIMITED')
  assert.equal(fifth.headers['retry-after'], '5')
  assert.match(fifth.json.error.message, /at once/)

  first.destroy()
  await isFree(otherMerchant.key)
  for await (const chunk of second) assert.ok(chunk)
  await Promise.all([held(t, ofMerchant), held(t, ofMerchant)])
})

test('[B3.csv.at-once] whoever leaves before the first page is read, or is refused, keeps no place', async (t) => {
  const another = await p.another()
  const release = await locked()
  t.after(release)
  const asked = Array.from({ length: 3 }, () => ask(t, ofMerchant, another.localUrl))
  // Two wait for the table; the other one is told at once.
  const [refusal] = (await Promise.race(asked.map((one) => once(one, 'response')))) as [IncomingMessage]
  assert.equal(refusal.statusCode, 429)
  for (const one of asked) one.destroy()
  await release()
  await areBothFree(another.localUrl)
  for (let tries = 0; tries < 3; tries += 1) {
    const refused = await call(another.localUrl, {
      path: `${path}?cursor=x`,
      key: ofMerchant,
      headers: { accept: 'text/csv' },
    })
    assertRefused(path, refused, 400, 'BAD_REQUEST')
  }
  await areBothFree(another.localUrl)
})

test('[B3.csv.at-once] HEAD tells the headers of an export, reads none of it and keeps no place', async () => {
  const another = await p.another()
  const asked = { path, key: ofMerchant, headers: { accept: 'text/csv' } }
  for (let tries = 0; tries < 3; tries += 1) {
    const answer = await call(another.localUrl, { ...asked, method: 'HEAD' })
    assert.deepEqual([answer.status, answer.text], [200, ''])
    assert.match(String(answer.headers['content-type']), /^text\/csv/)
  }
  assert.equal((await short(ofMerchant, another.localUrl)).status, 200)
})

test('[B3.csv.at-once] the place of an export is free when the page is over that it was still reading, and after a page that failed', async () => {
  const pages: PromiseWithResolvers<unknown[]>[] = []
  const run = () => {
    const page = Promise.withResolvers<unknown[]>()
    pages.push(page)
    return page.promise
  }
  const { clock, keyring } = p.kaha
  const service = createReportingService({ db: { run } as unknown as Db, clock, cursors: createCursors(keyring) })
  const principal = await p.kaha.identity.authenticate(ofMerchant)
  const begun = async () => {
    const opening = service.exportTransactions(principal, {})
    pages.at(-1)?.resolve([{ position: 'x', id: 'x', lines: 'x' }])
    return opening
  }
  const limited = { code: 'RATE_LIMITED' }

  const [left, failed] = [await begun(), await begun()]
  const reader = left[Symbol.asyncIterator]()
  await reader.next()
  const ending = left[Symbol.asyncDispose]()
  await assert.rejects(service.exportTransactions(principal, {}), limited)
  pages.at(-1)?.resolve([])
  await ending

  const other = failed[Symbol.asyncIterator]()
  await other.next()
  pages.at(-1)?.reject(new Error('The database is away.'))
  await assert.rejects(other.next(), /away/)
  await failed[Symbol.asyncDispose]()
  const refused = service.exportTransactions(principal, {})
  pages.at(-1)?.reject(new Error('The database is away.'))
  await assert.rejects(refused, /away/)
  await Promise.all([begun(), begun()])
  await assert.rejects(service.exportTransactions(principal, {}), limited)
})

test('[B3.csv.at-once] what is created after an export began is left out of it, so that it ends, whatever end it was given', async () => {
  const { db, clock, keyring } = p.kaha
  const service = createReportingService({ db, clock, cursors: createCursors(keyring) })
  const principal = await p.kaha.identity.authenticate(ofMerchant)
  for (const end of [{}, { date_to: '2100-01-01T00:00:00Z' }]) {
    await using pages = await service.exportTransactions(principal, { sort_order: 'asc', ...end })
    await p.pay({ card: cards.declined })
    const [newest] = (await service.listTransactions(principal, { page_size: 1 })).rows
    assert.ok(newest)
    let [lines, isThere] = [0, false]
    for await (const page of pages)
      for (const { lines: text } of page) {
        lines += text.split('\r\n').length - 1
        isThere ||= text.includes(newest.id)
      }
    assert.deepEqual([lines > rows, isThere], [true, false])
  }
})

test('[B3.csv.stalled] an export of which nothing is taken for a while is ended, whatever its caller sends; one that is taken slowly is not', async (t) => {
  const { localUrl } = await p.another({}, { exportStalledMsMax: 900 })
  const socket = connect(Number(new URL(localUrl).port), '127.0.0.1')
  t.after(() => socket.destroy())
  const broken = once(socket, 'error').catch(() => {})
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${ofMerchant}\r\nAccept: text/csv\r\n\r\n`)
  const sending = setInterval(() => socket.write('\r\n'), 50)
  t.after(() => clearInterval(sending))

  const slow = await held(t, ofMerchant, localUrl)
  assertRefused(path, await short(ofMerchant, localUrl), 429, 'RATE_LIMITED')
  const begun = performance.now()
  let bytes = 0
  for await (const chunk of slow) {
    bytes += (chunk as Buffer).length
    // Some 640 KB a second: the kernel, which holds megabytes, takes no more from us for longer than the bound.
    if (performance.now() - begun < 4_500) await sleep(100)
  }
  assert.ok(slow.complete && bytes > rows * 100)
  await broken
  await areBothFree(localUrl)
})
