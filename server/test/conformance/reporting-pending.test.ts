import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { transactionStore, type Caller, type Sort } from '../../src/areas/reporting/store-transactions.ts'
import type { Queries } from '../../src/kernel/db.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { everybody } from './people.ts'
import { idsOf, transactionsOf } from './reports.ts'
import { ownBranch, rowsOf, withoutWorker } from './shop.ts'

// Area B: what is PENDING is found apart from what has ended, and no list tells.

const p = await platform({ after }, withoutWorker)
const people = await everybody(p)
const { walk } = transactionsOf(p)

interface Made {
  readonly id: string
  readonly partner_id: string
  readonly merchant_id: string
  readonly branch_id: string
  readonly status: string
  readonly amount: number
  readonly payment_method: string
  readonly created_at: string
  readonly updated_at: string
}

const branches = [people.branch, people.otherBranch, people.otherMerchantsBranch, people.otherPartnersBranch]

// Of each branch as many: some PENDING, some of them past their deadline, and some that have ended, soon or late; many at the same time, of
// the same amount, and with an id of another time than their own.
await rowsOf(
  p,
  `insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, created_at, updated_at,
     lapses_at)
   select case when n % 4 = 0 then gen_random_uuid() else overlay(kernel.uuid_floor(created_at)::text placing lpad(to_hex(n), 12, '0') from 25)::uuid end,
          ($1::uuid[])[n / 24 + 1], ($2::uuid[])[n / 24 + 1], ($3::uuid[])[n / 24 + 1],
          (array['PENDING', 'CAPTURED', 'PENDING', 'DECLINED', 'PENDING', 'VOIDED'])[n % 6 + 1], n % 5 + 1, 'PHP',
          (array['QR_PH', 'CARD_PRESENT', 'CARD_NOT_PRESENT'])[n % 3 + 1], created_at,
          created_at + case when n % 6 in (1, 3) then (n % 4) * interval '25 hours' else interval '0' end,
          case n % 6 when 2 then created_at + interval '15 minutes' when 4 then now() + interval '1 day' end
     from (select n, date_trunc('milliseconds', now()) - interval '10 days' + (n / 2 % 7) * interval '1 day' as created_at
             from generate_series(0, 95) n) made`,
  [0, 1, 2].map((step) => branches.map(({ path }) => path[step])),
)
const made = (
  await rowsOf<Omit<Made, 'created_at' | 'updated_at'> & { created_at: Date; updated_at: Date }>(
    p,
    `select id, partner_id, merchant_id, branch_id, case when lapses_at < now() then 'EXPIRED' else status end as status, amount::integer,
            payment_method, created_at, case when lapses_at < now() then lapses_at else updated_at end as updated_at
       from payments.transactions`,
  )
).map((row): Made => ({ ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() }))

const sorts: readonly Sort[] = ['created_at', 'updated_at', 'amount']
const orders = ['asc', 'desc'] as const

const inOrder = (rows: readonly Made[], sort: Sort, order: string): string[] => {
  const ascending = idsOf(
    rows.toSorted((one, other) => {
      if (one[sort] !== other[sort]) return one[sort] < other[sort] ? -1 : 1
      return one.id < other.id ? -1 : 1
    }),
  )
  return order === 'asc' ? ascending : ascending.toReversed()
}

const levels = [
  [people.partner, 'partner_id', 72],
  [people.merchant, 'merchant_id', 48],
  [people.branch, 'branch_id', 24],
] as const

const times = [...new Set(made.map((row) => row.created_at))].toSorted()
const [from, to] = [times[1] ?? '', times[4] ?? '']
const isWithin = (row: Made) => row.created_at >= from && row.created_at <= to
const has =
  (...statuses: string[]) =>
  (row: Made) =>
    statuses.includes(row.status)

