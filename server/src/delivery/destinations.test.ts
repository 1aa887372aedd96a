import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDeliveryRoom } from '../../test/delivery-room.ts'
import { Fault } from '../kernel/fault.ts'
import { firstIdOf, largestId, newId, smallestId } from '../kernel/ids.ts'
import { eventStore } from './store-events.ts'

const first = { before: largestId, rowsMax: 100 }
const any = { type: null, statuses: null, from: smallestId, before: largestId, rowsMax: 100 }

test('a new destination is ENABLED, with a secret of its own that is sealed in the database and read through the door', async () => {
  await using room = await startDeliveryRoom()
  const made = await room.delivery.destinations.create(room.merchant, {
    dialect: 'signed',
    url: 'https://shop.example.com/hook',
    types: ['payment.succeeded', 'payment.declined'],
    description: null,
    metadata: { team: 'orders' },
  })
  assert.deepEqual(
    [made.state, made.types, made.description, made.metadata, made.disabled_reason],
    ['ENABLED', ['payment.succeeded', 'payment.declined'], null, { team: 'orders' }, null],
  )
  assert.deepEqual(await room.delivery.destinations.find(room.merchant, made.id), made)
  const { secret, createdAt, previousExpiresAt } = await room.delivery.destinations.signingSecret(made.id)
  assert.match(secret, /^whsec_[0-9A-Za-z+/]{43}=$/)
  assert.deepEqual([createdAt, previousExpiresAt], [made.created_at, null])
  assert.deepEqual(await room.delivery.destinations.signingSecret(made.id), { secret, createdAt, previousExpiresAt })
  const [row] = await room.query<{ sealed: Buffer }>('select sealed from delivery.secrets')
  assert.ok(
    row && !row.sealed.includes(secret.slice(6)) && !row.sealed.includes(Buffer.from(secret.slice(6), 'base64')),
  )
})

test('A2.create.conflict, A2.create.conflict-other-entity: two live destinations of one owner cannot have one URL; those of two owners can', async () => {
  await using room = await startDeliveryRoom()
  const url = 'https://shop.example.com/hook'
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => room.endpoint(url)))
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  assert.equal(refused.length, 4)
  for (const { reason } of refused) assert.ok(reason instanceof Fault && reason.code === 'CONFLICT')
  await room.endpoint(url, room.merchant)
  await room.endpoint(`${url}/`)
  await room.query(
    'update delivery.destinations set deleted_at = kernel.now() where url = $1 and branch_id is not null',
    [url],
  )
  await room.endpoint(url)
})

test('an owner finds and lists its own destinations and those of everything under it, newest first, and no other', async () => {
  await using room = await startDeliveryRoom()
  const { destinations } = room.delivery
  const [branch, merchant, partner] = [room.branch, room.merchant, room.partner]
  const sibling = { ...branch, entityId: newId(room.clock.now()) }
  const mine = [
    await room.endpoint('https://a.example.com', partner),
    await room.endpoint('https://b.example.com', merchant),
    await room.endpoint('https://c.example.com', branch),
    await room.endpoint('https://d.example.com', { ...sibling, branchId: sibling.entityId }),
  ].map(({ id }) => id)
  const seen = async (who: typeof branch) =>
    (await destinations.list(who, first)).map(({ id }) => mine.indexOf(id)).toSorted((one, other) => one - other)
  assert.deepEqual(await seen(partner), [0, 1, 2, 3])
  assert.deepEqual(await seen(merchant), [1, 2, 3])
  assert.deepEqual(await seen(branch), [2])
  for (const [who, index] of [
    [branch, 0],
    [branch, 1],
    [branch, 3],
    [merchant, 0],
  ] as const) {
    assert.equal(await destinations.find(who, mine[index] ?? ''), undefined)
    assert.equal(await destinations.exists(mine[index] ?? ''), true)
  }
  assert.equal(await destinations.exists(newId(room.clock.now())), false)
  assert.equal(await destinations.exists(mine[0] ?? '', 'terminal'), false)
  assert.equal(await destinations.find(partner, mine[0] ?? '', 'encrypted'), undefined)

  const ids = (await destinations.list(partner, first)).map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted().toReversed())
  const [one, two] = await destinations.list(partner, { before: largestId, rowsMax: 2 })
  const rest = await destinations.list(partner, { before: two?.id ?? '', rowsMax: 2 })
  assert.deepEqual([one?.id, two?.id, ...rest.map(({ id }) => id)], ids)

  await room.query('update delivery.destinations set deleted_at = kernel.now() where id = $1', [mine[2]])
  assert.deepEqual(await seen(branch), [])
  assert.equal(await destinations.find(branch, mine[2] ?? ''), undefined)
  assert.equal(await destinations.exists(mine[2] ?? ''), false)
})

