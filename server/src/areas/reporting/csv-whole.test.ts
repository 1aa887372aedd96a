import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rowsOf } from '../../../test/conformance/shop.ts'
import { platform } from '../../../test/platform.ts'
import { presentTransaction } from './present.ts'
import { transactionColumns } from './store-csv.ts'
import { transactionStore, type After, type TransactionFilters } from './store-transactions.ts'

const transactions = 4_000
const rowsAtOnce = 2_000

const p = await platform({ after })
await p.pay({})
// Each field with and without a value, one in seven with a text that does not go out as it is, and many with the same time and amount.
for (let from = 1; from <= transactions; from += rowsAtOnce) {
  await rowsOf(
    p,
    `insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, card_brand, card_last_four,
       correlation_id, amount_authorized, amount_received, amount_refunded, approval_code, reference_number, receipt_number, terminal_device_id,
       settlement_status, settled_at, batch_number, created_at, updated_at)
     select overlay(md5(n::text) placing '7' from 13 for 1)::uuid, t.partner_id, t.merchant_id, t.branch_id,
            (array['CAPTURED', 'AUTHORIZED', 'PENDING', 'DECLINED', 'VOIDED', 'REFUNDED', 'PARTIALLY_REFUNDED', 'FAILED', 'EXPIRED', 'CANCELLED'])[n % 10 + 1],
            999999999999 - n % 50, t.currency, (array['CARD_PRESENT', 'CARD_NOT_PRESENT', 'QR_PH'])[n % 3 + 1],
            case when n % 2 = 0 then 'VISA' end, case when n % 4 = 0 then '0007' end, case when n % 3 = 0 then md5(n::text)::uuid end,
            999999999999 - n % 50, n % 11 + 1, n % 2,
            case when n % 5 < 3 then '0' || n end, case n % 7 when 0 then '=1+1' when 1 then 'a "b", c' when 2 then E'\\r\\n' when 3 then '' when 4 then 'Ñ' else n::text end,
            case when n % 3 < 2 then 'R' || n end, case when n % 6 < 2 then '-till ' || n end,
            case when n % 2 = 0 then 'SETTLED' else 'NOT_APPLICABLE' end, case when n % 2 = 0 then t.created_at end, case when n % 2 = 0 then '2026-01-15' end,
            t.created_at - (n / 30) * interval '1.0015 seconds', t.created_at + (n % 100) * interval '1 second'
       from payments.attempts a join payments.transactions t on t.id = a.id, generate_series($1::integer, $1::integer + ${rowsAtOnce - 1}) n`,
    [from],
  )
}

// Most of the ids above are of another time than their rows. These are not.
await rowsOf(
  p,
  `insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, created_at, updated_at)
   select overlay(kernel.uuid_floor(t.created_at - n * interval '1 minute')::text placing lpad(n::text, 12, '0') from 25)::uuid, t.partner_id,
          t.merchant_id, t.branch_id, 'CAPTURED', n % 9 + 1, t.currency, t.payment_method, t.created_at - n * interval '1 minute', t.updated_at
     from payments.attempts a join payments.transactions t on t.id = a.id, generate_series(1, 1500) n`,
)

function cellOf(value: unknown): string {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const lineOf = (shown: object): string =>
  transactionColumns
    .map((column) =>
      column.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], shown),
    )
    .map(cellOf)
    .join(',')

const caller = {
  level: 'merchant',
  entityId: p.merchant.id,
  partnerId: p.seed.partner.id,
  merchantId: p.merchant.id,
} as const

/** What the pages of a list say, put together. */
async function linesOf({ sort, order, statuses }: Pick<TransactionFilters, 'sort' | 'order' | 'statuses'>) {
  const none = { merchantId: null, branchId: null, activationCode: null, paymentMethod: null, cardBrand: null }
  const filters = { ...none, from: null, to: null, sort, order, statuses }
  const lines: string[] = []
  for (let last: After | null = null; ;) {
    const rows = await transactionStore.listTransactions(p.kaha.db, caller, filters, last, rowsAtOnce)
    lines.push(...rows.map((row) => lineOf(presentTransaction(row))))
    last = rows.at(-1) ?? null
    if (last === null) return lines
  }
}

for (const { sort, order, statuses } of [
  { sort: 'created_at', order: 'desc', statuses: null },
  { sort: 'updated_at', order: 'asc', statuses: null },
  { sort: 'amount', order: 'desc', statuses: ['CAPTURED', 'AUTHORIZED', 'REFUNDED', 'DECLINED'] },
] as const) {
  test(`an export by ${sort}, ${order}, says byte by byte what the pages of the list say`, async () => {
    const query = { sort_by: sort, sort_order: order, ...(statuses === null ? {} : { status: [...statuses] }) }
    const lines = (await new Response(await p.sdk.reports.exportTransactions(query)).text()).split(
      /(?<=\r\n)(?=[0-9a-f]{8}-)/,
    )
    const expected = (await linesOf({ sort, order, statuses })).map((line) => `${line}\r\n`)
    assert.equal(lines.length, expected.length + 1)
    assert.ok(lines.length > transactions / 3)
    const odd = expected.findIndex((line, at) => line !== lines[at + 1])
    assert.equal(lines[odd + 1], odd < 0 ? lines[0] : expected[odd])
  })
}

test('by amount, a time keeps the transactions that were created in it, whenever their ids were made, in pages of any size', async () => {
  const [{ at }] = (await rowsOf<{ at: Date }>(p, 'select max(created_at) as at from payments.transactions')) as [
    { at: Date },
  ]
  const ago = (minutes: number) => new Date(at.getTime() - minutes * 60_000)
  const none = {
    merchantId: null,
    branchId: null,
    activationCode: null,
    paymentMethod: null,
    cardBrand: null,
    statuses: null,
  }
  const listed = async (from: Date | null, to: Date | null, order: 'asc' | 'desc', rowsMax: number) => {
    const found = []
    for (let last: After | null = null; ;) {
      const filters = { ...none, from, to, sort: 'amount', order } as const
      const rows = await transactionStore.listTransactions(p.kaha.db, caller, filters, last, rowsMax)
      found.push(...rows)
      last = rows.at(-1) ?? null
      if (last === null) return found
    }
  }
  for (const order of ['asc', 'desc'] as const) {
    const all = await listed(null, null, order, rowsAtOnce)
    for (const [from, to] of [
      [ago(1_000), ago(500)],
      [ago(100), null],
      [null, ago(3)],
    ] as const) {
      const expected = all.filter(
        ({ created_at }) => (from === null || created_at >= from) && (to === null || created_at <= to),
      )
      assert.ok(expected.length >= 100 && expected.length < all.length)
      assert.deepEqual(
        (await listed(from, to, order, Math.ceil(expected.length / 5))).map(({ id }) => id),
        expected.map(({ id }) => id),
      )
    }
  }
})