const filters: Readonly<Record<string, (row: Made) => boolean>> = {
  'date_from=2000-01-01T00:00:00Z': () => true,
  'status=PENDING': has('PENDING'),
  'status=PENDING,PENDING': has('PENDING'),
  'status=CAPTURED,PENDING,VOIDED': has('CAPTURED', 'PENDING', 'VOIDED'),
  'status=EXPIRED,PENDING': has('EXPIRED', 'PENDING'),
  'status=EXPIRED': has('EXPIRED'),
  'status=CAPTURED,DECLINED': has('CAPTURED', 'DECLINED'),
  'status=VOIDED': has('VOIDED'),
  'payment_method=QR_PH': (row) => row.payment_method === 'QR_PH',
  [`date_from=${from}&date_to=${to}`]: isWithin,
  [`status=PENDING&date_from=${from}&date_to=${to}`]: (row) => isWithin(row) && row.status === 'PENDING',
  [`branch_id=${people.branch.id}`]: (row) => row.branch_id === people.branch.id,
  [`activation_code=${p.branch.activation_code}&status=PENDING`]: (row) =>
    row.branch_id === people.branch.id && row.status === 'PENDING',
  [`merchant_id=${people.merchant.id}&payment_method=CARD_NOT_PRESENT`]: (row) =>
    row.merchant_id === people.merchant.id && row.payment_method === 'CARD_NOT_PRESENT',
}

for (const [{ level, id, key }, entity, count] of levels) {
  test(`[B3.transactions.sort-by, B3.transactions.sort-order, B3.transactions.sort-tie, B3.transactions.status] a ${level} sees what is PENDING where it belongs among all others, with each filter, in each order and on each page`, async () => {
    const own = made.filter((row) => row[entity] === id)
    assert.equal(own.length, count)
    for (const sort of sorts) {
      for (const order of orders) {
        const query = `sort_by=${sort}&sort_order=${order}`
        assert.deepEqual(idsOf(await walk(query, 5, key)), inOrder(own, sort, order), query)
        for (const [filter, fits] of Object.entries(filters)) {
          assert.ok(own.some(fits), filter)
          const rows = await walk(`${query}&${filter}`, 7, key)
          assert.deepEqual(idsOf(rows), inOrder(own.filter(fits), sort, order), `${query}&${filter}`)
          for (const row of rows) assert.equal(row.status, own.find((one) => one.id === row.id)?.status)
        }
      }
    }
  })
}

test('[B3.transactions.stable] a payment that ends between two pages is told once, before or after its end, where its place does not change', async () => {
  for (const sort of ['created_at', 'amount']) {
    for (const order of orders) {
      // Which of the six, told or still to come, ends after the first page, and which after the second.
      for (const ending of [
        [5, 0],
        [2, 4],
        [1, 3],
        [3, 2],
      ]) {
        const own = await ownBranch(p)
        const begun = Array.from({ length: 6 }, (_, index) => `01a1fcef-9ed7-7000-8000-${own.id.slice(-11)}${index}`)
        await rowsOf(
          p,
          `select payments.open_transaction(begun, b.partner_id, b.merchant_id, b.id, 100, 'PHP', 'QR_PH', null, now(), null)
             from identity.entities b, unnest($2::uuid[]) begun where b.id = $1`,
          [own.id, begun],
        )
        const left = [...ending]
        const rows = await walk(`sort_by=${sort}&sort_order=${order}`, 2, own.key, async () => {
          const index = left.shift() ?? 0
          const place = order === 'asc' ? index : 5 - index
          await rowsOf(p, `select payments.end_transaction($1, 'CAPTURED', null, now())`, [begun[place]])
        })
        const expected = order === 'asc' ? begun : begun.toReversed()
        assert.deepEqual(idsOf(rows), expected, `${sort} ${order} ${ending.join()}`)
        assert.deepEqual(left, [])
        const [first = 0] = ending
        assert.equal(rows[first]?.status, first < 2 ? 'PENDING' : 'CAPTURED')
      }
    }
  }
})

