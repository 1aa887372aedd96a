import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { listPaymentLinks } from '@kaha/contract'
import * as fc from 'fast-check'
import { platform } from '../platform.ts'
import { everybody, keyFor } from './people.ts'
import { bodyOf, hourMs, jump, ownBranch, refusal, rowsOf, shop, withoutWorker, type Asked, type Shop } from './shop.ts'

// The list of links: filters, scopes, pages. Tests that count have a branch of their own, so that they do not disturb one another.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)
const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)

type Link = { readonly id: string; readonly status: string; readonly created_at: string; readonly updated_at: string }

const idsOf = (links: readonly Link[]): string[] => links.map(({ id }) => id)

/** The pages of a list, one after the other, until there is none. */
async function* pages(of: Shop, query: Record<string, string> = {}, asked?: Asked): AsyncGenerator<Link[]> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const { data, pagination } = bodyOf(
      await of.listLinks(cursor === undefined ? query : { ...query, cursor }, asked),
      200,
    )
    assert.equal(pagination.has_more, pagination.next_cursor !== null)
    assert.equal(pagination.page_size, Number(query['page_size'] ?? 20))
    assert.ok(data.length <= pagination.page_size)
    // Only the last page may be short: nothing is left out in the middle.
    if (pagination.has_more) assert.equal(data.length, pagination.page_size)
    yield data
    cursor = pagination.next_cursor
  }
}

const allOf = async (of: Shop, query: Record<string, string> = {}, asked?: Asked): Promise<Link[]> =>
  (await Array.fromAsync(pages(of, query, asked))).flat()

/** Makes links and resolves to them, newest first, as a list has them. */
async function make(of: Shop, howMany: number, fields: object = {}): Promise<Link[]> {
  const made: Link[] = []
  for (let i = 0; i < howMany; i++) made.push(bodyOf(await of.createLink(fields), 201))
  return made.toSorted((one, other) => (one.id < other.id ? 1 : -1))
}

test('C4.link-list.ok: a list is a page of whole links with what is needed to get the next one', async () => {
  const own = await ownBranch(p)
  const empty = bodyOf(await own.listLinks(), 200)
  assert.deepEqual(empty, { data: [], pagination: { page_size: 20, has_more: false, next_cursor: null } })

  const made = await make(own, 3)
  const page = bodyOf(await own.listLinks({ page_size: '2' }), 200)
  assert.deepEqual(Object.keys(page).toSorted(), ['data', 'pagination'])
  assert.deepEqual(page.data, made.slice(0, 2))
  const { next_cursor, ...rest } = page.pagination
  assert.deepEqual(rest, { page_size: 2, has_more: true })
  const last = bodyOf(await own.listLinks({ page_size: '2', cursor: next_cursor }), 200)
  assert.deepEqual(last, { data: made.slice(2), pagination: { page_size: 2, has_more: false, next_cursor: null } })
})

test('C4.link-list.page-size-default: without page_size a page has 20 links', async () => {
  const own = await ownBranch(p)
  const made = await make(own, 21)
  const { data, pagination } = bodyOf(await own.listLinks(), 200)
  assert.deepEqual(idsOf(data), idsOf(made.slice(0, 20)))
  assert.deepEqual([pagination.page_size, pagination.has_more], [20, true])
})

test('C4.link-list.page-size-range: page_size is a whole number from 1 to 200, and anything else is refused', async () => {
  for (const size of ['1', '200']) {
    const { pagination } = bodyOf(await merchant.listLinks({ page_size: size }), 200)
    assert.equal(pagination.page_size, Number(size))
  }
  for (const size of ['0', '-1', '201', '1000000', '1e2', '0x10', '5.0', '05', '+5', ' 5', 'ten', '', '9'.repeat(30)]) {
    const answer = await merchant.listLinks({ page_size: size })
    assert.deepEqual([answer.status, answer.json.error.code], [400, 'INVALID_PAGE_SIZE'], `page_size ${size}`)
  }
})

test('C4.link-list.cursor-empty: an empty cursor is refused', async () => {
  assert.equal(refusal(await merchant.listLinks({ cursor: '' })), '400 INVALID_CURSOR cursor non_blank')
})

