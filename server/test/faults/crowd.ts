import { setTimeout as sleep } from 'node:timers/promises'
import type { Principal } from '../../src/identity/principal.ts'
import { newId } from '../../src/kernel/ids.ts'
import { selectOpen, startDeliveryRoom, type DeliveryRoom } from '../delivery-room.ts'
import { startReceiver } from '../receiver.ts'
import { withDatabase } from './database-of.ts'
import { eventually } from './eventually.ts'
import { deliveryOf } from './witness.ts'

export interface CrowdOptions {
  readonly endpoints: number
  /** The endpoints belong to so many branches, and each event of a branch goes to all of its endpoints. */
  readonly branches: number
  readonly origins: number
  /** Deliveries that wait for a retry, in one course after the other; each a multiple of the endpoints. */
  readonly waiting: readonly number[]
  /** What is delivered in each course: so many events of each branch. */
  readonly eventsPerBranch: number
  readonly inHandMax: number
  readonly say: (line: string) => void
}

/** What it took to deliver the same while so many waited. */
export interface Course {
  readonly waiting: number
  readonly delivered: number
  readonly claimMs: readonly number[]
  /** Rows of the queue that were fetched by an index. */
  readonly rowsRead: number
  /** Most of this process, in MB. */
  readonly rssMb: number
}

export interface Crowded {
  readonly courses: readonly Course[]
  /** What should not be, a sentence each; empty where all is well. */
  readonly losses: readonly string[]
}

const insertedAtOnce = 20_000
const arrivalMsMax = 300_000
const answerMsMax = 20
const sampleMs = 5_000
// A delivery is found, claimed and settled; a look at a lane finds its next retry. However many wait.
const rowsPerDeliveryMax = 8
const rowsPerLaneMax = 3

interface Crowd {
  readonly room: DeliveryRoom
  readonly busConnections: number
  readonly branches: readonly Principal[]
  /** Requests without an answer so far, and the most there were at a time. */
  readonly held: { now: number; most: number }
  /** From now on answers wait for `letGo`. */
  hold(): void
  letGo(): void
  readonly arrived: Map<string, number>
}

/** Delivers to very many endpoints while few and then many deliveries wait, and resolves to what that took. */
export async function deliverInCrowd(options: CrowdOptions): Promise<Crowded> {
  await using held = new AsyncDisposableStack()
  const crowd = await gather(held, options)
  const losses: string[] = []
  const courses: Course[] = []
  // What is done for the first time takes longer.
  await deliver(crowd, { ...options, eventsPerBranch: 1 }, 0)
  let waiting = 0
  for (const count of options.waiting) {
    await addWaiting(crowd, (count - waiting) / options.endpoints)
    waiting = count
    const { course, wrong } = await deliver(crowd, options, waiting)
    courses.push(course)
    losses.push(...wrong)
  }
  return { courses, losses }
}

/** Registers the endpoints, a few origins with many paths. */
async function gather(held: AsyncDisposableStack, options: CrowdOptions): Promise<Crowd> {
  const { endpoints, branches, origins, inHandMax, say } = options
  const room = held.use(await startDeliveryRoom({ inHandMax }))
  const busConnections = await connectionsOf(room)
  const arrived = new Map<string, number>()
  const waiting: (() => void)[] = []
  const counts = { now: 0, most: 0 }
  let holding = false
  const urls: string[] = []
  for (let index = 0; index < origins; index += 1) {
    const receiver = held.use(await startReceiver())
    urls.push(new URL(receiver.url).origin)
    receiver.answer = ({ path, headers }, response) => {
      receiver.received.length = 0
      const delivery = deliveryOf(String(headers['webhook-id']), path)
      arrived.set(delivery, (arrived.get(delivery) ?? 0) + 1)
      counts.now += 1
      counts.most = Math.max(counts.most, counts.now)
      const answer = () => {
        counts.now -= 1
        response.writeHead(204).end()
      }
      if (holding) waiting.push(answer)
      else setTimeout(answer, answerMsMax * Math.random())
    }
  }

  const owners = Array.from({ length: branches }, (): Principal => {
    const branchId = newId(room.clock.now())
    return { ...room.branch, entityId: branchId, branchId }
  })
  let made = 0
  const make = async () => {
    for (let index = made; index < endpoints; index = made) {
      made += 1
      // The endpoints of a branch are at all origins, and so are those made one after the other: whichever events come first, no origin gets
      // more at a time than there may be connections to it.
      const origin = urls[(index + Math.floor(index / branches)) % origins]
      await room.endpoint(`${origin}/${index}`, owners[index % branches])
    }
  }
  await Promise.all(Array.from({ length: 4 }, make))
  say(`${endpoints} endpoints of ${branches} branches at ${origins} origins`)
  return {
    room,
    busConnections,
    branches: owners,
    held: counts,
    arrived,
    hold() {
      holding = true
    },
    letGo() {
      holding = false
      for (const answer of waiting.splice(0)) answer()
    },
  }
}

const eventsOf = (branch: Principal) => ({ branchId: branch.branchId ?? '' })

