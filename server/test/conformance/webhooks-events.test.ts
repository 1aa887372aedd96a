import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { isUuid, newId } from '../../src/kernel/ids.ts'
import { cards, platform, type Platform } from '../platform.ts'
import { assertRefused, call, type Answer } from './call.ts'
import { everybody } from './people.ts'

// Area A: the list of events.

const path = '/v1/webhook_events'

interface Listed extends Record<string, unknown> {
  readonly id: string
  readonly type: string
  readonly created_at: string
}

const manyEvents = statement(
  'test.manyEvents',
  `select count(delivery.append_event(e.id, 'signed', 'payment.succeeded', $2, $3, $4, null, null, '{}', $5)) from unnest($1::uuid[]) as e (id)`,
)

/** A platform on which one of each outcome has happened: two links and two payments of their own, one endpoint that takes successes. */
async function eventful(t: Parameters<typeof platform>[0]) {
  const p = await platform(t)
  const { sdk, receiver, branch } = p
  await sdk.webhooks.createEndpoint({ url: receiver.url, enabled_events: ['payment.succeeded', 'payment.expired'] })
  const link = await p.link({ expires_at: new Date(p.kaha.clock.now().getTime() + 60_000).toISOString() })
  const paid = await p.link()
  const [succeeded, declined, failed] = [
    await p.pay({ linkId: paid.id }),
    await p.pay({ card: cards.declined }),
    await p.pay({ card: cards.error }),
  ]
  await p.advance(60)
  const list = async (query: string, key = branch.secret_key): Promise<Answer> =>
    call(p.url, { path: query === '' ? path : `${path}?${query}`, key })
  const listed = async (query: string, key?: string): Promise<Listed[]> => {
    const answer = await list(query, key)
    assert.equal(answer.status, 200, answer.text)
    return answer.json.data
  }
  return { ...p, expired: link.id, paid: paid.id, succeeded, declined, failed, list, listed }
}

const p = await eventful({ after })
const typesOf = (rows: readonly Listed[]) => rows.map(({ type }) => type).toSorted()

const fields = [
  'A2.event.id',
  'A2.event.type',
  'A2.event.status',
  'A2.event.created-at',
  'A2.event.merchant-id',
  'A2.event.branch-id',
  'A2.event.payment-intent-id',
  'A2.event.payment-link-id',
  'A2.event.updated-at',
  'A2.event.delivered-at',
  'A2.event.attempt-count',
  'A2.event.next-attempt-at',
]
test(`[${fields.join(', ')}] an event shows exactly what it tells of, and how far it has come`, async () => {
  const rows = await p.listed('')
  const byType = new Map(rows.map((row: Record<string, unknown>) => [row['type'], row]))
  assert.equal(rows.length, 4)
  const common = { merchant_id: p.merchant.id, branch_id: p.branch.id, next_attempt_at: null }
  const expected = {
    'payment.succeeded': {
      payment_intent_id: p.succeeded.id,
      payment_link_id: p.paid,
      status: 'DELIVERED',
      attempt_count: 1,
    },
    'payment.declined': { payment_intent_id: p.declined.id, status: 'NOT_SUBSCRIBED', attempt_count: 0 },
    'payment.failed': { payment_intent_id: p.failed.id, status: 'NOT_SUBSCRIBED', attempt_count: 0 },
    'payment.expired': { payment_link_id: p.expired, status: 'DELIVERED', attempt_count: 1 },
  }
  for (const [type, more] of Object.entries(expected)) {
    const {
      id,
      created_at: createdAt,
      updated_at: updatedAt,
      delivered_at: deliveredAt,
      ...rest
    } = byType.get(type) ?? {}
    assert.deepEqual(rest, { type, ...common, ...more })
    assert.ok(isUuid(String(id)) && String(createdAt) <= String(updatedAt))
    if (more.status === 'DELIVERED') assert.ok(String(createdAt) <= String(deliveredAt))
    else assert.equal(deliveredAt, null)
  }
  const delivered = p.receiver.received.map(({ headers }) => String(headers['webhook-id']))
  assert.deepEqual(
    delivered.toSorted(),
    rows
      .filter(({ status }) => status === 'DELIVERED')
      .map(({ id }) => id)
      .toSorted(),
  )
})

test('[A2.events.scoping.partner, A2.events.scoping.merchant] keys of partners and merchants must name the branch', async () => {
  for (const key of [p.seed.partner.secret_key, p.merchant.secret_key]) {
    assertRefused(path, await p.list('', key), 400, 'INVALID_BRANCH_ID')
    assertRefused(path, await p.list('type=payment.failed', key), 400, 'INVALID_BRANCH_ID')
    assert.equal((await p.listed(`branch_id=${p.branch.id}`, key)).length, 4)
    assert.equal((await p.listed(`branch_id=${p.branch.id.toUpperCase()}`, key)).length, 4)
  }
})

