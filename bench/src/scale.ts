import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { claimStore, type Claim } from '../../server/src/delivery/store-claim.ts'
import { eventStore, type EventFilter } from '../../server/src/delivery/store-events.ts'
import { byIndex } from '../../server/src/delivery/store-plan.ts'
import { settleStore } from '../../server/src/delivery/store-settle.ts'
import type { Principal } from '../../server/src/identity/principal.ts'
import { createDb, statement, type Db } from '../../server/src/kernel/db.ts'
import { firstIdOf, largestId, smallestId } from '../../server/src/kernel/ids.ts'
import { migrate } from '../../server/src/kernel/migrate.ts'
import { atMost, type Bound } from './bounds.ts'
import { quantile } from './compare.ts'
import type { Options } from './options.ts'
import { openPlace, type Place } from './place.ts'
import { fill, type Crowd } from './scale-rows.ts'

const few = 10_000
const claimsPerRound = 200
const pagesPerRound = 600
// Those may take long.
const pagesPerFarPage = 10
const merchantPage = 1
const ratioMax = 1.5
const statementMsMax = 600_000

/** One of the two databases, and the ms that each thing took there. */
interface Side {
  readonly rows: number
  readonly db: Db
  readonly crowd: Crowd
  readonly took: Map<string, number[]>
}

/** What the hot statements take with very many rows, beside what they take with few: on one PostgreSQL, in turn. */
export async function scale({ rounds, size }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir: undefined })
  const sides = [await sideOf(place, 'few', few), await sideOf(place, 'many', size)]
  await readAll(join(place.folder, 'database', 'postgres', 'base'))
  // Plans are made and caches filled.
  await measure(sides)
  for (const { took } of sides) took.clear()
  for (let round = 0; round < rounds; round += 1) await measure(sides)

  const [small, large] = sides
  const bounds: Bound[] = []
  for (const [what, ms] of small?.took ?? []) {
    const many = large?.took.get(what) ?? []
    console.log(
      `  ${what}: ${few.toLocaleString('en')} rows ${figures(ms)}; ${size.toLocaleString('en')} rows ${figures(many)}`,
    )
    bounds.push(
      atMost(`p99 with many rows, of that with few: ${what},`, quantile(many, 0.99) / quantile(ms, 0.99), ratioMax),
    )
  }
  return bounds
}

const figures = (ms: readonly number[]): string =>
  `p50 ${quantile(ms, 0.5).toFixed(1)}, p99 ${quantile(ms, 0.99).toFixed(1)} ms`

async function sideOf(place: Place, name: string, rows: number): Promise<Side> {
  const target = await place.createDatabase(name)
  await migrate(target)
  const begun = performance.now()
  const crowd = await fill(target, rows)
  const seconds = (performance.now() - begun) / 1_000
  console.log(`  ${rows.toLocaleString('en')} open deliveries and older ones are there after ${seconds.toFixed(0)} s`)
  const onError = (error: Error): void => console.error(error)
  const db = place.use(createDb({ target, connectionsMax: 1, statementMsMax, settings: byIndex, onError }))
  return { rows, db, crowd, took: new Map() }
}

/**
 * Reads every file of the databases: what is measured is what a statement does with many rows, and all of them fit into memory. Without it some
 * pages of a database that was just filled are on the disk alone (seen: a fiftieth of an index), and a page of events anywhere reads 14.
 */
async function readAll(folder: string): Promise<void> {
  const buffer = new Uint8Array(2 ** 20)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    await using file = await open(join(entry.parentPath, entry.name))
    while ((await file.read(buffer)).bytesRead > 0);
  }
}

/** In turn, one by one: what else the machine does meets both alike. */
async function measure(sides: readonly Side[]): Promise<void> {
  for (let claim = 0; claim < claimsPerRound; claim += 1) for (const side of sides) await claimAndSettle(side)
  for (let page = 0; page < pagesPerRound; page += 1) for (const side of sides) await listAll(side, page)
}

async function listAll(side: Side, page: number): Promise<void> {
  const { crowd, db } = side
  for (const [what, filter] of pagesOf(crowd, page))
    await timed(side, what, () => eventStore.list(db, principalOf(crowd, page), filter))
  if (page % pagesPerFarPage > 0) return
  for (const [what, filter] of farPagesOf(crowd, page))
    await timed(side, what, () => eventStore.list(db, principalOf(crowd, merchantPage), filter))
}

