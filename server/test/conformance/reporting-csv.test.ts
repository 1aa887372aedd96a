import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { transactionsCsv } from '../../src/areas/reporting/csv.ts'
import { transactionColumns } from '../../src/areas/reporting/store-csv.ts'
import { createBranch } from '../../src/identity/issue.ts'
import { cardOf, cards, newKey, platform } from '../platform.ts'
import { call } from './call.ts'
import { keyFor } from './people.ts'
import { idsOf, transactionsPath as path, type Row } from './reports.ts'
import { rowsOf } from './shop.ts'

// Area B: the list of transactions as CSV.

const p = await platform({ after })
await p.pay({ amount: 500 })
await p.pay({ card: cards.declined })

const csv = (query = '', accept = 'text/csv', key = p.merchant.secret_key) =>
  call(p.url, { path: `${path}${query}`, key, headers: { accept } })

/** RFC 4180 back to rows. */
function parse(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

const at = (row: Row, column: string): string | number | undefined =>
  column.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], row) as
    string | number | undefined

test('[B3.csv.accept, B3.csv.form, B3.csv.nested] the CSV has a header row of the fields in order and then the rows of the list', async () => {
  const answer = await csv()
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers['content-type']), /^text\/csv/)
  assert.ok(answer.text.endsWith('\r\n') && !answer.text.replaceAll('\r\n', '').includes('\n'))
  const [header, ...rows] = parse(answer.text)
  assert.deepEqual(header, [
    'id',
    'status',
    'amount',
    'currency',
    'payment_method',
    'created_at',
    'updated_at',
    'card_brand',
    'card_last_four',
    'correlation_id',
    ...['authorized', 'capturable', 'received', 'refunded'].map((one) => `amount_details.amount_${one}`),
    ...['original_amount', 'tax_amount', 'final_amount'].map((one) => `amount_details.${one}`),
    ...['receipt_number', 'auth_number', 'batch_number', 'approval_code', 'reference_number'].map(
      (one) => `receipt.${one}`,
    ),
    ...['merchant_name', 'merchant_id', 'partner_name', 'branch_id', 'branch_name'].map(
      (one) => `merchant_details.${one}`,
    ),
    ...['terminal_name', 'activation_code', 'serial_number'].map((one) => `terminal_details.${one}`),
  ])
  const listed = (await call(p.url, { path, key: p.merchant.secret_key })).json.data as Row[]
  assert.deepEqual(
    rows,
    listed.map((row) => transactionColumns.map((column) => String(at(row, column) ?? ''))),
  )
})

test('[B3.csv.accept] whoever prefers JSON gets JSON, and the entity and the filters count for both', async () => {
  const typeFor = async (accept: string): Promise<string> => {
    const { headers } = await csv('', accept)
    // Or whoever keeps answers on the way would give the one for the other.
    assert.equal(headers.vary, 'accept')
    return String(headers['content-type'])
  }
  for (const accept of [
    '*/*',
    'application/json',
    'text/html',
    'text/csv;q=0',
    'application/json, text/csv;q=0.5',
    'text/csv;q=0.5, */*',
  ])
    assert.match(await typeFor(accept), /^application\/json/, accept)
  for (const accept of [
    'text/csv',
    'Text/CSV; charset=utf-8',
    'text/*',
    'application/json;q=0.5, text/csv',
    'text/csv, */*',
  ])
    assert.match(await typeFor(accept), /^text\/csv/, accept)
  assert.equal(parse((await csv('?status=DECLINED')).text).length, 2)
  assert.equal(parse((await csv('?status=VOIDED')).text).length, 1)
  assert.equal(parse((await csv('', 'text/csv', p.merchant.branches[1]?.secret_key)).text).length, 1)
  const refused = await csv('?page_size=0')
  assert.deepEqual([refused.status, refused.json.error.code], [400, 'BAD_REQUEST'])
  assert.equal((await csv('?cursor=x')).status, 400)
  assert.equal((await csv('', 'text/csv', 'x')).json.error.code, 'UNAUTHORIZED')
})

test('[B3.csv.formula, B3.csv.form] a cell that a spreadsheet could run is text, and quotes, commas and line ends come back as they were', async () => {
  const merchant = await p.kaha.identity.entity(p.merchant.id)
  assert.ok(merchant)
  const formulas = ['=HYPERLINK("x")', '+1', '-1', '@SUM(1,2)', '\tx', '\rx']
  const texts = ['Ñ "quoted", and\r\nmore', 'a=b', 'one\nmore', ',', '"', "'=1", '', '\u001f=1', '\\']
  for (const written of [...formulas, ...texts]) {
    const branch = await createBranch(p.kaha.db, merchant, written, newKey(), p.kaha.clock.now())
    const { secretKey } = await keyFor(p, branch)
    const sdk = p.as(secretKey)
    const intent = await sdk.paymentIntents.create({ amount: 1, currency: 'PHP' })
    const { id } = await sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf() } })
    await rowsOf(
      p,
      `update payments.transactions t set approval_code = $2, reference_number = $2, terminal_device_id = $2
         from payments.attempts a where a.id = t.id and a.intent_id = $1`,
      [id, written],
    )
    const [header, row] = parse((await csv('', 'text/csv', secretKey)).text)
    const safe = formulas.includes(written) ? `'${written}` : written
    const foreign = [
      'merchant_details.branch_name',
      'receipt.auth_number',
      'receipt.approval_code',
      'receipt.reference_number',
      'terminal_details.terminal_name',
      'terminal_details.serial_number',
    ]
    for (const column of foreign) assert.equal(row?.[header?.indexOf(column) ?? -1], safe, column)
  }
})