test('C4.link-list.old-names: the older names of the filters and of the cursor are refused', async () => {
  const values = {
    created_after: new Date(0).toISOString(),
    created_before: new Date().toISOString(),
    page_token: 'abc',
  }
  for (const [name, value] of Object.entries(values))
    assert.equal(refusal(await merchant.listLinks({ [name]: value })), `400 BAD_REQUEST ${name} unknown`)
})

test('C4.link-list.scoped: a key lists what belongs to its entity and below, and nothing beside or above it', async (t) => {
  const other = await platform(t, withoutWorker)
  const all = await everybody(other)
  const branches = [all.branch, all.otherBranch, all.otherMerchantsBranch, all.otherPartnersBranch]
  const made = new Map<string, string>()
  for (const { id, key } of branches) {
    const own = shop({ ...other, merchant: { ...other.merchant, secret_key: key } })
    made.set(id, bodyOf(await own.createLink({ merchant_branch_reference_number: undefined }), 201).id)
  }
  const sees: [string, { key: string }, { id: string }[]][] = [
    ['a branch', all.branch, [all.branch]],
    ['its neighbour', all.otherBranch, [all.otherBranch]],
    ['the merchant', all.merchant, [all.branch, all.otherBranch]],
    ['another merchant', all.otherMerchant, [all.otherMerchantsBranch]],
    ['the partner', all.partner, [all.branch, all.otherBranch, all.otherMerchantsBranch]],
    ['another partner', all.otherPartner, [all.otherPartnersBranch]],
  ]
  for (const [who, { key }, seen] of sees) {
    const listed = await allOf(shop(other), { page_size: '2' }, { key })
    assert.deepEqual(idsOf(listed).toSorted(), seen.map(({ id }) => made.get(id) ?? '').toSorted(), who)
  }
})

test('[C4.link-list.status, C4.link.status] status keeps the links in any of the named states, and an unknown state is refused', async () => {
  const own = await ownBranch(p)
  const active = (await make(own, 2, { type: 'multi_use' })).toReversed()
  const [paid] = await make(own, 1)
  const intent = bodyOf(await own.createIntent({ payment_link_id: paid?.id }), 201)
  bodyOf(await own.confirm(intent.id), 200)
  const [cancelled] = await make(own, 1)
  bodyOf(await own.cancelLink(cancelled?.id ?? ''), 200)
  const [first, second] = idsOf(active)
  const is = { ACTIVE: [first, second], CONSUMED: [paid?.id], CANCELLED: [cancelled?.id], EXPIRED: [] }

  for (const states of fc.sample(fc.subarray(Object.keys(is) as (keyof typeof is)[], { minLength: 1 }), {
    seed,
    numRuns: 15,
  })) {
    // A state that is named twice is named, and a cursor knows the filter in any order.
    const said = [...states, ...states].join(',')
    const listed = await allOf(own, { status: said, page_size: '2' })
    const { next_cursor: cursor } = bodyOf(await own.listLinks({ status: said, page_size: '1' }), 200).pagination
    const turned = states.toReversed().join(',')
    if (cursor !== null)
      assert.deepEqual(idsOf(bodyOf(await own.listLinks({ status: turned, cursor }), 200).data), idsOf(listed.slice(1)))
    const expected = states.flatMap((state) => is[state]).map(String)
    assert.deepEqual(idsOf(listed).toSorted(), expected.toSorted(), states.join())
    assert.ok(listed.every(({ status }) => (states as string[]).includes(status)))
  }
  for (const status of ['', 'active', 'ACTIVE,', 'ACTIVE,PAID', 'ACTIVE;EXPIRED', 'PROCESSING'])
    assert.deepEqual(
      [(await own.listLinks({ status })).status, (await own.listLinks({ status })).json.error.code],
      [400, 'INVALID_STATUS'],
      status,
    )
  for (const status of ['PAID', 'ACTIVE,PAID'])
    assert.equal(refusal(await own.listLinks({ status })), '400 INVALID_STATUS status one_of', 'named as it was sent')
  const twice = await own.send(listPaymentLinks, { query: '?status=ACTIVE&status=CONSUMED' })
  assert.equal(refusal(twice), '400 BAD_REQUEST status once')
})