async function timed<T>({ took }: Side, what: string, run: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  const result = await run()
  const ms = took.get(what) ?? []
  took.set(what, ms)
  ms.push(performance.now() - begun)
  return result
}

// What a worker asks for that has nothing in hand (server/src/delivery/slots.ts).
const request = {
  rowsMax: 256,
  full: [],
  busy: [],
  quickRoom: 192,
  slowRoom: 32,
  slowLanesMax: 16,
  leaseMs: 15_000,
}

/** Due deliveries are claimed and settled; then they stand at the end of the line again, so that there are always as many. */
async function claimAndSettle(side: Side): Promise<void> {
  const claim = await timed(side, 'claim', () => claimStore.claimDue(side.db, request))
  if (claim.deliveries.length !== request.rowsMax)
    throw new Error(`a claim found ${claim.deliveries.length} deliveries`)
  await timed(side, 'settlement', () => settleStore.settle(side.db, claim.deliveries.map(settlementOf), []))
  await side.db.run(queueAgain, [
    claim.deliveries.map((one) => one.event_id),
    claim.deliveries.map((one) => one.destination_id),
  ])
}

const settlementOf = (held: Claim['deliveries'][number]) => ({
  held,
  end: 'DELIVERED' as const,
  runAt: null,
  attempt: {
    startedAt: new Date(held.claimed_at_ms),
    durationMs: 20,
    status: 204,
    errorClass: null,
    errorMessage: null,
    owner: null,
    requestHeaders: {},
    answer: null,
  },
})

const queueAgain = statement(
  'bench.queueAgain',
  `with moment as materialized (select kernel.now() as now),
   queued as (
     insert into delivery.queue (event_id, destination_id, run_at, dispatched_at)
     select q.event_id, q.destination_id, m.now, m.now from unnest($1::uuid[], $2::uuid[]) as q (event_id, destination_id), moment m
   )
   update delivery.lanes
      set look_at = least(look_at, (select now from moment)), head_at = least(head_at, (select now from moment)), version = version + 1
    where destination_id = any ($2::uuid[])`,
)

const allOf = ({ branchIds }: Crowd, page: number): EventFilter => ({
  branchId: branchIds[page % branchIds.length] ?? '',
  type: null,
  statuses: null,
  from: smallestId,
  before: largestId,
  rowsMax: 21,
})

/** What a filter takes is far down the list, or nowhere. */
function farPagesOf(crowd: Crowd, page: number): [string, EventFilter][] {
  const all = allOf(crowd, page)
  return [
    ['a page of events of a status that only old ones have', { ...all, statuses: ['DELIVERED'] }],
    ['a page of events of a type that there is none of', { ...all, type: 'payment.expired' }],
    ['a page of a branch that has no events', { ...all, branchId: firstIdOf(0) }],
  ]
}

function pagesOf(crowd: Crowd, page: number): [string, EventFilter][] {
  const { from, to } = crowd
  const lasts = to.getTime() - from.getTime()
  const anywhere = from.getTime() + Math.random() * lasts
  const all = allOf(crowd, page)
  return [
    ['the newest page of events', all],
    ['a page of events anywhere', { ...all, before: firstIdOf(Math.floor(anywhere)) }],
    ['a page of events of one type', { ...all, type: 'payment.declined' }],
    ['a page of events of one status', { ...all, statuses: ['SUBMITTED'] }],
    [
      'a page of the events of some time',
      { ...all, from: firstIdOf(Math.floor(anywhere - lasts / 20)), before: firstIdOf(Math.floor(anywhere)) },
    ],
  ]
}

/** Keys of the three levels in turn; `merchantPage` has the merchant's. */
function principalOf({ partnerId, merchantId, branchIds }: Crowd, page: number): Principal {
  const branchId = branchIds[page % branchIds.length] ?? ''
  const key = { keyId: '', partnerId, scopes: new Set<string>() }
  const principals: readonly Principal[] = [
    { ...key, level: 'branch', entityId: branchId, merchantId, branchId },
    { ...key, level: 'merchant', entityId: merchantId, merchantId, branchId: null },
    { ...key, level: 'partner', entityId: partnerId, merchantId: null, branchId: null },
  ]
  const principal = principals[page % principals.length]
  if (principal === undefined) throw new Error('there is no key')
  return principal
}
