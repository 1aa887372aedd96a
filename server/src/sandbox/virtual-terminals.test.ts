import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test, type TestContext } from 'node:test'
import { heldLock } from '../../test/held-lock.ts'
import { startLineProxy } from '../../test/line-proxy.ts'
import { platform } from '../../test/platform.ts'
import { sql } from '../../test/sql.ts'
import { shopOf } from '../../test/till.ts'
import { until } from '../../test/until.ts'
import { createLog } from '../kernel/log.ts'
import { createVirtualTerminals } from './virtual-terminals.ts'

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const { db, bus, clock, keyring, identity } = p.kaha
const partnerId = p.seed.partner.id
const log = createLog('silent')

/** As a gateway that restarts. */
const refusing = createServer().on('upgrade', (_request, socket) => {
  socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
})
await once(refusing.listen(0, '127.0.0.1'), 'listening')
after(() => void refusing.close())

/** What runs virtual terminals in one process, and the line that their sockets take. */
async function oneProcess(t: TestContext) {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { port, hostname } = new URL(p.url)
  const line = held.use(await startLineProxy({ host: hostname, port: Number(port) }))
  let leadsTo = line.port
  const socketUrl = () => `ws://127.0.0.1:${leadsTo}/terminal`
  const merchantOf = async () => p.merchant.id
  const terminals = held.use(createVirtualTerminals({ db, bus, clock, keyring, log, identity, merchantOf, socketUrl }))
  return {
    line,
    start: (deviceId: string) => terminals.start(partnerId, shop.groupId, deviceId),
    stop: (deviceId: string) => terminals.stop(partnerId, deviceId),
    refuses() {
      leadsTo = (refusing.address() as AddressInfo).port
    },
    takes() {
      leadsTo = line.port
      line.becomes('passes')
    },
  }
}
type Process = Awaited<ReturnType<typeof oneProcess>>

const obstacles: readonly (readonly [what: string, keepAway: (from: Process) => void])[] = [
  ['no server is there', ({ line }) => line.becomes('closed')],
  ['the server refuses it for now', ({ refuses }) => refuses()],
]

const leaseOf = async (deviceId: string) =>
  (
    await sql<{ node_id: string; asked: string | null }>(
      db,
      'select node_id, asked from sandbox.virtual_terminals where device_id = $1 and node_id is not null',
      [deviceId],
    )
  )[0]
const tasksOf = (deviceId: string) => sql(db, 'select id from sandbox.terminal_tasks where device_id = $1', [deviceId])
const isWaiting = (query: string) =>
  sql(
    db,
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
    [query],
  ).then((rows) => rows.length > 0)

const notNow = { code: 'UNAVAILABLE', retryAfterSeconds: 1 }

async function approves(deviceId: string) {
  assert.equal((await shop.pay({}, deviceId)).json.status, 'SUCCESS')
}

/** A payment that makes a terminal drop its line. */
async function dropped(deviceId: string) {
  const transactionId = randomUUID()
  const paying = shop.pay({ transactionId }, deviceId)
  await until('the loss', async () => (await shop.read(transactionId)).json.status === 'AWAITING_RECONNECT')
  return { paying }
}

async function assertGone(deviceId: string, ...processes: Process[]) {
  for (const { line } of processes) {
    line.becomes('passes')
    await until('that no socket is left', () => !line.inUse)
  }
  assert.equal(await leaseOf(deviceId), undefined)
  assert.deepEqual(await tasksOf(deviceId), [])
  const tried = processes.map(({ line }) => line.tried)
  await p.advance(60)
  assert.deepEqual(
    processes.map(({ line }) => line.tried),
    tried,
  )
  assert.equal((await shop.pay({}, deviceId)).json.error?.code, 'TERMINAL_OFFLINE')
}

for (const [index, [what, keepAway]] of obstacles.entries()) {
  test(`a virtual terminal that is started while ${what} is not held, and comes when it is started again`, async (t) => {
    const one = await oneProcess(t)
    const deviceId = `sim-approve-early-${index}`
    keepAway(one)
    await assert.rejects(one.start(deviceId), notNow)
    assert.equal(await leaseOf(deviceId), undefined)
    one.takes()
    assert.equal(await one.start(deviceId), 'online')
    await approves(deviceId)
  })

  test(`a virtual terminal that would come back while ${what} tries again until it is back, each time anew`, async (t) => {
    const one = await oneProcess(t)
    const deviceId = `sim-drop-30s-again-${index}`
    assert.equal(await one.start(deviceId), 'online')
    // Together more than it tries in a row.
    for (const failures of [3, 3]) {
      const { paying } = await dropped(deviceId)
      keepAway(one)
      await p.advance(31 + 5 * (failures - 1))
      assert.equal(await one.start(deviceId), 'offline')
      one.takes()
      await p.advance(5)
      assert.equal((await paying).json.status, 'SUCCESS')
      assert.equal(await one.start(deviceId), 'online')
    }
  })
}