test('[C4.link-list.status-exact, C4.link-state.expired-updated-at] from its expires_at on a link is listed as EXPIRED and not as ACTIVE, though nothing has come by to store it', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = await ownBranch(one)
  const [long] = await make(own, 1, {
    expires_at: new Date(one.kaha.clock.now().getTime() + 48 * hourMs).toISOString(),
  })
  const [short] = await make(own, 1)
  assert.deepEqual(idsOf(await allOf(own, { status: 'ACTIVE' })), [short?.id, long?.id])
  assert.deepEqual(idsOf(await allOf(own, { status: 'EXPIRED' })), [])

  await jump(one, 24 * hourMs)

  assert.deepEqual(idsOf(await allOf(own, { status: 'ACTIVE' })), [long?.id])
  const [expired, ...more] = await allOf(own, { status: 'EXPIRED' })
  assert.deepEqual(more, [])
  assert.deepEqual([expired?.id, expired?.status], [short?.id, 'EXPIRED'])
  assert.equal(expired?.updated_at, bodyOf(await own.retrieveLink(expired?.id ?? ''), 200).expires_at)
  // The control: the row itself still says what was stored.
  const [row] = await rowsOf<{ state: string }>(one, 'select state from ecommerce.links where id = $1', [expired?.id])
  assert.equal(row?.state, 'ACTIVE')
})

test('C4.link-list.branch: the branch filter keeps the links of that branch, takes a value of any length, and tells nothing of foreign branches', async () => {
  const [mine, beside] = [await ownBranch(p), await ownBranch(p)]
  const made = await make(mine, 2)
  await make(beside, 1)
  const filter = (reference: string, asked?: Asked) =>
    allOf(merchant, { merchant_branch_reference_number: reference }, asked)

  assert.deepEqual(idsOf(await filter(mine.reference)), idsOf(made))
  assert.deepEqual(idsOf(await filter(mine.reference, { key: mine.key })), idsOf(made))
  assert.deepEqual(await filter(mine.reference, { key: beside.key }), [])
  assert.deepEqual(await filter(p.seed.merchants[1]?.branches[0]?.reference_number ?? ''), [])
  for (const reference of ['', ' ', 'x'.repeat(10_000), '%', `${mine.reference} `, mine.reference.toLowerCase()])
    assert.deepEqual(await filter(reference), [], reference.slice(0, 20))
})

test('[C4.link-list.date-from, C4.link-list.date-to] the bounds keep what was created strictly between them, to the millisecond and beyond', async () => {
  const own = await ownBranch(p)
  const made: Link[] = []
  for (let i = 0; i < 3; i++) {
    const [link] = await make(own, 1)
    assert.ok(link)
    made.unshift(link)
    while (p.kaha.clock.now().toISOString() <= link.created_at) await new Promise(setImmediate)
  }
  const [newest, middle, oldest] = made
  assert.ok(newest && middle && oldest)
  const between = (query: Record<string, string>) => allOf(own, query).then(idsOf)
  const manila = (time: string) => new Date(Date.parse(time) + 8 * hourMs).toISOString().replace('Z', '+08:00')

  assert.deepEqual(await between({ date_from: middle.created_at }), [newest.id])
  assert.deepEqual(await between({ date_to: middle.created_at }), [oldest.id])
  assert.deepEqual(await between({ date_from: oldest.created_at, date_to: newest.created_at }), [middle.id])
  assert.deepEqual(await between({ date_from: manila(middle.created_at) }), [newest.id])
  assert.deepEqual(await between({ date_to: manila(middle.created_at) }), [oldest.id])
  assert.deepEqual(await between({ date_from: middle.created_at, date_to: middle.created_at }), [])
  // A microsecond after a link's own time, or a femtosecond: that link was created before it, and not after it.
  for (const finer of ['001Z', '000000000001Z']) {
    const beyond: string = middle.created_at.replace('Z', finer)
    assert.deepEqual(await between({ date_from: beyond }), [newest.id])
    assert.deepEqual(await between({ date_to: beyond }), [middle.id, oldest.id])
  }
  assert.deepEqual(await between({ date_from: '0001-01-01T00:00:00Z', date_to: '9999-12-31T23:59:59Z' }), idsOf(made))

  for (const query of [
    { date_from: 'yesterday' },
    { date_to: '2026-01-01' },
    { date_from: '2026-02-29T00:00:00Z' },
    { date_from: newest.created_at, date_to: oldest.created_at },
  ]) {
    const answer = await own.listLinks(query)
    assert.deepEqual([answer.status, answer.json.error.code], [400, 'INVALID_DATE_RANGE'], JSON.stringify(query))
  }
})

