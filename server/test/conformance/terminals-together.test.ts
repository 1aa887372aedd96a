import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { happen } from '../../src/areas/terminals/course.ts'
import { createTerminalFigures } from '../../src/areas/terminals/figures.ts'
import { createLedger } from '../../src/areas/terminals/ledger.ts'
import { isOpen } from '../../src/areas/terminals/machine.ts'
import { readPayment } from '../../src/areas/terminals/requests.ts'
import { createTerminalsService } from '../../src/areas/terminals/service.ts'
import { createWaits } from '../../src/areas/terminals/waits.ts'
import { eventRecords } from '../../src/delivery/store-events.ts'
import { createTerminalIdentity } from '../../src/identity/terminal-keys.ts'
import { createCursors } from '../../src/kernel/cursor.ts'
import { Fault } from '../../src/kernel/fault.ts'
import { newId } from '../../src/kernel/ids.ts'
import { createLog } from '../../src/kernel/log.ts'
import { createMetrics } from '../../src/kernel/metrics.ts'
import { createRateLimit } from '../../src/kernel/rate-limit.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, sale, shopOf, type Wire } from '../till.ts'
import { until } from '../until.ts'

// What becomes of one of many that are written in one statement.

const p = await platform({ after })
const [shop, far] = [shopOf(p), shopOf(p, p.seed.merchants[1])]
after(async () => {
  await shop[Symbol.asyncDispose]()
  await far[Symbol.asyncDispose]()
})

const { db, bus, clock, keyring } = p.kaha
const waits = createWaits(bus)
after(() => waits[Symbol.asyncDispose]())
const log = createLog('silent')
const figures = createTerminalFigures(createMetrics(), { waitingCalls: () => 0, open: async () => 0 })
const ledger = createLedger({ db, bus, clock, log, figures, waits, eventRecords })
/** The use cases as they are, so that several calls can come in one turn. */
const serviceHere = () =>
  createTerminalsService({
    db,
    bus,
    clock,
    log,
    cursors: createCursors(keyring),
    ledger,
    waits,
    sending: { connectionOf: () => undefined, send: () => {}, unsent: () => {} },
    hasActiveWebhook: async () => false,
    settings: { currencies: ['PHP'] },
  })
const [service, elsewhere] = [serviceHere(), serviceHere()]
const rateLimit = createRateLimit({ perSecond: 1_000, burst: 1_000, wall: clock.wall })
const identity = createTerminalIdentity({ db, bus, clock, keyring, rateLimit })
const principals = await Promise.all([shop, far].map(({ desktop }) => identity.authenticate(desktop.api_key)))

/** What became of a payment. */
async function payBy(by: typeof service, shopIndex: 0 | 1, deviceId: string, transactionId: string): Promise<string> {
  const principal = principals[shopIndex]
  assert.ok(principal)
  const body = { ...sale, transactionId } as Parameters<typeof readPayment>[0]
  const signed = { signature: randomBytes(32), atMs: clock.wall() }
  const asked = readPayment(body, () => body)
  try {
    await by.startPayment(principal, deviceId, asked, { way: 'http', signed })
    return 'taken'
  } catch (error) {
    return error instanceof Fault ? error.code : String(error)
  }
}

/** Payments at three terminals of two shops, asked for in one turn; what became of each. */
const payAtOnce = (ids: readonly [string, string, string]) =>
  Promise.all([
    payBy(service, 0, shop.first.device_id, ids[0]),
    payBy(service, 0, shop.second.device_id, ids[1]),
    payBy(service, 1, far.first.device_id, ids[2]),
  ])

/** The payments of these ids that are stored: by which transaction, and whether with a signature and a report. */
const storedOf = (ids: readonly string[]) =>
  sql<{ transaction_id: string; written_by: string; whole: boolean }>(
    db,
    `select t.transaction_id, t.xmin::text as written_by,
            exists (select from terminals.used_signatures u where u.transaction_id = t.id) and
            exists (select from payments.transactions r where r.id = t.id) as whole
       from terminals.transactions t where t.transaction_id = any($1) order by t.transaction_id`,
    [ids],
  )