test('A2.events.scoping.branch: a branch key sees its own events, named or not, and no others', async () => {
  const other = p.merchant.branches[1]
  assert.ok(other !== undefined)
  assert.deepEqual(await p.listed(`branch_id=${p.branch.id}`), await p.listed(''))
  assert.deepEqual(await p.listed('', other.secret_key), [])
  assert.deepEqual(await p.listed(`branch_id=${p.branch.id}`, other.secret_key), [])
  assert.deepEqual(await p.listed(`branch_id=${other.id}`), [])
})

test('A2.events.scoping.malformed: a branch_id that is no uuid is 400 INVALID_BRANCH_ID', async () => {
  for (const text of ['x', '', p.branch.reference_number, `${p.branch.id}x`, 'null', `${p.branch.id},${p.branch.id}`]) {
    assertRefused(path, await p.list(`branch_id=${text}`, p.merchant.secret_key), 400, 'INVALID_BRANCH_ID')
  }
})

test('[A2.events.filter.type, A2.events.filter.type-invalid] type keeps the events of one type', async () => {
  for (const type of ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired']) {
    assert.deepEqual(typesOf(await p.listed(`type=${type}`)), [type])
  }
  for (const text of ['', 'payment', 'PAYMENT.FAILED', 'payment.failed,payment.expired', 'payment.*', '*']) {
    assertRefused(path, await p.list(`type=${text}`), 400, 'INVALID_TYPE')
  }
})

test('[A2.events.filter.status, A2.events.filter.status-invalid] status keeps the events in any state of the list', async () => {
  const cases = [
    ['DELIVERED', ['payment.expired', 'payment.succeeded']],
    ['NOT_SUBSCRIBED', ['payment.declined', 'payment.failed']],
    ['NOT_SUBSCRIBED,DELIVERED', ['payment.declined', 'payment.expired', 'payment.failed', 'payment.succeeded']],
    ['PENDING,SUBMITTING,SUBMIT_FAILED,SUBMITTED,EXHAUSTED', []],
  ] as const
  for (const [status, types] of cases) assert.deepEqual(typesOf(await p.listed(`status=${status}`)), types)
  assert.deepEqual(typesOf(await p.listed('status=NOT_SUBSCRIBED&type=payment.failed')), ['payment.failed'])
  for (const [status, types] of cases) assert.deepEqual(typesOf(await p.listed(`status=${status},${status}`)), types)
  for (const text of ['', 'delivered', 'DELIVERED,', ',DELIVERED', 'DELIVERED,UNKNOWN', 'DELIVERED%20NOT_SUBSCRIBED']) {
    assertRefused(path, await p.list(`status=${text}`), 400, 'INVALID_STATUS')
  }
})

const shifted = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString()

test('[A2.events.filter.date-from, A2.events.filter.date-to] both bounds are inclusive, to the millisecond', async () => {
  const rows = await p.listed('')
  for (const { created_at: at } of rows) {
    const since = (from: string) => rows.filter(({ created_at }) => created_at >= from).map(({ id }) => id)
    const until = (to: string) => rows.filter(({ created_at }) => created_at <= to).map(({ id }) => id)
    for (const time of [at, shifted(at, 1), shifted(at, -1)]) {
      assert.deepEqual(
        (await p.listed(`date_from=${time}`)).map(({ id }) => id),
        since(time),
      )
      assert.deepEqual(
        (await p.listed(`date_to=${time}`)).map(({ id }) => id),
        until(time),
      )
    }
    const here = (await p.listed(`date_from=${at}&date_to=${at}`)).map(({ id }) => id)
    assert.deepEqual(
      here,
      rows.filter(({ created_at }) => created_at === at).map(({ id }) => id),
    )
    // The same moment by another clock, and within the millisecond.
    const manila = `${shifted(at, 8 * 3_600_000).slice(0, -1)}+08:00`
    assert.deepEqual(
      (await p.listed(`date_from=${encodeURIComponent(manila)}`)).map(({ id }) => id),
      since(at),
    )
    for (const finer of ['999', '000000000001']) {
      const later = `${at.slice(0, -1)}${finer}Z`
      assert.ok(!(await p.listed(`date_from=${later}`)).some(({ created_at }) => created_at === at))
      assert.deepEqual(
        (await p.listed(`date_to=${later}`)).map(({ id }) => id),
        until(at),
      )
    }
  }
  assert.deepEqual(await p.listed('date_from=9999-12-31T23:59:59Z'), [])
  assert.deepEqual(await p.listed('date_to=0000-01-01T00:00:00Z'), [])
  assert.equal((await p.listed('date_from=0000-01-01T00:00:00Z&date_to=9999-12-31T23:59:59.999Z')).length, 4)
})