test('C4.link-list.ok: every page of every size joins into the whole list, newest first, whatever the filters are', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const own = await ownBranch(p)
  const made = [...(await make(own, 12, { type: 'multi_use' })), ...(await make(own, 11))]
  const newestFirst = made.toSorted((one, other) => (one.id < other.id ? 1 : -1))
  const bound = fc.option(fc.nat(made.length - 1), { nil: undefined })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 30 }), bound, bound, fc.boolean(), async (size, one, other, active) => {
      const times = [one, other].map((place) => (place === undefined ? undefined : newestFirst[place]?.created_at))
      const [from, to] = times[0] && times[1] && times[0] > times[1] ? times.toReversed() : times
      const query = {
        page_size: String(size),
        ...(from === undefined ? {} : { date_from: from }),
        ...(to === undefined ? {} : { date_to: to }),
        ...(active ? { status: 'ACTIVE,EXPIRED' } : {}),
      }
      const expected = newestFirst.filter(
        ({ created_at: at }) => (from === undefined || at > from) && (to === undefined || at < to),
      )
      assert.deepEqual(idsOf(await allOf(own, query)), idsOf(expected))
    }),
    { seed, numRuns: 40 },
  )
})

test('C4.link-list.bytes: a page of links as large as they may be ends at 4 MiB, and the next one goes on behind it', async () => {
  const own = await ownBranch(p)
  const metadata = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`note ${at}`, 'n'.repeat(500)]))
  const line = { sku: 'MUG', name: 'M'.repeat(255), unit_price: 98, quantity: 1, metadata }
  const made = idsOf(await make(own, 22, { line_items: Array.from({ length: 100 }, () => line) }))
  const found: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const { data, pagination } = bodyOf(await own.listLinks({ page_size: '200', ...(cursor && { cursor }) }), 200)
    const bytes = data.map(({ line_items: lines, metadata: notes }: any) => JSON.stringify([lines, notes]).length)
    const all = bytes.reduce((sum: number, one: number) => sum + one, 0)
    assert.ok(all - bytes.at(-1) < 4 * 1024 * 1024, `${data.length} links with ${all} bytes`)
    if (pagination.has_more) assert.ok(all + bytes.at(-1) > 4 * 1024 * 1024, 'it ended too soon')
    found.push(...idsOf(data))
    cursor = pagination.next_cursor
  }
  assert.deepEqual(found, made)
  assert.ok(bodyOf(await own.listLinks({ page_size: '200' }), 200).data.length < made.length)
  assert.deepEqual(idsOf(bodyOf(await own.listLinks({ page_size: '10' }), 200).data), made.slice(0, 10))
})

test('C4.link-list.ok: while links are being made, pages have no gap and no double: all that was there before is found once', async () => {
  const own = await ownBranch(p)
  const made = new Set(idsOf(await make(own, 30)))
  const makers = Array.from({ length: 3 }, async () => {
    for (let i = 0; i < 40; i++) made.add(bodyOf(await own.createLink(), 201).id)
  })
  const making = { ended: false }
  const allMade = Promise.all(makers).finally(() => (making.ended = true))
  let grown = 0
  for (let size = 1; !making.ended; size = (size % 13) + 2) {
    const before = new Set(made)
    const walked = idsOf(await allOf(own, { page_size: String(size) }))
    grown += made.size - before.size
    assert.equal(new Set(walked).size, walked.length, 'a link came twice')
    assert.deepEqual(walked, walked.toSorted().toReversed(), 'the order was broken')
    assert.deepEqual(
      [...before].filter((id) => !walked.includes(id)),
      [],
      'a link is missing',
    )
  }
  await allMade
  assert.ok(grown > 10, 'hardly anything was made while a list was read')
  assert.deepEqual(idsOf(await allOf(own, { page_size: '200' })).toSorted(), [...made].toSorted())
})