const countOf = async (table: string) =>
  (await sql<{ count: bigint }>(db, `select count(*) as count from ${table}`))[0]?.count ?? 0n

/** Three terminals that are there, for the length of one test. */
async function terminals() {
  const all = [await shop.connect(shop.first), await shop.connect(shop.second), await far.connect(far.first)]
  const ends = async (ids: readonly string[]) => {
    for (const [index, id] of ids.entries()) {
      const terminal = all[index] as Wire
      if (!(await storedOf([id])).length) continue
      assert.equal((await terminal.next('payment')).transactionId, id)
      terminal.send(result(id))
      await terminal.settled()
    }
    for (const one of all) await one.close()
  }
  return { all, ends }
}

test('[D5.id.past-retention, D5.id.unique] of payments that come together the one whose id was used long ago is refused, and nothing of it is kept', async () => {
  const { ends } = await terminals()
  const ids = ['together-a', 'together-past', 'together-c'] as const
  await sql(db, 'insert into terminals.past_ids (group_id, transaction_id) values ($1, $2)', [shop.groupId, ids[1]])
  const before = [await countOf('payments.transactions'), await countOf('terminals.used_signatures')]
  assert.deepEqual(await payAtOnce(ids), ['taken', 'TRANSACTION_CONFLICT', 'taken'])
  const stored = await storedOf(ids)
  assert.deepEqual(
    stored.map(({ transaction_id, whole }) => [transaction_id, whole]),
    [
      [ids[0], true],
      [ids[2], true],
    ],
  )
  // Else they did not come together.
  assert.equal(stored[0]?.written_by, stored[1]?.written_by)
  assert.deepEqual(
    [await countOf('payments.transactions'), await countOf('terminals.used_signatures')],
    before.map((count) => count + 2n),
  )
  await ends(ids)
})