test('events are listed newest first by branch, type, status and time, to the entities that they belong to', async () => {
  await using room = await startDeliveryRoom()
  const now = room.clock.now().getTime()
  const at = (ageMs: number) => ({ at: new Date(now - ageMs), id: newId(new Date(now - ageMs)) })
  const old = { ...at(5_000), type: 'payment.declined' }
  const middle = at(3_000)
  const young = at(1_000)
  for (const event of [old, middle, young]) await room.happen(1, event)
  await room.happen(1, { branchId: newId(room.clock.now()) })
  const branchId = room.branch.entityId
  const list = async (filter: Partial<typeof any>, who = room.branch) =>
    (await room.delivery.events.list(who, { ...any, branchId, ...filter })).map(({ id }) => id)

  assert.deepEqual(await list({}), [young.id, middle.id, old.id])
  assert.deepEqual(await list({}, room.merchant), [young.id, middle.id, old.id])
  assert.deepEqual(await list({}, room.partner), [young.id, middle.id, old.id])
  assert.deepEqual(await list({}, { ...room.partner, entityId: newId(room.clock.now()) }), [])
  const stranger = newId(room.clock.now())
  assert.deepEqual(await list({}, { ...room.branch, entityId: stranger, branchId: stranger }), [])

  assert.deepEqual(await list({ type: 'payment.declined' as never }), [old.id])
  assert.deepEqual(await list({ statuses: ['DELIVERED', 'NOT_SUBSCRIBED'] as never }), [])
  assert.deepEqual(await list({ statuses: ['PENDING'] as never }), [young.id, middle.id, old.id])
  assert.deepEqual(await list({ from: firstIdOf(now - 3_000) }), [young.id, middle.id])
  assert.deepEqual(await list({ before: firstIdOf(now - 3_000 + 1) }), [middle.id, old.id])
  assert.deepEqual(await list({ rowsMax: 2 }), [young.id, middle.id])
  assert.deepEqual(await list({ before: middle.id }), [old.id])

  const { events } = await eventStore.claim(room.db, 2, 15_000)
  await eventStore.dispatch(room.db, events)
  assert.deepEqual(await list({ statuses: ['NOT_SUBSCRIBED'] as never }), [middle.id, old.id])
  assert.deepEqual(
    await list({ statuses: ['PENDING', 'NOT_SUBSCRIBED'] as never, type: 'payment.declined' as never }),
    [old.id],
  )
})

test('an event exists if and only if the transaction that wrote it was committed', async () => {
  await using room = await startDeliveryRoom()
  const [sample] = await room.happen()
  assert.ok(sample)
  const undone = { ...sample, id: newId(room.clock.now()) }
  await assert.rejects(
    room.db.tx(async (tx) => {
      await room.delivery.appendEvent(tx, undone)
      throw new Error('the payment was refused')
    }),
  )
  assert.deepEqual(
    (await room.events()).map(({ id }) => id),
    [sample.id],
  )
  const [found] = await room.query<{ rows: number }>('select count(*)::integer as rows from delivery.outbox')
  assert.equal(found?.rows, 1)
})
