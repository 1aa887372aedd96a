import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, test } from 'node:test'
import { confirmPaymentIntent } from '@kaha/contract'
import { cards, newKey, platform, type Platform } from '../platform.ts'
import { bodyOf, refusal, rowsOf, shop } from './shop.ts'

// Card data: paid with in every way, and afterwards nowhere to be found.
const p = await platform({ after }, { settings: { KAHA_LOG_LEVEL: 'debug' }, choices: { confirmWaitMsMax: 50 } })
const merchant = shop(p)

// Three digits are found by chance anywhere. What is kept is kept of every payment: a leak has all of the values, chance has not.
const cvcs = ['739', '584', '916', '263', '857', '491', '638', '172']
const years = [2047, 2053, 2058, 2061, 2069, 2074, 2078, 2083]
const holder = 'Perpetua Katindig-Macaraeg'
const numbers = [
  cards.approved,
  cards.declined,
  cards.error,
  cards.ineligible,
  cards.challenge,
  cards.noAnswer,
  '5555555555554444',
  '4000000000003238',
]

/** Every row of every table as text, bytes as hexadecimal. */
async function everyRow(on: Platform): Promise<string> {
  const tables = await rowsOf<{ name: string }>(
    on,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  )
  assert.ok(tables.length > 15)
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await rowsOf<{ line: string }>(on, `select t::text as line from ${name} t`)
    texts.push(...rows.map(({ line }) => `${name} ${line}`))
  }
  return texts.join('\n')
}

const spellings = (text: string): string[] => [
  text,
  Buffer.from(text).toString('hex'),
  Buffer.from(text).toString('base64').replace(/=+$/, ''),
]
const has = (haystack: string, text: string): boolean => spellings(text).some((one) => haystack.includes(one))
const hasAsToken = (haystack: string, text: string): boolean =>
  new RegExp(`(?<![0-9A-Za-z])${text}(?![0-9A-Za-z])`).test(haystack)

/** What of the cards is in a text: numbers one by one, the short values only where all of them are there. */
function found(haystack: string): string[] {
  return [
    ...numbers.filter((number) => has(haystack, number)),
    ...numbers.filter((number) => has(haystack, number.slice(0, 12))),
    ...(has(haystack, holder) ? ['the holder'] : []),
    ...(cvcs.every((cvc) => hasAsToken(haystack, cvc)) ? ['every CVC'] : []),
    ...(years.every((year) => hasAsToken(haystack, String(year))) ? ['every year'] : []),
  ]
}

const answers: string[] = []
for (const [index, number] of numbers.entries()) {
  const card = { number, exp_month: 11, exp_year: years[index], cvc: cvcs[index], name: holder }
  const { id, client_secret } = bodyOf(await merchant.createIntent(), 201)
  const idempotencyKey = newKey()
  answers.push(
    (await merchant.confirm(id, { ...card, cvc: `${cvcs[index]}0` })).text,
    (await merchant.confirm(id, { ...card, exp_year: 1999 })).text,
    (await merchant.confirm(id, { ...card, number: number.slice(0, -1) })).text,
    (await merchant.confirm(id, { ...card, [number]: cvcs[index] })).text,
    (await merchant.confirm(id, card, { idempotencyKey })).text,
    (await merchant.confirmAsPayer(id, client_secret, card)).text,
    (await merchant.retrieveIntent(id)).text,
  )
}

test('C4.card-data.nowhere: after payments of every outcome no number, CVC, expiry or holder is in an answer, in a log line or in the database', async () => {
  assert.deepEqual(found(answers.join('\n')), [])
  assert.ok(p.logged.length > numbers.length)
  assert.deepEqual(found(p.logged.join('')), [])
  assert.deepEqual(found(await everyRow(p)), [])
})

test('the test above can fail: card data that is planted in a table or in a log is found', async (t) => {
  const one = await platform(t)
  const kept = JSON.stringify({ numbers: numbers.slice(0, 2), holder, cvcs, years })
  bodyOf(await shop(one).createLink({ metadata: { note: kept.slice(0, 500) } }), 201)
  const told = found(await everyRow(one))
  for (const leak of [...numbers.slice(0, 2), 'the holder', 'every CVC', 'every year'])
    assert.ok(told.includes(leak), leak)
  // Nor is it hidden by an encoding.
  await rowsOf(one, 'create table sandbox.planted (bytes bytea, text text)')
  await rowsOf(one, 'insert into sandbox.planted values ($1, $2)', [
    Buffer.from(numbers[2] ?? ''),
    Buffer.from(numbers[3] ?? '').toString('base64'),
  ])
  const encoded = found(await everyRow(one))
  assert.ok(encoded.includes(numbers[2] ?? '') && encoded.includes(numbers[3] ?? ''))
})

