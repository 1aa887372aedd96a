import { randomBytes } from 'node:crypto'
import type { Principal } from '../src/identity/principal.ts'
import {
  byIndex,
  createDelivery,
  type Delivery,
  type DeliveryOptions,
  type EventRow,
  type NewEvent,
} from '../src/delivery/index.ts'
import { createEgress } from '../src/delivery/egress.ts'
import { claimStore, type ClaimedRow, type ClaimRequest } from '../src/delivery/store-claim.ts'
import { dispatchStore } from '../src/delivery/store-dispatch.ts'
import { handStore } from '../src/delivery/store-hands.ts'
import type { SettledDelivery } from '../src/delivery/store-settle.ts'
import { postgresBus } from '../src/kernel/bus-postgres.ts'
import type { Bus } from '../src/kernel/bus.ts'
import { createClock, type Clock } from '../src/kernel/clock.ts'
import { createDb, type Db, type DbTarget } from '../src/kernel/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { createLog } from '../src/kernel/log.ts'
import { createMetrics, type Metrics } from '../src/kernel/metrics.ts'
import { openInstallation } from '../src/kernel/installation.ts'
import { createSandboxClock, type SandboxClock } from '../src/sandbox/clock.ts'
import { freshDatabase } from './cluster.ts'

/** The delivery room alone, with everything real around it: a database, a bus, sockets. No worker runs until one is started. */
export interface DeliveryRoom extends AsyncDisposable {
  readonly target: DbTarget
  readonly masterKey: Buffer
  readonly db: Db
  /** For the statements of the tables of work. */
  readonly workDb: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly sandboxClock: SandboxClock
  readonly delivery: Delivery
  readonly metrics: Metrics
  /** One branch of one merchant of one partner. */
  readonly branch: Principal
  readonly merchant: Principal
  readonly partner: Principal
  /** Starts a worker, which stops with the room unless it is stopped before. */
  work(): ReturnType<Delivery['worker']>
  /** Registers an endpoint, of the branch unless told. */
  endpoint(url: string, owner?: Principal): ReturnType<Delivery['destinations']['create']>
  /** Writes events of the branch, commits and hints. */
  happen(count?: number, fields?: Partial<NewEvent>): Promise<NewEvent[]>
  /** The events of the branch, newest first. */
  events(): Promise<readonly EventRow[]>
  /** How many of them stand at each status. */
  statuses(): Promise<Record<string, number>>
  /** Lets no row of this event into the table, or out of it, until what it resolves to is called. */
  refuse(change: 'insert' | 'delete', table: string, eventId: string | undefined): Promise<() => Promise<unknown>>
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Another process on the same database. */
  another(options?: DeliveryRoomOptions): Promise<DeliveryRoom>
}

export interface DeliveryRoomOptions extends DeliveryOptions {
  readonly target?: DbTarget
  /** Where its bus hears others. */
  readonly hearsThrough?: DbTarget
  readonly masterKey?: Buffer
  readonly wall?: () => number
  readonly people?: Pick<DeliveryRoom, 'branch' | 'merchant' | 'partner'>
  /** Hears of each statement on the tables of work, by its name, and how long it took in ms. */
  readonly ran?: (name: string, ms: number) => void
}

const type = 'payment.succeeded'

const roomForAll: ClaimRequest = {
  rowsMax: 256,
  full: [],
  busy: [],
  quickRoom: 64,
  slowRoom: 64,
  slowLanesMax: 64,
  leaseMs: 15_000,
}

/** Takes what is due, as a worker does that may die afterwards. */
export const claim = async (room: DeliveryRoom, request: Partial<ClaimRequest> = {}) =>
  (await claimStore.claimDue(room.workDb, { ...roomForAll, ...request })).deliveries

/** Hands over what there is to dispatch, as a worker has it that may die afterwards. */
export async function handedBy(room: DeliveryRoom): Promise<readonly ClaimedRow[]> {
  const request = { rowsMax: 500, full: [], busy: [], quickRoom: 500, leaseMs: 15_000 }
  const { handed } = await dispatchStore.dispatchDue(room.workDb, 500, request)
  return (await handStore.read(room.workDb, handed)).deliveries
}

/** A result of an attempt: delivered, given up, or waiting for a retry in a minute. */
export const settled = (
  room: DeliveryRoom,
  held: ClaimedRow,
  end: SettledDelivery['end'] = 'DELIVERED',
): SettledDelivery => ({
  held,
  end,
  runAt: end === null ? new Date(room.clock.now().getTime() + 60_000) : null,
  attempt: {
    startedAt: room.clock.now(),
    durationMs: 3,
    status: end === 'DELIVERED' ? 200 : 500,
    errorClass: null,
    errorMessage: null,
    owner: end === 'DELIVERED' ? null : 'destination',
    requestHeaders: { 'webhook-id': 'x' },
    answer: 'ok',
  },
})

/** Makes each such statement take half a second longer. */
export async function slowDown(room: DeliveryRoom, change: string): Promise<void> {
  await room.query(`
    create function delivery.take_long() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(0.5);
      return null;
    end $$`)
  await room.query(`create trigger take_long ${change} for each statement execute function delivery.take_long()`)
}

