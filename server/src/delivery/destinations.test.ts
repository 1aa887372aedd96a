import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDeliveryRoom } from '../../test/delivery-room.ts'
import { Fault } from '../kernel/fault.ts'
import { firstIdOf, largestId, newId, smallestId } from '../kernel/ids.ts'
import { dispatchStore } from './store-dispatch.ts'

const nothing = { url: null, types: null, description: null, metadata: null, disabled: null }
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
  const found = await room.delivery.destinations.signingSecret(made.id)
  const { secret, ...rest } = found
  assert.match(secret, /^whsec_[0-9A-Za-z+/]{43}=$/)
  assert.deepEqual(rest, { destinationId: made.id, createdAt: made.created_at, previousExpiresAt: null })
  assert.deepEqual(await room.delivery.destinations.signingSecret(made.id), found)
  const [row] = await room.query<{ sealed: Buffer }>('select sealed from delivery.secrets')
  assert.ok(
    row && !row.sealed.includes(secret.slice(6)) && !row.sealed.includes(Buffer.from(secret.slice(6), 'base64')),
  )
})

test('a destination that is to be disabled is so from its first moment on', async () => {
  await using room = await startDeliveryRoom()
  const url = 'https://shop.example.com/hook'
  const input = { dialect: 'encrypted', url, types: ['QRPH_SUCCESS'], description: null, metadata: {} } as const
  const made = await room.delivery.destinations.create(room.merchant, { ...input, disabled: true })
  assert.deepEqual([made.state, made.disabled_reason, made.updated_at], ['DISABLED', null, made.created_at])
  const lanes = await room.query<{ state: string }>('select state from delivery.lanes')
  assert.deepEqual(lanes, [{ state: 'PAUSED' }])
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
  const [made] = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  await room.delivery.destinations.delete(room.branch, made?.id ?? '')
  await room.endpoint(url)
})

test('an owner changes, rotates and deletes its own destinations and those of everything under it, in its dialect, and no other', async () => {
  await using room = await startDeliveryRoom()
  const { destinations } = room.delivery
  const [branch, merchant, partner] = [room.branch, room.merchant, room.partner]
  const stranger = newId(room.clock.now())
  const change = { ...nothing, description: 'Changed', disabled: true }
  const made = await room.endpoint('https://a.example.com', merchant)
  const secret = await destinations.signingSecret(made.id)
  for (const who of [branch, { ...merchant, entityId: stranger }, { ...partner, entityId: stranger }]) {
    assert.equal(await destinations.change(who, made.id, change), undefined)
    assert.equal(await destinations.change(who, made.id, nothing), undefined)
    assert.equal(await destinations.rotateSecret(who, made.id, 0), undefined)
    assert.equal(await destinations.delete(who, made.id), undefined)
  }
  assert.equal(await destinations.change(merchant, made.id, change, 'terminal'), undefined)
  assert.equal(await destinations.rotateSecret(merchant, made.id, 0, 'terminal'), undefined)
  assert.equal(await destinations.delete(merchant, made.id, 'encrypted'), undefined)
  assert.deepEqual(await destinations.find(merchant, made.id), made)
  assert.deepEqual(await destinations.signingSecret(made.id), secret)

  for (const who of [merchant, partner]) {
    const described = { ...change, description: who.level }
    const { state, description } = (await destinations.change(who, made.id, described)) ?? {}
    assert.deepEqual([state, description], ['DISABLED', who.level])
    assert.notEqual((await destinations.rotateSecret(who, made.id, 0))?.secret, secret.secret)
  }
  assert.deepEqual(await destinations.change(merchant, made.id, nothing), await destinations.find(merchant, made.id))
  assert.equal((await destinations.delete(partner, made.id))?.id, made.id)
  assert.equal(await destinations.delete(partner, made.id), undefined)
})

test('A2.rotate.order: however many rotations fall into one millisecond, the secret of the last one is the newest', async () => {
  const at = Date.now()
  await using room = await startDeliveryRoom({ wall: () => at })
  const { destinations } = room.delivery
  const { id } = await room.endpoint('https://shop.example.com/hook')
  const secrets = new Set([(await destinations.signingSecret(id)).secret])
  for (let rotations = 1; rotations <= 12; rotations += 1) {
    const { secret } = (await destinations.rotateSecret(room.branch, id, 60)) ?? {}
    assert.equal((await destinations.signingSecret(id)).secret, secret)
    assert.equal(secrets.add(secret ?? '').size, rotations + 1)
  }
})

test('a destination that is deleted while somebody waits to change it is not found by the change', async () => {
  await using room = await startDeliveryRoom()
  const { destinations } = room.delivery
  const made = await room.endpoint('https://a.example.com')
  const wishes = Array.from({ length: 10 }, (_, at) => ({ ...nothing, disabled: at % 2 === 0 }))
  const [deleted, ...changed] = await Promise.all([
    destinations.delete(room.branch, made.id),
    ...wishes.map((wish) => destinations.change(room.branch, made.id, wish)),
    ...wishes.map(() => destinations.rotateSecret(room.branch, made.id, 0)),
  ])
  assert.equal(deleted?.id, made.id)
  assert.equal(changed.length, 20)
  const [row] = await room.query<{ state: string; lane: string }>(
    'select d.state, l.state as lane from delivery.destinations d join delivery.lanes l on l.destination_id = d.id',
  )
  assert.deepEqual(row, { state: 'DISABLED', lane: 'CLOSING' })
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

  await destinations.delete(branch, mine[2] ?? '')
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
    (await room.delivery.events.list(who, { ...any, branchId, ...filter })).rows.map(({ id }) => id)

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

  // A filter that hardly anything fits looks at so many events, and tells where it stopped.
  const looking = async (filter: Partial<typeof any>, lookedMax: number) => {
    const { rows, stoppedAt } = await room.delivery.events.list(room.branch, { ...any, branchId, ...filter, lookedMax })
    return [rows.map(({ id }) => id), stoppedAt]
  }
  const declined = { type: 'payment.declined' as never }
  assert.deepEqual(await looking(declined, 2), [[], middle.id])
  assert.deepEqual(await looking({ ...declined, before: middle.id }, 2), [[old.id], null])
  assert.deepEqual(await looking(declined, 3), [[old.id], null])
  assert.deepEqual(await looking({ rowsMax: 2 }, 2), [[young.id, middle.id], null])

  const events = await dispatchStore.claim(room.workDb, 2, 15_000)
  await dispatchStore.dispatchClaimed(room.workDb, events)
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
