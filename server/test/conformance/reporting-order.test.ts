import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { assertRefused } from './call.ts'
import { idsOf, transactionsOf, transactionsPath as path, type Row } from './reports.ts'
import { ownBranch, rowsOf } from './shop.ts'

// Area B: the order of the list of transactions, its bounds in time, and its cursors.

const p = await platform({ after })
const { list, listed, walk } = transactionsOf(p)

for (const card of [cards.approved, cards.declined, cards.error, cards.approved, cards.ineligible])
  await p.pay({ card, amount: card === cards.approved ? 5_000 : 300 })
await p.pay({ card: cards.challenge, amount: 999_999_999_999 })
const all = await listed('page_size=100')

const shifted = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString()

test('[B3.transactions.date-from, B3.transactions.date-to, B3.transactions.date-order] both bounds are inclusive, to the millisecond', async () => {
  for (const { created_at: at } of all) {
    const since = (from: string) => idsOf(all.filter((row) => row.created_at >= from))
    const until = (to: string) => idsOf(all.filter((row) => row.created_at <= to))
    for (const time of [at, shifted(at, 1), shifted(at, -1)]) {
      assert.deepEqual(idsOf(await listed(`page_size=100&date_from=${time}`)), since(time))
      assert.deepEqual(idsOf(await listed(`page_size=100&date_to=${time}`)), until(time))
    }
    for (const finer of ['999', '000000000001']) {
      const later = `${at.slice(0, -1)}${finer}Z`
      assert.ok(
        !idsOf(await listed(`page_size=100&date_from=${later}`)).some(
          (id) => all.find((row) => row.id === id)?.created_at === at,
        ),
      )
      assert.deepEqual(idsOf(await listed(`page_size=100&date_to=${later}`)), until(at))
    }
  }
  const manila = encodeURIComponent(`${shifted(all[0]?.created_at ?? '', 8 * 3_600_000).slice(0, -1)}+08:00`)
  assert.ok((await listed(`date_from=${manila}`)).length >= 1)
  assert.equal(
    (await listed('date_from=0000-01-01T00:00:00Z&date_to=9999-12-31T23:59:59.999Z&page_size=100')).length,
    all.length,
  )
  assertRefused(path, await list('date_from=2026-01-01T00:00:00.001Z&date_to=2026-01-01T00:00:00Z'), 400, 'BAD_REQUEST')
})

const sorts = ['created_at', 'updated_at', 'amount'] as const
type Sort = (typeof sorts)[number]

/** In the order that the contract says. */
const inOrder = (rows: readonly Row[], sort: Sort, order: string): string[] => {
  const direction = order === 'asc' ? 1 : -1
  return idsOf(
    rows.toSorted((one, other) => {
      if (one[sort] !== other[sort]) return one[sort] < other[sort] ? -direction : direction
      return one.id < other.id ? -direction : direction
    }),
  )
}

test('[B3.transactions.sort-by, B3.transactions.sort-order, B3.transactions.sort-tie] a list comes by created_at, updated_at or amount, either way, with the id as tie-breaker, whatever the size of its pages', async () => {
  assert.deepEqual(idsOf(all), inOrder(all, 'created_at', 'desc'))
  for (const sort of sorts) {
    assert.deepEqual(idsOf(await listed(`page_size=100&sort_by=${sort}`)), inOrder(all, sort, 'desc'))
    for (const order of ['asc', 'desc']) {
      for (const size of [1, 4, 6])
        assert.deepEqual(idsOf(await walk(`sort_by=${sort}&sort_order=${order}`, size)), inOrder(all, sort, order))
    }
  }
  assert.deepEqual(
    idsOf(await walk('sort_by=amount&sort_order=asc&status=DECLINED,FAILED', 2)),
    inOrder(
      all.filter(({ status }) => ['DECLINED', 'FAILED'].includes(status)),
      'amount',
      'asc',
    ),
  )
})