/** Selects a row for each that is slowed down just now. */
export const slowed = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`

export interface OpenDelivery {
  readonly event_id: string
  readonly destination_id: string
  readonly attempt_no: number
  /** Whether it has gone out with its dispatch, and has no row in the queue. */
  readonly handed: boolean
  readonly leased: boolean
  /** Differs from hold to hold. */
  readonly held_by: string
}

/** Selects the deliveries that are open, in the queue or in hands. */
export const selectOpen = `
     select q.event_id, q.destination_id, q.attempt_no, false as handed, q.lease_until is not null as leased, q.id || ' ' || q.fence as held_by
       from delivery.queue q
      union all
     select e.id, h.destination_id, 0, true, true, h.id || ' in hand'
       from delivery.hands h cross join unnest(h.event_ids) as e (id)
      where not exists (select from delivery.deliveries d where d.event_id = e.id and d.destination_id = h.destination_id)
        and not exists (select from delivery.queue q where q.event_id = e.id and q.destination_id = h.destination_id)
`

/** They, in the order of their events. */
export const openOf = (room: DeliveryRoom) =>
  room.query<OpenDelivery>(`${selectOpen} order by event_id, destination_id`)

export async function startDeliveryRoom(options: DeliveryRoomOptions = {}): Promise<DeliveryRoom> {
  await using building = new AsyncDisposableStack()
  const { masterKey = randomBytes(32), wall, ran, hearsThrough, ...deliveryOptions } = options
  const target = options.target ?? building.use(await freshDatabase()).target
  const db = building.use(createDb({ target, onError: () => {} }))
  const work = timed(building.use(createDb({ target, onError: () => {}, settings: byIndex })), ran)
  const bus = building.use(await postgresBus({ db, target: hearsThrough ?? target, onLost: () => {} }))
  const clock = createClock(wall)
  await clock.refresh(db)
  const egress = building.use(createEgress({ targets: 'any', userAgent: 'Kaha/test' }))
  const metrics = createMetrics()
  const keyring = await openInstallation(db, masterKey, 'sandbox')
  const log = createLog('silent')
  const delivery = createDelivery({ db, work, bus, clock, keyring, egress, log, metrics, options: deliveryOptions })
  await delivery.ensurePartitions(clock.now())
  const sandboxClock = createSandboxClock({ db, bus, clock, ensurePartitions: (at) => delivery.ensurePartitions(at) })
  bus.listen('clock', () => void clock.refresh(db).catch(() => {}))

  const people = options.people ?? entities(clock)
  const { branch } = people
  const list = async () => {
    const { rows } = await delivery.events.list(branch, {
      branchId: branch.entityId,
      type: null,
      statuses: null,
      from: '00000000-0000-0000-0000-000000000000',
      before: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
      rowsMax: 1_000,
    })
    return rows
  }
  const query = <Row extends object>(text: string, values: readonly unknown[] = []) =>
    db.run<Row>({ name: '', text }, values)
  const held = building.move()
  return {
    target,
    masterKey,
    db,
    workDb: work,
    bus,
    clock,
    sandboxClock,
    delivery,
    metrics,
    ...people,
    work: () => held.use(delivery.worker()),
    endpoint: (url, owner = branch) =>
      delivery.destinations.create(owner, { dialect: 'signed', url, types: [type], description: null, metadata: {} }),
    async happen(count = 1, fields = {}) {
      const at = clock.now()
      const events = Array.from({ length: count }, (): NewEvent => {
        const id = newId(at)
        const { partnerId, merchantId, branchId } = branch
        const ids = { partnerId, merchantId: merchantId ?? '', branchId: branchId ?? '' }
        const body = JSON.stringify({ id, type, note: 'ñ ☕ ₱' })
        return { id, dialect: 'signed', type, ...ids, paymentIntentId: null, paymentLinkId: null, body, at, ...fields }
      })
      await db.tx(async (tx) => {
        for (const event of events) await delivery.appendEvent(tx, event)
      })
      bus.hint('events')
      return events
    },
    events: list,
    async statuses() {
      const found: Record<string, number> = {}
      for (const { status } of await list()) found[status] = (found[status] ?? 0) + 1
      return found
    },
    async refuse(change, table, eventId) {
      await query(`
        create function delivery.refuse_one() returns trigger language plpgsql as $$
        begin
          if (coalesce(new, old)).event_id = '${eventId}' then raise exception 'planted'; end if;
          return coalesce(new, old);
        end $$`)
      await query(
        `create trigger refuse_one before ${change} on ${table} for each row execute function delivery.refuse_one()`,
      )
      return () => query(`drop trigger refuse_one on ${table}`)
    },
    query,
    another: (more = {}) => startDeliveryRoom({ ...options, ...more, target, masterKey, people }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

function timed(db: Db, ran: DeliveryRoomOptions['ran']): Db {
  if (ran === undefined) return db
  return {
    ...db,
    async run(statement, values) {
      const begun = performance.now()
      const rows = await db.run<never>(statement, values)
      ran(statement.name, performance.now() - begun)
      return rows
    },
  }
}

function entities(clock: Clock): Pick<DeliveryRoom, 'branch' | 'merchant' | 'partner'> {
  const [partnerId, merchantId, branchId] = [newId(clock.now()), newId(clock.now()), newId(clock.now())]
  const scopes = new Set<string>()
  const partner: Principal = {
    keyId: '',
    level: 'partner',
    entityId: partnerId,
    partnerId,
    merchantId: null,
    branchId: null,
    scopes,
  }
  const merchant: Principal = { ...partner, level: 'merchant', entityId: merchantId, merchantId }
  return { partner, merchant, branch: { ...merchant, level: 'branch', entityId: branchId, branchId } }
}
