import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { platform } from '../platform.ts'
import { assertRefused, call, type Answer } from './call.ts'
import { everybody, idempotent, linkFor } from './people.ts'

// What every list has in common, over every list that there is.

const p = await platform({ after })
const people = await everybody(p)
const { merchant, branch } = people
const rows = 23
const seed = Date.now() & 0x7fffffff

const read = async (path: string, key = merchant.key): Promise<Answer> => call(p.url, { path, key })
const post = (path: string, body: unknown) =>
  call(p.url, { method: 'POST', path, headers: idempotent(), body, key: merchant.key })

interface List {
  readonly path: string
  /** What the path needs to begin with. */
  readonly query: string
  /** Filters that take part in what a cursor is bound to. */
  readonly filters: readonly string[]
  readonly pageSizeMax: number
  /** Adds a row. */
  add(): Promise<unknown>
}

let made = 0
const lists: readonly List[] = [
  {
    path: '/v1/webhook_endpoints',
    query: '',
    filters: [],
    pageSizeMax: 100,
    add: () =>
      post('/v1/webhook_endpoints', {
        url: `https://shop.example.com/${(made += 1)}`,
        enabled_events: ['payment.expired'],
      }),
  },
  {
    path: '/v1/webhook_events',
    query: `branch_id=${branch.id}`,
    filters: [
      'type=payment.succeeded',
      'status=NOT_SUBSCRIBED',
      'status=NOT_SUBSCRIBED,DELIVERED',
      'date_from=2020-01-01T00:00:00Z',
      'date_to=2100-01-01T00:00:00Z',
    ],
    pageSizeMax: 100,
    add: () => p.pay(),
  },
  {
    path: '/ecom/v1/payment-links',
    query: '',
    filters: [
      'status=ACTIVE',
      'status=ACTIVE,EXPIRED',
      `merchant_branch_reference_number=${branch.reference}`,
      'date_from=2020-01-01T00:00:00Z',
      'date_to=2100-01-01T00:00:00Z',
    ],
    pageSizeMax: 200,
    add: () => post('/ecom/v1/payment-links', linkFor(branch.reference)),
  },
]
for (const list of lists) for (let row = 0; row < rows; row += 1) await list.add()

const at = ({ path, query }: List, ...more: string[]): string => `${path}?${[query, ...more].filter(Boolean).join('&')}`
const cursorOf = ({ json }: Answer): string => encodeURIComponent(json.pagination.next_cursor)

/** All rows of a list, by its pages. */
async function walk(
  list: List,
  pageSize: number,
  between: () => Promise<unknown> = async () => {},
  ...filters: string[]
) {
  const found: { id: string; created_at: string }[] = []
  let answer = await read(at(list, `page_size=${pageSize}`, ...filters))
  for (;;) {
    assert.equal(answer.status, 200, answer.text)
    found.push(...answer.json.data)
    if (!answer.json.pagination.has_more) return found
    await between()
    answer = await read(at(list, `page_size=${pageSize}`, `cursor=${cursorOf(answer)}`, ...filters))
  }
}