test('a virtual terminal that cannot come back gives up after five tries, and comes when it is started again', async (t) => {
  const { line, start, takes } = await oneProcess(t)
  const deviceId = 'sim-drop-30s-in-vain'
  assert.equal(await start(deviceId), 'online')
  const { paying } = await dropped(deviceId)
  const before = line.tried
  line.becomes('closed')
  await p.advance(120)
  assert.equal(line.tried - before, 5)
  assert.equal((await paying).json.error.code, 'TERMINAL_CONNECTION_ERROR')
  takes()
  assert.equal(await start(deviceId), 'online')
})

test('a virtual terminal whose line is lost comes back by itself', async (t) => {
  const { line, start, takes } = await oneProcess(t)
  const deviceId = 'sim-approve-lost'
  assert.equal(await start(deviceId), 'online')
  line.becomes('closed')
  await until('that it comes back', async () => (await tasksOf(deviceId)).length === 1)
  assert.equal(await start(deviceId), 'offline')
  takes()
  await p.advance(10)
  await approves(deviceId)
})

test('a virtual terminal whose report was not taken makes it again until it is', async (t) => {
  const { start } = await oneProcess(t)
  const deviceId = 'sim-approve-untaken'
  assert.equal(await start(deviceId), 'online')
  await sql(
    db,
    `create function public.refuse() returns trigger language plpgsql as $$
     begin perform nextval('public.refused'); raise exception 'planted'; end $$`,
  )
  await sql(db, 'create sequence public.refused')
  await sql(
    db,
    `create trigger refuse before update on terminals.transactions for each row
     when (new.device_id = '${deviceId}' and new.state = 'COMPLETED') execute function public.refuse()`,
  )
  const paying = shop.pay({}, deviceId)
  await until('that it is refused', async () => {
    const [row] = await sql<{ is_called: boolean }>(db, 'select is_called from public.refused')
    return row?.is_called === true
  })
  await sql(db, 'drop trigger refuse on terminals.transactions')
  assert.equal((await paying).json.status, 'SUCCESS')
})

test('a virtual terminal that is started twice at once in a process is one, by one socket, and both are told when it is there', async (t) => {
  const { line, start } = await oneProcess(t)
  const deviceId = 'sim-approve-twice'
  line.becomes('held')
  const told: string[] = []
  const starting = [1, 2].map(async () => told.push(await start(deviceId)))
  await until('a socket', () => line.tried > 0)
  assert.deepEqual(told, [])
  line.becomes('passes')
  await Promise.all(starting)
  assert.deepEqual(told, ['online', 'online'])
  assert.equal(line.tried, 1)
  await approves(deviceId)
})

test('of two starts at once in a process of which one is refused, the other brings the terminal', async (t) => {
  const one = await oneProcess(t)
  const deviceId = 'sim-approve-second'
  one.refuses()
  refusing.once('upgrade', one.takes)
  const outcomes = await Promise.allSettled([one.start(deviceId), one.start(deviceId)])
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal(one.line.tried, 1)
  await approves(deviceId)
})

test('a virtual terminal that two processes start for the first time at once has one key, and one of them runs it', async (t) => {
  const both = [await oneProcess(t), await oneProcess(t)]
  const deviceId = 'sim-approve-first'
  const goOn = await heldLock(db, 'lock table identity.terminal_keys in exclusive mode')
  const starting = Promise.allSettled(both.map(({ start }) => start(deviceId)))
  await until('one at the key', () => isWaiting('%into identity.terminal_keys%'))
  await until('another before it', () => isWaiting(`%hashtextextended('sandbox %`))
  await goOn()
  const outcomes = await starting
  assert.equal(outcomes.filter((one) => one.status === 'fulfilled' && one.value === 'online').length, 1)
  const refused = outcomes.find((one) => one.status === 'rejected')
  assert.deepEqual([refused?.reason.code, refused?.reason.retryAfterSeconds], ['UNAVAILABLE', 1])
  assert.deepEqual(await Promise.all(both.map(({ start }) => start(deviceId))), ['online', 'online'])
  assert.equal(both[0]!.line.tried + both[1]!.line.tried, 1)
  await approves(deviceId)
})