test('B3.csv.formula: one cell that a spreadsheet could run is text where no other of its line is one', async () => {
  const merchant = await p.kaha.identity.entity(p.merchant.id)
  assert.ok(merchant)
  const branch = await createBranch(p.kaha.db, merchant, 'plain', newKey(), p.kaha.clock.now())
  const { secretKey } = await keyFor(p, branch)
  const sdk = p.as(secretKey)
  const intent = await sdk.paymentIntents.create({ amount: 1, currency: 'PHP' })
  await sdk.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card: cardOf() } })
  const ofPayment = (column: string) =>
    `update payments.transactions set ${column} = $2 where branch_id = $1 returning ${column} as before`
  const nameOf = (level: string) =>
    `update identity.entities e set name = $2 from identity.entities b, identity.entities o
      where b.id = $1 and e.id = b.${level}_id and o.id = e.id returning o.name as before`
  await rowsOf(p, ofPayment('terminal_device_id'), [branch.id, 'plain'])
  for (const [column, change] of [
    ['receipt.receipt_number', ofPayment('receipt_number')],
    ['receipt.approval_code', ofPayment('approval_code')],
    ['receipt.reference_number', ofPayment('reference_number')],
    ['terminal_details.terminal_name', ofPayment('terminal_device_id')],
    ['merchant_details.partner_name', nameOf('partner')],
    ['merchant_details.merchant_name', nameOf('merchant')],
    ['merchant_details.branch_name', nameOf('branch')],
  ] as const) {
    const [was] = await rowsOf<{ before: string }>(p, change, [branch.id, '=1'])
    const [header, row] = parse((await csv('', 'text/csv', secretKey)).text)
    assert.equal(row?.[header?.indexOf(column) ?? -1], "'=1", column)
    await rowsOf(p, change, [branch.id, was?.before === '=1' ? 'plain' : was?.before])
  }
})

test('[B3.csv.page] the whole result comes whatever the page size, and from a cursor on what would follow', async () => {
  const { json } = await call(p.url, { path: `${path}?page_size=1&status=CAPTURED,DECLINED`, key: p.branch.secret_key })
  const query = '?page_size=1&status=CAPTURED,DECLINED'
  assert.equal(parse((await csv(query, 'text/csv', p.branch.secret_key)).text).length, 3)
  const rest = await csv(
    `${query}&cursor=${encodeURIComponent(json.pagination.next_cursor)}`,
    'text/csv',
    p.branch.secret_key,
  )
  assert.equal(parse(rest.text).length, 2)
})

test('[B3.csv.bounded] an export of many pages has every row once, in order, and can be left in the middle', async () => {
  await rowsOf(
    p,
    `insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, created_at, updated_at)
     select overlay(gen_random_uuid()::text placing '7' from 15 for 1)::uuid, t.partner_id, t.merchant_id, t.branch_id, 'DECLINED', n, t.currency,
            t.payment_method, t.created_at - (n / 10) * interval '1 second', t.updated_at
       from (select * from payments.transactions where status = 'DECLINED' limit 1) t, generate_series(1, 2500) n`,
  )
  for (const query of ['', '&sort_by=amount&sort_order=asc', '&sort_by=updated_at']) {
    const stream = await p.sdk.reports.exportTransactions({
      status: ['DECLINED'],
      ...Object.fromEntries(new URLSearchParams(query)),
    })
    const text = await new Response(stream).text()
    const ids = parse(text)
      .slice(1)
      .map(([id = '']) => ({ id }))
    assert.equal(ids.length, 2501)
    const listed = []
    for await (const row of p.sdk.reports.listAllTransactions({
      page_size: 100,
      status: ['DECLINED'],
      ...Object.fromEntries(new URLSearchParams(query)),
    }))
      listed.push(row)
    assert.deepEqual(idsOf(ids), idsOf(listed))
  }
  const leaving = request(`${p.url}${path}`, {
    agent: false,
    headers: { accept: 'text/csv', 'x-api-key': p.merchant.secret_key },
  })
  const [response] = (await once(leaving.end(), 'response')) as [IncomingMessage]
  const [begun] = (await once(response, 'data')) as [Buffer]
  assert.match(begun.toString(), /^id,status,/)
  leaving.destroy()
  await assert.rejects(p.sdk.reports.exportTransactions({ cursor: 'x' }), { code: 'BAD_REQUEST', status: 400 })
})

test('[B3.csv.bounded] no page is read before the one before it was taken', async () => {
  let read = 0
  async function* pages() {
    for (; read < 1_000; read += 1) yield Array.from({ length: 10 }, () => ({ lines: 'a line\r\n'.repeat(100) }))
  }
  const stream = transactionsCsv(pages())
  const taken: string[] = []
  for await (const chunk of stream) {
    taken.push(chunk as string)
    assert.ok(read <= taken.length / 10 + 2, `${read} pages read when ${taken.length} chunks were taken`)
    if (taken.length === 20) break
  }
  assert.ok(stream.destroyed && read < 5)
})
