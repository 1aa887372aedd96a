// The delivery engine as the server builds it, with a worker that starts when it is told to.
import { randomBytes } from 'node:crypto'
import { startKaha, type Kaha } from '../../server/src/app.ts'
import { readConfig } from '../../server/src/config.ts'
import { createBranch } from '../../server/src/identity/issue.ts'
import { statement } from '../../server/src/kernel/db.ts'
import { createLog } from '../../server/src/kernel/log.ts'
import { ensureSeed } from '../../server/src/sandbox/seed.ts'
import { serve } from './child.ts'
import { eventOf, eventType, type Source } from './events.ts'
import type { Target } from './place.ts'

export interface WorkerPlace {
  readonly target: Target
  readonly receiverOrigin: string
  /** Each of a branch of its own. */
  readonly endpoints: number
  /** Deliveries in hand; the engine's own where it is not told. */
  readonly inHandMax?: number
}

export interface WorkerRun {
  /** Monotonic system time in ns when the worker was started. */
  readonly startedAt: bigint
}

const held = new AsyncDisposableStack()
const log = createLog('info')
let kaha: Kaha
let sources: Source[] = []
let worker: ReturnType<Kaha['delivery']['worker']> | undefined
let statementsBefore = 0

async function open({ target, receiverOrigin, endpoints, inHandMax }: WorkerPlace): Promise<readonly Source[]> {
  kaha = held.use(
    await startKaha({
      config: readConfig({ KAHA_ROLES: 'api', KAHA_PORT: '0', KAHA_RATE_LIMIT: '0' }),
      target,
      masterKey: randomBytes(32),
      log,
      ...(inHandMax === undefined ? {} : { choices: { delivery: { inHandMax } } }),
    }),
  )
  const at = kaha.clock.now()
  const seed = await ensureSeed(kaha)
  const [merchant] = seed.merchants
  const above = merchant && (await kaha.identity.entity(merchant.id))
  if (merchant === undefined || above === undefined) throw new Error('the seed has no merchant')
  for (let index = 0; index < endpoints; index += 1) {
    const branch = await createBranch(kaha.db, above, `Branch ${index}`, `BENCH-${index}`, at)
    const ids = { partnerId: seed.partner.id, merchantId: merchant.id, branchId: branch.id }
    const path = `/hook/${index}`
    const destination = await kaha.delivery.destinations.create(
      { level: 'branch', entityId: branch.id, ...ids },
      { dialect: 'signed', url: `${receiverOrigin}${path}`, types: [eventType], description: null, metadata: {} },
    )
    const { secret } = await kaha.delivery.destinations.signingSecret(destination.id)
    sources = [...sources, { ...ids, path, secret }]
  }
  return sources
}

const appendEvents = statement(
  'bench.appendEvents',
  `select count(delivery.append_event(e.id, 'signed', $2, e.partner_id, e.merchant_id, e.branch_id, e.intent_id, null, e.body, e.at))
     from json_to_recordset($1) as e (id uuid, partner_id uuid, merchant_id uuid, branch_id uuid, intent_id uuid, body text, at timestamptz)`,
)
const eventsPerStatement = 1_000

/** Events in the outbox, of all sources in turns, as so many payments would have left them until now: a thousand a second. */
async function append({ events }: { events: number }): Promise<{ id: string; path: string; body: string }[]> {
  const all: { id: string; path: string; body: string }[] = []
  const first = kaha.clock.now().getTime() - events
  while (all.length < events) {
    const rows = Array.from({ length: Math.min(eventsPerStatement, events - all.length) }, (_, index) => {
      const source = sources[(all.length + index) % sources.length]
      if (source === undefined) throw new Error('there is no source')
      const at = new Date(first + all.length + index)
      return { ...source, ...eventOf(source, at), at }
    })
    const columns = rows.map((row) => ({
      id: row.id,
      partner_id: row.partnerId,
      merchant_id: row.merchantId,
      branch_id: row.branchId,
      intent_id: row.intentId,
      body: row.body,
      at: row.at,
    }))
    await kaha.db.run(appendEvents, [JSON.stringify(columns), eventType])
    all.push(...rows.map(({ id, path, body }) => ({ id, path, body })))
  }
  return all
}

const statements = (): number => kaha.db.stats().statements + kaha.work.stats().statements

async function start(): Promise<WorkerRun> {
  statementsBefore = statements()
  const startedAt = process.hrtime.bigint()
  worker = kaha.delivery.worker()
  return { startedAt }
}

/** Statements that the database ran for this process since the start. */
async function stop(): Promise<number> {
  const run = statements() - statementsBefore
  await worker?.[Symbol.asyncDispose]()
  worker = undefined
  return run
}

serve({ open, append, start, stop }, held)