for (const list of lists) {
  const of = (promise: string) => `${promise} (${list.path})`

  test(
    of(
      '[X0.lists.envelope, X0.lists.parameters, A2.list.ok, A2.events.ok] a list answers data and pagination, and pages by page_size and cursor',
    ),
    async () => {
      const answer = await read(at(list, 'page_size=7'))
      assert.equal(answer.status, 200)
      assert.deepEqual(Object.keys(answer.json), ['data', 'pagination'])
      assert.equal(answer.json.data.length, 7)
      const { next_cursor: next, ...rest } = answer.json.pagination
      assert.deepEqual(rest, { page_size: 7, has_more: true })
      assert.ok(typeof next === 'string' && next.length > 0 && next.length <= 1024)
    },
  )

  test(
    of('[X0.lists.next, X0.lists.last-page] next_cursor leads from page to page to one that says that it is the last'),
    async () => {
      const first = await read(at(list, 'page_size=15'))
      const second = await read(at(list, 'page_size=15', `cursor=${cursorOf(first)}`))
      assert.equal(first.json.data.length + second.json.data.length, rows)
      assert.deepEqual(second.json.pagination, { page_size: 15, has_more: false, next_cursor: null })
      // A page that is exactly full is the last all the same.
      const exact = await read(at(list, `page_size=${rows}`))
      assert.deepEqual(exact.json.pagination, { page_size: rows, has_more: false, next_cursor: null })
      const again = await read(at(list, 'page_size=15', `cursor=${cursorOf(first)}`))
      assert.deepEqual(again.json.data, second.json.data)
    },
  )

  test(of('X0.lists.newest-first: rows come newest first, then by id'), async () => {
    const found = await walk(list, 5)
    const sorted = found.toSorted((one, other) =>
      one.created_at === other.created_at ? (one.id < other.id ? 1 : -1) : one.created_at < other.created_at ? 1 : -1,
    )
    assert.deepEqual(found, sorted)
  })

  test(
    of('[A2.list.page-size-default, A2.events.page-size-default] a page has 20 rows unless page_size says otherwise'),
    async () => {
      const answer = await read(at(list))
      assert.deepEqual([answer.json.data.length, answer.json.pagination.page_size], [20, 20])
    },
  )

  test(
    of('[A2.list.page-size-range, A2.events.page-size-range] page_size is from 1 to the most that the list gives'),
    async () => {
      for (const size of [1, list.pageSizeMax]) {
        const answer = await read(at(list, `page_size=${size}`))
        assert.deepEqual([answer.status, answer.json.pagination.page_size], [200, size])
      }
      for (const size of ['0', '-1', String(list.pageSizeMax + 1), '1.5', '', 'x', '1e1', '%2b5', '05']) {
        assertRefused(list.path, await read(at(list, `page_size=${size}`)), 400, 'INVALID_PAGE_SIZE')
      }
    },
  )

  test(
    of('X0.lists.next: pages of any sizes make up the whole list, without a gap and without a double'),
    async (t) => {
      t.diagnostic(`seed ${seed}`)
      const whole = (await walk(list, list.pageSizeMax)).map(({ id }) => id)
      const property = fc.asyncProperty(fc.integer({ min: 1, max: rows + 3 }), async (size) => {
        assert.deepEqual(
          (await walk(list, size)).map(({ id }) => id),
          whole,
        )
      })
      await fc.assert(property, { seed, numRuns: 8 })
    },
  )

  test(
    of('[X0.lists.cursor.altered, A2.list.cursor] a cursor with any one character changed or added is a 400'),
    async () => {
      const cursor: string = (await read(at(list, 'page_size=2'))).json.pagination.next_cursor
      const bad = [
        '',
        'x',
        `${cursor}A`,
        `${cursor}=`,
        `A${cursor}`,
        cursor.toLowerCase(),
        `${cursor}%20`,
        `%20${cursor}`,
        `${cursor}%0a`,
      ]
      for (let place = 0; place < cursor.length; place += 1) {
        bad.push(cursor.slice(0, place) + (cursor[place] === 'A' ? 'B' : 'A') + cursor.slice(place + 1))
      }
      for (const text of bad) {
        assertRefused(list.path, await read(at(list, 'page_size=2', `cursor=${text}`)), 400, 'INVALID_CURSOR')
      }
    },
  )

  test(of('X0.lists.cursor.truncated: a cursor that was cut short is a 400'), async () => {
    const cursor: string = (await read(at(list, 'page_size=2'))).json.pagination.next_cursor
    for (let length = 0; length < cursor.length; length += 1) {
      const cut = cursor.slice(0, length)
      assertRefused(list.path, await read(at(list, 'page_size=2', `cursor=${cut}`)), 400, 'INVALID_CURSOR')
    }
  })

  test(
    of('X0.lists.cursor.filters: a cursor with other filters than its own, or of another list, is a 400'),
    async () => {
      const filters = [[], ...list.filters.map((filter) => [filter])]
      for (const own of filters) {
        const first = await read(at(list, 'page_size=1', ...own))
        assert.equal(first.json.pagination.has_more, true, String(own))
        for (const other of filters) {
          const answer = await read(at(list, 'page_size=1', `cursor=${cursorOf(first)}`, ...other))
          if (own === other) assert.equal(answer.status, 200)
          else assertRefused(list.path, answer, 400, 'INVALID_CURSOR')
        }
        for (const another of lists.filter((one) => one !== list)) {
          const answer = await read(at(another, `cursor=${cursorOf(first)}`))
          assertRefused(another.path, answer, 400, 'INVALID_CURSOR')
        }
      }
    },
  )

  test(of('X0.lists.cursor.entity: a cursor of another entity is a 400, above, below and beside'), async () => {
    const first = await read(at(list, 'page_size=1'))
    const path = at(list, 'page_size=1', `cursor=${cursorOf(first)}`)
    const { partner, otherMerchant, otherBranch, otherPartner } = people
    for (const { key } of [partner, branch, otherBranch, otherMerchant, otherPartner]) {
      assertRefused(list.path, await read(path, key), 400, 'INVALID_CURSOR')
    }
    assert.equal((await read(path)).status, 200)
  })

  test(of('X0.lists.by-key: rows that are added between two pages cause no gap and no double'), async () => {
    const before = (await walk(list, list.pageSizeMax)).map(({ id }) => id)
    const found = (await walk(list, 4, () => list.add())).map(({ id }) => id)
    assert.deepEqual(found, before)
    // Rows that are added while pages are read by many at once, as in earnest.
    const adding = Promise.all(Array.from({ length: 4 }, () => list.add()))
    const [one, other] = await Promise.all([walk(list, 5), walk(list, 7)])
    await adding
    for (const seen of [one, other].map((pages) => pages.map(({ id }) => id))) {
      assert.equal(new Set(seen).size, seen.length)
      assert.deepEqual(
        seen.filter((id) => before.includes(id)),
        before,
      )
    }
  })
}

test("X0.lists.filter.foreign: a filter that names somebody else's branch, or nobody's, gives an empty page", async () => {
  const empty = { data: [], pagination: { page_size: 20, has_more: false, next_cursor: null } }
  const { otherMerchantsBranch, otherPartnersBranch, otherMerchant } = people
  const nobody = '01a1fcef-9ed7-78da-86e8-e01924f01831'
  for (const id of [otherMerchantsBranch.id, otherPartnersBranch.id, otherMerchant.id, nobody]) {
    const answer = await read(`/v1/webhook_events?branch_id=${id}`)
    assert.deepEqual([answer.status, answer.json], [200, empty])
  }
  for (const reference of [otherMerchantsBranch.reference, 'NOBODY-1', '']) {
    const answer = await read(`/ecom/v1/payment-links?merchant_branch_reference_number=${reference}`)
    assert.deepEqual([answer.status, answer.json], [200, empty])
  }
  const own = await read('/ecom/v1/payment-links', people.otherPartnersBranch.key)
  assert.deepEqual(own.json, empty)
  // Its number is that of our branch, whose links it must not find.
  const alike = await read(
    `/ecom/v1/payment-links?merchant_branch_reference_number=${branch.reference}`,
    people.otherPartner.key,
  )
  assert.deepEqual(alike.json, empty)
})