test('[B3.transactions.sort-by, B3.transactions.date-from, B3.transactions.date-to] bounds in time hold beside a value, in each order and on each page', async () => {
  // All but the first and the last of them.
  const [from, to] = [all.at(-2)?.created_at ?? '', all[1]?.created_at ?? '']
  const within = all.filter((row) => row.created_at >= from && row.created_at <= to)
  const values: (readonly [string, (row: Row) => boolean])[] = [
    ['payment_method=CARD_NOT_PRESENT', () => true],
    ...within.map(({ status }) => [`status=${status}`, (row: Row) => row.status === status] as const),
  ]
  for (const [value, fits] of values) {
    assert.ok(within.some(fits))
    for (const sort of sorts) {
      for (const order of ['asc', 'desc']) {
        const query = `sort_by=${sort}&sort_order=${order}&${value}&date_from=${from}&date_to=${to}`
        assert.deepEqual(idsOf(await walk(query, 2)), inOrder(within.filter(fits), sort, order), query)
      }
    }
  }
})

test('[B3.transactions.cursor] a cursor is good for its own parameters and entity alone, and for any size of page', async () => {
  const { next_cursor: cursor } = (await list('page_size=1&status=CAPTURED')).json.pagination
  const at = `cursor=${encodeURIComponent(cursor)}`
  assert.equal((await list(`page_size=1&status=CAPTURED&${at}`)).status, 200)
  const others = ['', 'status=DECLINED', 'status=CAPTURED&sort_by=amount', 'status=CAPTURED&sort_order=asc']
  for (const query of others) assertRefused(path, await list(`page_size=2&${query}&${at}`), 400, 'BAD_REQUEST')
  assertRefused(path, await list(`status=CAPTURED&${at}`, p.branch.secret_key), 400, 'BAD_REQUEST')
  const { next_cursor: plain } = (await list('page_size=1')).json.pagination
  for (const parameter of [
    `merchant_id=${p.merchant.id}`,
    `branch_id=${p.branch.id}`,
    `activation_code=${p.branch.activation_code}`,
    'payment_method=CARD_NOT_PRESENT',
    'card_brand=VISA',
    `date_from=2020-01-01T00:00:00Z`,
    `date_to=2100-01-01T00:00:00Z`,
  ]) {
    const { status, json } = await list(`page_size=1&${parameter}`)
    assert.deepEqual([status, typeof json.pagination.next_cursor], [200, 'string'], parameter)
    const [own, none] = [json.pagination.next_cursor as string, plain as string].map(encodeURIComponent)
    assertRefused(path, await list(`page_size=1&cursor=${own}`), 400, 'BAD_REQUEST')
    assertRefused(path, await list(`page_size=1&${parameter}&cursor=${none}`), 400, 'BAD_REQUEST')
  }
  const altered = (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1)
  for (const text of [cursor.slice(0, -1), `${cursor}A`, 'x', altered])
    assertRefused(path, await list(`status=CAPTURED&cursor=${encodeURIComponent(text)}`), 400, 'BAD_REQUEST')
})

test('[B3.transactions.stable] pages stay right while rows are written: none is lost, and only one that moved is seen again', async () => {
  const own = await ownBranch(p)
  const pay = async (amount: number) => {
    const { json } = await own.createIntent({ amount })
    return (await own.confirm(json.id)).json.payment_attempt_id as string
  }
  const made: string[] = []
  for (let amount = 1; amount <= 5; amount += 1) made.push(await pay(amount % 3 === 0 ? 3 : amount))
  for (const sort of sorts) {
    for (const order of ['asc', 'desc']) {
      const found = idsOf(await walk(`sort_by=${sort}&sort_order=${order}`, 2, own.key, () => pay(3)))
      for (const id of made) assert.equal(found.filter((one) => one === id).length, 1, `${sort} ${order}`)
      assert.equal(new Set(found).size, found.length)
    }
  }
  // One that changes while it is paged over by updated_at is seen again or not; all others once.
  const moving = made[2]
  const touch = () => rowsOf(p, `update payments.transactions set updated_at = kernel.now() where id = $1`, [moving])
  for (const order of ['asc', 'desc']) {
    let left = 4
    const found = idsOf(
      await walk(
        `sort_by=updated_at&sort_order=${order}`,
        2,
        own.key,
        async () => void ((left -= 1) > 0 && (await touch())),
      ),
    )
    for (const id of made.filter((one) => one !== moving)) assert.equal(found.filter((one) => one === id).length, 1)
  }
})