test('A2.events.filter.date-invalid: a bound that is no timestamp, or a range that ends before it begins, is refused', async () => {
  for (const name of ['date_from', 'date_to']) {
    for (const text of [
      '',
      'x',
      '2026-01-01',
      '2026-02-30T00:00:00Z',
      '2026-01-01T00:00:00',
      '1767225600',
      '2026-12-31T23:59:60Z',
    ]) {
      assertRefused(path, await p.list(`${name}=${text}`), 400, 'INVALID_DATE_RANGE')
    }
  }
  const reversed = 'date_from=2026-01-01T00:00:00.001Z&date_to=2026-01-01T00:00:00Z'
  assertRefused(path, await p.list(reversed), 400, 'INVALID_DATE_RANGE')
  assert.equal((await p.list('date_from=2026-01-01T00:00:00Z&date_to=2026-01-01T00:00:00Z')).status, 200)
})

test('every other name for a parameter is refused', async () => {
  for (const name of ['created_after', 'created_before', 'page_token', 'limit', 'merchant_id', 'state', 'event_type']) {
    assertRefused(path, await p.list(`${name}=x`), 400, 'BAD_REQUEST')
  }
})

test('[A2.event.attempt-count, A2.event.next-attempt-at, A2.event.updated-at, A2.event.delivered-at] an event tells of its attempts while they are made', async (t) => {
  const its: Platform = await platform(t, { choices: { delivery: { random: () => 0 } } })
  await its.sdk.webhooks.createEndpoint({ url: its.receiver.url, enabled_events: ['payment.succeeded'] })
  const only = async () => (await its.as(its.branch.secret_key).webhooks.listEvents()).data[0]
  let answers = 0
  its.receiver.answer = (_request, response) => response.writeHead((answers += 1) < 3 ? 500 : 200).end()
  await its.pay()
  const first = await only()
  assert.deepEqual([first?.status, first?.attempt_count, first?.delivered_at], ['SUBMITTED', 1, null])
  const [attempt] = await its.kaha.db.run<{ started_at: Date }>(
    statement('test.attempts', 'select started_at from delivery.attempts'),
    [],
  )
  assert.equal(first?.next_attempt_at, new Date((attempt?.started_at.getTime() ?? 0) + 5_000).toISOString())
  await its.advance(5)
  const second = await only()
  assert.equal(second?.attempt_count, 2)
  assert.ok((second?.next_attempt_at ?? '') > (first?.next_attempt_at ?? ''))
  await its.advance(300)
  const third = await only()
  assert.deepEqual([third?.status, third?.attempt_count, third?.next_attempt_at], ['DELIVERED', 3, null])
  assert.ok((third?.delivered_at ?? '') >= (second?.next_attempt_at ?? '~'))
  assert.ok((third?.updated_at ?? '') > (first?.updated_at ?? '~'))
})

test('[A2.events.looked] a filter that hardly anything fits looks at 1,000 events for a page, which may be short and says that the list goes on', async (t) => {
  const its = await platform(t)
  await its.pay({ card: cards.declined })
  const [rare] = (await its.as(its.branch.secret_key).webhooks.listEvents()).data
  const { id: branchId } = its.branch
  const at = its.kaha.clock.now()
  await its.kaha.db.run(manyEvents, [
    Array.from({ length: 2_100 }, () => newId(at)),
    its.seed.partner.id,
    its.merchant.id,
    branchId,
    at,
  ])
  await its.idle()
  const pages: { ids: string[]; more: boolean }[] = []
  for (let cursor: string | null | undefined; cursor !== null && pages.length < 9;) {
    const { data, pagination } = await its.as(its.branch.secret_key).webhooks.listEvents({
      type: 'payment.declined',
      ...(cursor === undefined ? {} : { cursor }),
    })
    cursor = pagination.next_cursor
    pages.push({ ids: data.map(({ id }) => id), more: pagination.has_more })
  }
  assert.deepEqual(pages, [
    { ids: [], more: true },
    { ids: [], more: true },
    { ids: [rare?.id], more: false },
  ])
})

test('events of every branch are apart, and those above see each under its own name', async (t) => {
  const its = await platform(t)
  const { branch, otherBranch, merchant } = await everybody(its)
  for (const { key } of [branch, otherBranch]) {
    const intent = await its.as(key).paymentIntents.create({ amount: 100, currency: 'PHP' })
    const card = { number: cards.approved, exp_month: 1, exp_year: 2050, cvc: '123' }
    await its.as(key).paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
  }
  await its.idle()
  for (const { id, key } of [branch, otherBranch]) {
    const own = await its.as(key).webhooks.listEvents()
    assert.deepEqual(
      own.data.map((row) => row.branch_id),
      [id],
    )
    assert.deepEqual((await its.as(merchant.key).webhooks.listEvents({ branch_id: id })).data, own.data)
  }
})