test('what is PENDING is in one index, besides those of its id and its deadline', async () => {
  const indexes = await rowsOf<{ name: string }>(
    p,
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = 'payments.transactions'::regclass
        and coalesce(pg_get_expr(i.indpred, i.indrelid), '') not like '%(status <> ''PENDING''::text)%'
      order by name`,
  )
  assert.deepEqual(
    indexes.map(({ name }) => name),
    // Only what was captured is settled.
    ['refunds_to_settle', 'transactions_open', 'transactions_pkey', 'transactions_to_lapse', 'transactions_to_settle'],
  )
})

const [partnerId = '', merchantId = '', branchId = ''] = people.branch.path
const callers: readonly Caller[] = [
  { level: 'partner', entityId: partnerId, partnerId, merchantId: null },
  { level: 'merchant', entityId: merchantId, partnerId, merchantId },
  { level: 'branch', entityId: branchId, partnerId, merchantId },
]

const everything = {
  merchantId: null,
  branchId: null,
  activationCode: null,
  paymentMethod: null,
  cardBrand: null,
  statuses: null,
  from: null,
  to: null,
}

/** How a page of everything would be looked for, without the ways that are switched off. */
const scansOf = (caller: Caller, sort: Sort, off: readonly string[]): Promise<Scan[]> =>
  p.kaha.db.tx(async (tx) => {
    for (const way of off) await sql(tx, `set local enable_${way} = off`)
    const seen: Scan[] = []
    const asked = { ...everything, sort, order: 'desc' } as const
    await transactionStore.listTransactions(explaining(tx, seen), caller, asked, null, 21)
    return seen
  })

test('a page walks along the index of its order, for a key of each level', async () => {
  for (const caller of callers) {
    for (const [sort, suffix] of [
      ['created_at', ''],
      ['updated_at', '_by_update'],
      ['amount', '_by_amount'],
    ] as const) {
      // So few rows as here would be read and sorted.
      const scans = await scansOf(caller, sort, ['seqscan', 'bitmapscan', 'sort'])
      const walked = scans.map((scan) => scan['Index Name']).filter((name) => name?.startsWith('transactions_of_'))
      assert.deepEqual(walked, [`transactions_of_${caller.level}${suffix}`])
    }
  }
})

test('what is PENDING is found by a walk along its own index, few or thousands, for a key of each level', async () => {
  const areFound = async () => {
    for (const [index, caller] of callers.entries()) {
      const scans = await scansOf(caller, 'created_at', ['seqscan'])
      const open = scans.filter((scan) => scan['Index Name'] === 'transactions_open')
      const columnsOf = (scan: Scan) =>
        [...(scan['Index Cond'] ?? '').matchAll(/(\w+) = /g)].map(([, column]) => column)
      assert.deepEqual(
        open.map((scan) => [scan['Node Type'], columnsOf(scan)]),
        [['Index Scan', ['partner_id', 'merchant_id', 'branch_id'].slice(0, index + 1)]],
      )
    }
  }
  await areFound()
  await rowsOf(
    p,
    `select payments.open_transaction(gen_random_uuid(), $1, $2, $3, 100, 'PHP', 'QR_PH', null, now(), null) from generate_series(1, 3000)`,
    [...people.branch.path],
  )
  await rowsOf(p, 'analyze payments.transactions')
  await areFound()
})

interface Scan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Scan[]
}

/** Runs nothing, and keeps how the transactions would be looked for. */
const explaining = (on: Queries, seen: Scan[]): Queries => ({
  async run({ text }, values) {
    const [plan] = await sql<{ 'QUERY PLAN': readonly { Plan: Scan }[] }>(on, `explain (format json) ${text}`, values)
    const look = (scan: Scan): void => {
      if (scan['Relation Name'] === 'transactions') seen.push(scan)
      scan.Plans?.forEach(look)
    }
    plan?.['QUERY PLAN'].forEach((one) => look(one.Plan))
    return []
  },
})