test('C4.link-list.ok: a cursor goes on where its page ended, as often as it is used and with any page size', async () => {
  const own = await ownBranch(p)
  const made = idsOf(await make(own, 9))
  for (let at = 1; at < made.length; at++) {
    const { next_cursor: cursor } = bodyOf(await own.listLinks({ page_size: String(at) }), 200).pagination
    for (const size of ['1', '4', '200', '1']) {
      const page = bodyOf(await own.listLinks({ cursor, page_size: size }), 200)
      assert.deepEqual(idsOf(page.data), made.slice(at, at + Number(size)))
    }
  }
})

test('C4.link-list.ok: a cursor that was altered anywhere, cut, lengthened or made up is refused', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const own = await ownBranch(p)
  await make(own, 3)
  const { next_cursor: cursor } = bodyOf(await own.listLinks({ page_size: '1' }), 200).pagination
  const refused = async (altered: string) => {
    const answer = await own.listLinks({ cursor: altered })
    assert.deepEqual([answer.status, answer.json.error.code], [400, 'INVALID_CURSOR'], altered)
  }
  assert.equal((await own.listLinks({ cursor })).status, 200)

  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let at = 0; at < cursor.length; at++) {
    const other = alphabet[(alphabet.indexOf(cursor[at]) + 1) % alphabet.length]
    await refused(cursor.slice(0, at) + other + cursor.slice(at + 1))
  }
  for (let length = 1; length < cursor.length; length += 3) await refused(cursor.slice(0, length))
  for (const other of [
    cursor + 'A',
    `${cursor}=`,
    ` ${cursor}`,
    `${cursor}%0A`,
    cursor.toUpperCase(),
    'x'.repeat(1024),
  ])
    await refused(other)
  await fc.assert(fc.asyncProperty(fc.oneof(fc.base64String({ minLength: 1 }), fc.string({ minLength: 1 })), refused), {
    seed,
    numRuns: 60,
  })
})

test('C4.link-list.ok: a cursor is good for its own list, filters and entity, and refused with any other', async () => {
  const own = await ownBranch(p)
  const made = await make(own, 4)
  const late = new Date(p.kaha.clock.now().getTime() + hourMs).toISOString()
  const filters: Record<string, string>[] = [
    {},
    { status: 'ACTIVE' },
    { status: 'ACTIVE,EXPIRED' },
    { merchant_branch_reference_number: own.reference },
    { date_from: '2020-01-01T00:00:00Z' },
    { date_to: late },
    { date_from: '2020-01-01T00:00:00Z', date_to: late },
  ]
  for (const [index, filter] of filters.entries()) {
    const { next_cursor: cursor } = bodyOf(await own.listLinks({ ...filter, page_size: '2' }), 200).pagination
    for (const [at, other] of filters.entries()) {
      const answer = await own.listLinks({ ...other, cursor })
      if (at === index) assert.deepEqual(idsOf(bodyOf(answer, 200).data), idsOf(made.slice(2)))
      else assert.equal(refusal(answer), '400 INVALID_CURSOR cursor known', JSON.stringify([filter, other]))
    }
    const foreign = await own.listLinks({ ...filter, cursor }, { key: p.merchant.secret_key })
    assert.equal(refusal(foreign), '400 INVALID_CURSOR cursor known')
  }
  // Another key of the same entity goes on with it.
  const { secretKey } = await keyFor(p, { id: own.id, level: 'branch' })
  const { next_cursor: cursor } = bodyOf(await own.listLinks({ page_size: '2' }), 200).pagination
  assert.equal((await own.listLinks({ cursor }, { key: secretKey })).status, 200)
  assert.equal((await merchant.send(listPaymentLinks, { query: `?cursor=${cursor}&cursor=${cursor}` })).status, 400)
})