test('a process that starts what another one is connecting waits, and is told that it is online there', async (t) => {
  const [one, other] = [await oneProcess(t), await oneProcess(t)]
  const deviceId = 'sim-approve-elsewhere'
  one.line.becomes('held')
  const starting = one.start(deviceId)
  await until('a socket', () => one.line.tried > 0)
  const startingThere = other.start(deviceId)
  await until('that it is asked', async () => (await leaseOf(deviceId))?.asked === 'start')
  one.line.becomes('passes')
  assert.deepEqual(await Promise.all([starting, startingThere]), ['online', 'online'])
  assert.deepEqual([one.line.tried, other.line.tried], [1, 0])
  await approves(deviceId)
})

test('a process that starts what another one fails to connect brings it itself', async (t) => {
  const [one, other] = [await oneProcess(t), await oneProcess(t)]
  const deviceId = 'sim-approve-instead'
  one.line.becomes('held')
  const starting = assert.rejects(one.start(deviceId), notNow)
  await until('a socket', () => one.line.tried > 0)
  const startingThere = other.start(deviceId)
  await until('that it is asked', async () => (await leaseOf(deviceId))?.asked === 'start')
  one.line.becomes('closed')
  await starting
  assert.equal(await startingThere, 'online')
  assert.deepEqual([one.line.tried, other.line.tried], [1, 1])
  await approves(deviceId)
})

test('a virtual terminal that is stopped while it is started is started first, and then gone', async (t) => {
  const one = await oneProcess(t)
  const deviceId = 'sim-approve-halted'
  const told: string[] = []
  one.line.becomes('held')
  const starting = one.start(deviceId).then((status) => told.push(status))
  await until('a socket', () => one.line.tried > 0)
  const stopping = one.stop(deviceId).then(() => told.push('stopped'))
  one.line.becomes('passes')
  await Promise.all([starting, stopping])
  assert.deepEqual(told, ['online', 'stopped'])
  await assertGone(deviceId, one)
})

test('a virtual terminal that another process stops while it is started is started first, and then gone', async (t) => {
  const [one, other] = [await oneProcess(t), await oneProcess(t)]
  const deviceId = 'sim-approve-halted-elsewhere'
  const told: string[] = []
  one.line.becomes('held')
  const starting = one.start(deviceId).then((status) => told.push(status))
  await until('a socket', () => one.line.tried > 0)
  const stopping = other.stop(deviceId).then(() => told.push('stopped'))
  await until('that it is asked', async () => (await leaseOf(deviceId))?.asked === 'stop')
  one.line.becomes('passes')
  await Promise.all([starting, stopping])
  assert.deepEqual(told, ['online', 'stopped'])
  await assertGone(deviceId, one, other)
})

for (const [index, [where, whose]] of (
  [
    ['here', (one: Process) => one],
    ['at another process', (_: Process, other: Process) => other],
  ] as const
).entries()) {
  test(`a virtual terminal that is stopped ${where} while it comes back stays away`, async (t) => {
    const [one, other] = [await oneProcess(t), await oneProcess(t)]
    const deviceId = `sim-drop-30s-halted-${index}`
    await one.start(deviceId)
    const { paying } = await dropped(deviceId)
    one.line.becomes('held')
    const advancing = p.advance(31)
    await until('that it comes back', () => one.line.tried === 2)
    await whose(one, other).stop(deviceId)
    await advancing
    await assertGone(deviceId, one, other)
    assert.notEqual((await paying).json.status, 'SUCCESS')
  })
}

test('a virtual terminal that is stopped between two tries to come back tries no more', async (t) => {
  const one = await oneProcess(t)
  const deviceId = 'sim-drop-30s-halted-between'
  await one.start(deviceId)
  const { paying } = await dropped(deviceId)
  one.line.becomes('closed')
  await p.advance(31)
  assert.equal((await tasksOf(deviceId)).length, 1)
  await one.stop(deviceId)
  await assertGone(deviceId, one)
  assert.notEqual((await paying).json.status, 'SUCCESS')
})

test('one that was stopped is gone when that is answered', async (t) => {
  const one = await oneProcess(t)
  const isOnline = async () => {
    const { json } = await shop.ask({ path: '/v1/terminals' })
    return json.terminals.some(({ deviceId }: { deviceId?: string }) => deviceId === 'sim-approve-gone')
  }
  await one.start('sim-approve-gone')
  assert.equal(await isOnline(), true)
  const goOn = await heldLock(db, 'lock table terminals.sockets in share row exclusive mode')
  let isStopped = false
  const stop = async () => {
    await one.stop('sim-approve-gone')
    isStopped = true
  }
  const stopping = stop()
  await until('the end of its line, which is not stored', () => isWaiting('%delete from terminals.sockets%'))
  await until('a look at it', async () => (await isOnline()) && !isStopped)
  await goOn()
  await stopping
  assert.equal(await isOnline(), false)
})