test('C4.card-data.nowhere: what a page is sent is not repeated either, right or wrong', async () => {
  const { url } = bodyOf(await merchant.createLink(), 201)
  const page = await (await fetch(url)).text()
  const hidden = Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]+)"/g)].map(([, name, value]) => [name, value]),
  )
  const typed = { number: '5105 1051 0510 5109', expiry: '11 / 47', cvc: '7391', name: holder }
  const again = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams({ ...hidden, ...typed }),
    redirect: 'manual',
  })
  const text = await again.text()
  assert.equal(again.status, 400)
  for (const value of ['5105 1051', '51051051', '7391']) assert.ok(!text.includes(value), value)
})

test('C4.card-data.kept: of a card its brand, its last four digits and a fingerprint are kept, which tells cards apart and leads back to none', async () => {
  const columns = await rowsOf<{ name: string }>(
    p,
    `select column_name as name from information_schema.columns
      where table_schema in ('payments', 'sandbox') and column_name ~ 'card|pan|cvc|cvv|exp_|expiry|holder' order by 1`,
  )
  const names = new Set(columns.map(({ name }) => name))
  assert.deepEqual([...names].toSorted(), ['card_brand', 'card_fingerprint', 'card_last_four'])

  const pay = async (number: string) => {
    const { id } = bodyOf(await merchant.createIntent(), 201)
    bodyOf(await merchant.confirm(id, number), 200)
    const [row] = await rowsOf<{ card_brand: string; card_last_four: string; card_fingerprint: string }>(
      p,
      'select card_brand, card_last_four, card_fingerprint from payments.attempts where intent_id = $1',
      [id],
    )
    assert.ok(row)
    return row
  }
  const [visa, again, other] = [
    await pay('4242424242424242'),
    await pay('4242424242424242'),
    await pay('5555555555554444'),
  ]
  assert.deepEqual([visa.card_brand, visa.card_last_four], ['VISA', '4242'])
  assert.deepEqual([other.card_brand, other.card_last_four], ['MASTERCARD', '4444'])
  assert.equal(visa.card_fingerprint, again.card_fingerprint)
  assert.notEqual(visa.card_fingerprint, other.card_fingerprint)
  assert.match(visa.card_fingerprint, /^[0-9a-f]{64}$/)
  // It is keyed with what follows from the master key, so that nobody can try all numbers against a stolen table.
  const fingerprintKey = p.kaha.keyring.mac('card-fingerprint-key', '')
  assert.equal(visa.card_fingerprint, createHmac('sha256', fingerprintKey).update('4242424242424242').digest('hex'))
})

test('C4.card-data.confirm-bodies: a confirm is logged without its body and kept under no Idempotency-Key', async () => {
  const { id } = bodyOf(await merchant.createIntent(), 201)
  const idempotencyKey = newKey()
  p.logged.length = 0
  bodyOf(await merchant.confirm(id, cards.declined, { idempotencyKey }), 200)
  // A second one is a second attempt and no replay.
  const paid = await merchant.confirm(id, cards.approved, { idempotencyKey })
  assert.equal(bodyOf(paid, 200).status, 'SUCCEEDED')
  assert.equal(paid.headers['idempotent-replayed'], undefined)
  assert.equal(refusal(await merchant.confirm(id, cards.approved, { idempotencyKey })), '409 INVALID_STATE')

  const [kept] = await rowsOf<{ count: number }>(
    p,
    'select count(*)::int as count from ecommerce.idempotency where operation = $1 or key = $2',
    [confirmPaymentIntent.id, idempotencyKey],
  )
  assert.equal(kept?.count, 0)
  const lines = p.logged.map((line) => JSON.parse(line) as Record<string, unknown>)
  const requests = lines.filter(({ operation }) => operation === confirmPaymentIntent.id)
  assert.equal(requests.length, 3)
  for (const line of requests) {
    const names = ['level', 'time', 'pid', 'operation', 'method', 'path', 'status', 'ms', 'correlation_id', 'msg']
    assert.deepEqual(Object.keys(line).toSorted(), names.toSorted())
    assert.equal(line['path'], '/ecom/v1/payment-intents/:id/confirm')
  }
})