test('[D5.id.unique] of payments that come together the one whose id goes in that very moment is refused, and the others are taken', async () => {
  const { ends } = await terminals()
  const ids = ['moment-a', 'moment-past', 'moment-c'] as const
  const [taken, waited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const columns = `partner_id, merchant_id, branch_id, terminal_id, addressed, key_id, way, webhook_mode, request_hash, request, amount, currency,
    payment_method, state, created_at, updated_at, group_id`
  const dropping = db.tx(async (tx) => {
    await sql(
      tx,
      `insert into terminals.transactions (id, transaction_id, ${columns})
       select $2, $1, ${columns} from terminals.transactions where transaction_id = 'together-a'`,
      [ids[1], newId(new Date())],
    )
    taken.resolve()
    await waited.promise
    await sql(
      tx,
      `with past as (delete from terminals.transactions where transaction_id = $1 returning group_id, transaction_id)
       insert into terminals.past_ids select group_id, transaction_id from past`,
      [ids[1]],
    )
  })
  await taken.promise
  const before = await countOf('payments.transactions')
  const paying = payAtOnce(ids)
  const isWaiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%terminals.take_payments%'`
  await until('the payments to wait', async () => (await sql(p.kaha.work, isWaiting)).length > 0)
  waited.resolve()
  await dropping
  assert.deepEqual(await paying, ['taken', 'TRANSACTION_CONFLICT', 'taken'])
  const stored = await storedOf(ids)
  assert.deepEqual(
    stored.map(({ transaction_id, whole }) => [transaction_id, whole]),
    [
      [ids[0], true],
      [ids[2], true],
    ],
  )
  assert.equal(await countOf('payments.transactions'), before + 2n)
  await ends(ids)
})

test('[D5.machine.none.busy] of two payments that come to two processes for one terminal in one moment one is taken, and the other is told that it is busy', async () => {
  const terminal = await shop.connect(shop.first)
  const [one, two] = await db
    .tx(async (tx) => {
      const lock = 'select 1 from terminals.terminals where group_id = $1 and device_id = $2 for update'
      assert.equal((await sql(tx, lock, [shop.groupId, shop.first.device_id])).length, 1)
      const both = [
        payBy(service, 0, shop.first.device_id, 'one-of-two'),
        payBy(elsewhere, 0, shop.first.device_id, 'two-of-two'),
      ]
      const isWaiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%terminals.take_payments%'`
      await until('both to wait', async () => (await sql(p.kaha.work, isWaiting)).length === both.length)
      return both
    })
    .then((both) => Promise.all(both))
  assert.deepEqual(new Set([one, two]), new Set(['PAYMENT_IN_PROGRESS', 'taken']))
  const id = one === 'taken' ? 'one-of-two' : 'two-of-two'
  assert.equal((await terminal.next('payment')).transactionId, id)
  terminal.send(result(id))
  await terminal.settled()
  await terminal.close()
})

test('[D5.socket-errors.connection-not-found] of results that are heard together the one of a connection whose place another has taken changes nothing', async () => {
  const [near, other] = [await shop.connect(shop.first), await shop.connect(shop.second)]
  const busy = await far.connect(far.first)
  const ids = ['heard-replaced', 'heard-held', 'heard-first'] as const
  const paying = [
    shop.pay({ transactionId: ids[0] }),
    shop.pay({ transactionId: ids[1] }, shop.second.device_id),
    far.pay({ transactionId: ids[2] }),
  ]
  for (const one of [near, other, busy]) await one.next('payment')
  const arrived = (one: Wire) => {
    one.socket.ping()
    return once(one.socket, 'pong')
  }
  await db.tx(async (tx) => {
    await sql(tx, 'lock table terminals.sockets in access exclusive mode')
    // The others come together after this one.
    const isWaiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%terminals.save_transactions%'`
    busy.send(result(ids[2]))
    await until('a result to wait', async () => (await sql(p.kaha.work, isWaiting)).length > 0)
    near.send(result(ids[0]))
    other.send(result(ids[1]))
    await Promise.all([near, other].map(arrived))
    // What another process stores that lets the same terminal in.
    const replace = `update terminals.sockets s set connection_id = gen_random_uuid() from terminals.terminals t
      where t.id = s.terminal_id and t.device_id = $1 and t.group_id = $2 returning s.key_id`
    assert.equal((await sql(tx, replace, [shop.first.device_id, shop.groupId])).length, 1)
  })
  assert.equal((await near.next('error')).message, 'Connection not found')
  for (const index of [1, 2]) assert.equal((await paying[index])?.json.status, 'SUCCESS')
  assert.equal((await shop.read(ids[0])).json.status, 'PENDING')
  const newer = await shop.connect(shop.first)
  assert.equal((await newer.next('paymentStatus')).transactionId, ids[0])
  newer.send(result(ids[0]))
  assert.equal((await paying[0])?.json.status, 'SUCCESS')
  for (const one of [newer, other, busy]) await one.close()
})

test('of payments that are changed together one that somebody else has ended is changed from how it stands, and the others as they were to be', async () => {
  const { all } = await terminals()
  const ids = ['changed-elsewhere', 'changed-here', 'changed-too'] as const
  assert.deepEqual(await payAtOnce(ids), ['taken', 'taken', 'taken'])
  for (const one of all) await one.next('payment')
  // The platform hears the result; what this process remembers of the payment is from before it.
  all[0]?.send(result(ids[0]))
  await all[0]?.settled()
  const rows = await sql<{ id: string }>(
    db,
    'select id from terminals.transactions where transaction_id = any($1) order by transaction_id',
    [ids],
  )
  const from: string[] = []
  const changed = await Promise.all(
    rows.map(({ id }) =>
      ledger.change(id, (row, now) => {
        from.push(row.state)
        return isOpen(row.state) ? happen(row, row.created_at, 'cancel', now) : { course: row, effects: [] }
      }),
    ),
  )
  // As they were remembered, and then as they stand.
  assert.deepEqual(from.slice(0, 3), ['PENDING', 'PENDING', 'PENDING'])
  assert.deepEqual(from.slice(3).toSorted(), ['COMPLETED', 'PENDING', 'PENDING'])
  assert.deepEqual(
    changed.map((row) => [row?.state, row?.cancel_asked]),
    [
      ['COMPLETED', false],
      ['PENDING', true],
      ['PENDING', true],
    ],
  )
  for (const [index, one] of all.entries()) {
    if (index > 0) one.send(result(ids[index] ?? '', { status: 'CANCELLED' }))
    await one.settled()
    await one.close()
  }
})