/** Deliveries that failed once and wait for their retry, spread over the day to come: so many for each endpoint. */
async function addWaiting({ room }: Crowd, eventsPerBranch: number): Promise<void> {
  const at = room.clock.now()
  await withDatabase(room.target, async (query) => {
    const pairs = await query<{ id: string }>('select id from delivery.destinations order by id')
    const eventsAtOnce = Math.max(1, Math.floor(insertedAtOnce / pairs.length))
    for (let made = 0; made < eventsPerBranch; made += eventsAtOnce) {
      const count = Math.min(eventsAtOnce, eventsPerBranch - made)
      // One event for each place in a branch's list of events, the same for all of its endpoints.
      await query(
        `with branch as (
           select b.owner_id, array_agg(b.id) as destinations from delivery.destinations b group by b.owner_id
         ),
         happened as materialized (
           select b.owner_id, b.destinations, overlay(kernel.uuid_floor($1)::text placing substr(gen_random_uuid()::text, 16) from 16)::uuid as id
             from branch b cross join generate_series(1, $2::integer)
         ),
         event as (
           insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, body, created_at)
           select h.id, 'signed', 'payment.succeeded', $3, $4, h.owner_id, '{}', $1 from happened h
         )
         insert into delivery.queue (event_id, destination_id, attempt_no, run_at, dispatched_at)
         select h.id, d.id, 1, $1::timestamptz + interval '2 hours' + random() * interval '22 hours', $1
           from happened h cross join unnest(h.destinations) as d (id)`,
        [at, count, room.branch.partnerId, room.branch.merchantId],
      )
    }
    await query(
      `update delivery.lanes l set version = version + 1, look_at = least(look_at,
         (select min(q.run_at) from delivery.queue q where q.destination_id = l.destination_id))`,
    )
    await query('vacuum (analyze) delivery.queue, delivery.lanes')
    await query('checkpoint')
  })
}

/** One course: the same events for every branch, by a worker of its own. */
async function deliver(
  crowd: Crowd,
  { endpoints, eventsPerBranch, inHandMax, say }: CrowdOptions,
  waiting: number,
): Promise<{ course: Course; wrong: string[] }> {
  const { room, branches, arrived, held } = crowd
  const claimMs: number[] = []
  const ran = (name: string, ms: number) => void (name === 'delivery.claimDue' && claimMs.push(ms))
  arrived.clear()
  held.most = 0
  const delivered = endpoints * eventsPerBranch
  const readBefore = await rowsRead(crowd)
  let leased = 0
  const rss = watchRss((mb) => say(`  ${waiting} wait, ${arrived.size} delivered: ${mb} MB`))
  {
    await using worker = await room.another({ ran })
    crowd.hold()
    worker.work()
    for (const branch of branches) await room.happen(eventsPerBranch, eventsOf(branch))
    const most = Math.min(inHandMax, delivered)
    await eventually(() => held.now >= most, { waitMsMax: arrivalMsMax, what: `${most} attempts at a time` })
    leased =
      (
        await room.query<{ count: number }>(`select count(*)::integer as count from (${selectOpen}) o where o.leased`)
      )[0]?.count ?? Number.NaN
    crowd.letGo()
    await eventually(() => arrived.size >= delivered, { waitMsMax: arrivalMsMax, what: 'all deliveries' })
    await eventually(async () => (await untried(room)) === 0, { waitMsMax: arrivalMsMax, pollMs: 200 })
  }
  const rssMb = rss.stop()
  const read = (await rowsRead(crowd)) - readBefore
  const readMax = rowsPerDeliveryMax * delivered + rowsPerLaneMax * endpoints * claimMs.length
  const repeated = [...arrived.values()].filter((times) => times > 1).length
  return {
    course: { waiting, delivered, claimMs, rowsRead: read, rssMb },
    wrong: [
      ...(read > readMax ? [`${read} rows were read while ${waiting} waited, more than ${readMax}`] : []),
      ...(held.most > inHandMax ? [`${held.most} attempts were in flight at a time, more than ${inHandMax}`] : []),
      ...(leased > inHandMax ? [`${leased} deliveries were in hand, more than ${inHandMax}`] : []),
      ...(arrived.size > delivered ? [`${arrived.size - delivered} deliveries arrived that were to wait`] : []),
      ...(repeated > 0 ? [`${repeated} deliveries arrived more than once`] : []),
    ],
  }
}

// These read the queue from one end to the other, which counts apart from what is read by an index.
const untried = async (room: DeliveryRoom): Promise<number> =>
  (
    await room.query(`
      select from delivery.outbox union all select from delivery.hands
      union all select from delivery.queue where attempt_no = 0 limit 1`)
  ).length

/** Rows of the queue that were fetched by an index so far. A connection tells of the last of its own when it ends. */
async function rowsRead({ room, busConnections }: Crowd): Promise<number> {
  const isAlone = async () => (await connectionsOf(room)) <= busConnections
  await eventually(isAlone, { what: 'the end of the connections of others' })
  const [row] = await room.query<{ read: bigint }>(
    `select idx_tup_fetch as read from pg_stat_user_tables where schemaname = 'delivery' and relname = 'queue'`,
  )
  return Number(row?.read ?? 0n)
}

/** Connections to the database besides those that the room runs its statements on. */
async function connectionsOf(room: DeliveryRoom): Promise<number> {
  const [row] = await room.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  )
  return (row?.count ?? 0) - room.db.stats().total - room.workDb.stats().total
}

/** The most memory that this process has between now and `stop`, in MB; told from time to time. */
function watchRss(tell: (mb: number) => void): { stop(): number } {
  const stopping = new AbortController()
  const rssMb = () => Math.round(process.memoryUsage.rss() / 2 ** 20)
  let most = rssMb()
  const sample = async () => {
    while (!stopping.signal.aborted) {
      await sleep(sampleMs, undefined, { signal: stopping.signal }).catch(() => {})
      most = Math.max(most, rssMb())
      if (!stopping.signal.aborted) tell(rssMb())
    }
  }
  void sample()
  return {
    stop() {
      stopping.abort()
      return Math.max(most, rssMb())
    },
  }
}
