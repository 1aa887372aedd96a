import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openOf, startDeliveryRoom, type DeliveryRoom } from '../delivery-room.ts'
import { eventually } from './eventually.ts'
import type { KahaProcess } from './kaha-process.ts'
import type { Mutation } from './mutation.ts'
import { randomFrom } from './random.ts'
import { deliveryOf, startWitness, type Testimony, type Witness } from './witness.ts'
import { startWorkerProcess } from './worker-process.ts'

export interface KillWorkersOptions {
  readonly rounds: number
  readonly seed: number
  readonly say: (line: string) => void
  /** After each kill, waits until all that was in anybody's hands then is delivered. */
  readonly measured: boolean
  /** For the control. */
  readonly mutation?: Mutation
}

export interface KilledWorkers {
  /** What should not be, a sentence each; empty where all is well. */
  readonly losses: readonly string[]
  /** Of each round, from the kill until all that was in hand then was delivered, in ms; empty unless measured. */
  readonly resumedMs: readonly number[]
}

interface Kill {
  readonly at: number
  /** Deliveries whose result was not stored when the killed were gone. */
  readonly open: ReadonlySet<string>
  /** Those of them that somebody held then. */
  readonly held: ReadonlySet<string>
}

const both = [0, 1]
const endpoints = 4
const burst = 150
const killDelayMsMax = 400
const bothShare = 1 / 5
const progressMsMax = 60_000
const restMsMax = 60_000
// A killed process's connections are seen to end within it; those of the others live on, or were idle for longer than a result takes.
const endsMsMax = 3_000

/**
 * Kills worker processes with signal 9 at random instants while two of them deliver, starts them again, lets the queue run empty and
 * resolves to what was lost, made up or repeated without a reason.
 */
export async function killWorkers(options: KillWorkersOptions): Promise<KilledWorkers> {
  const { rounds, measured, seed, say } = options
  const random = randomFrom(seed)
  await using held = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'kaha-workers-'))
  held.defer(() => rm(folder, { recursive: true, force: true }))
  const room = held.use(await startDeliveryRoom())
  const witnesses: Witness[] = []
  for (let index = 0; index < endpoints; index += 1) {
    // Most answers come soon, some late: so there is always something in flight.
    const witness = held.use(await startWitness(() => (random() < 0.05 ? 800 : 25) * random()))
    witness.isFor((await room.endpoint(witness.url)).id)
    witnesses.push(witness)
  }
  let starts = 0
  const start = () => startWorkerProcess(room, join(folder, `worker-${(starts += 1)}`), options.mutation)
  const workers: KahaProcess[] = []
  held.defer(async () => void (await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()))))
  const isDead = (index: number) => workers[index]?.hasEnded() ?? true

  const feed = startFeed(room)
  held.defer(() => feed.stop())
  const kills: Kill[] = []
  const resumedMs: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const index of both) if (isDead(index)) workers[index] = await start()
    await feed.burst()
    await progress(witnesses)
    await sleep(random() * killDelayMsMax)
    const one = random() < 1 / 2 ? 0 : 1
    const victims = random() < bothShare ? both : [one]
    const kill = await killNow(
      room,
      victims.flatMap((index) => workers[index] ?? []),
    )
    kills.push(kill)
    if (both.every(isDead)) workers[0] = await start()
    if (measured) resumedMs.push(await resumed(room, kill))
    const after = measured ? `, all in hand delivered after ${((resumedMs.at(-1) ?? 0) / 1_000).toFixed(1)} s` : ''
    say(`round ${round}: ${victims.length} of ${both.length} killed, ${kill.held.size} in hand${after}`)
  }
  await feed.stop()
  const rested = await comeToRest(room, () => unexplained(witnesses, kills).length > 0)
  const losses = [
    ...unexplained(witnesses, kills),
    ...(rested ? await missing(room, witnesses, feed.ids) : ['the queue did not run empty']),
  ]
  say(`${told(witnesses, kills)}, ${losses.length} losses (seed ${seed})`)
  return { losses, resumedMs }
}

interface Feed {
  /** Events that were committed. */
  readonly ids: readonly string[]
  burst(): Promise<void>
  stop(): Promise<void>
}

/** A few events all the time, and many when asked. */
function startFeed(room: DeliveryRoom): Feed {
  const ids: string[] = []
  const stopping = new AbortController()
  const happen = async (count: number) => void ids.push(...(await room.happen(count)).map(({ id }) => id))
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      await happen(2)
      await sleep(50)
    }
  })()
  return {
    ids,
    burst: () => happen(burst),
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

/** Resolves when some more deliveries have arrived: the workers are at work. */
async function progress(witnesses: readonly Witness[]): Promise<void> {
  const arrived = () => witnesses.reduce((sum, { testimonies }) => sum + testimonies.length, 0)
  const from = arrived()
  await eventually(() => arrived() > from, { waitMsMax: progressMsMax, pollMs: 5, what: 'deliveries' })
}

async function killNow(room: DeliveryRoom, victims: readonly KahaProcess[]): Promise<Kill> {
  const at = performance.now()
  await Promise.all(victims.map((victim) => victim.kill()))
  const open = await openOf(room)
  const namesOf = (rows: typeof open) => new Set(rows.map((row) => deliveryOf(row.event_id, row.destination_id)))
  return { at, open: namesOf(open), held: namesOf(open.filter(({ leased }) => leased)) }
}

/** Resolves, when all that was in hand at a kill is over, to how long after it that was, in ms. */
async function resumed(room: DeliveryRoom, { at, held }: Kill): Promise<number> {
  const isOver = async (): Promise<boolean> =>
    (await openOf(room)).every((row) => !held.has(deliveryOf(row.event_id, row.destination_id)))
  await eventually(isOver, { waitMsMax: restMsMax, pollMs: 50, what: 'what was in hand at a kill' })
  return performance.now() - at
}

/** Whether the queue ran empty; looks no further once `isEnough`. */
async function comeToRest(room: DeliveryRoom, isEnough: () => boolean): Promise<boolean> {
  const left = async (): Promise<boolean> =>
    (await openOf(room)).length > 0 || (await room.query('select from delivery.outbox limit 1')).length > 0
  const end = async () => (isEnough() ? 'enough' : (await left()) ? undefined : 'rest')
  return (await eventually(end, { waitMsMax: restMsMax, pollMs: 250 }).catch(() => 'late')) === 'rest'
}

/**
 * What may arrive again, and once more only for each kill: what a killed worker had sent, for the witness got it over a connection that
 * ended with the kill, and whose result was not stored when the worker was gone. Either its answer was still to come, or it had come and was
 * to be stored with the next batch.
 */
function inFlightAt(kills: readonly Kill[], { testimonies, endOf }: Witness): Testimony[] {
  return testimonies.filter(({ delivery, socket }) => {
    const endedAt = endOf(socket) ?? -Infinity
    const kill = kills.findLast(({ at }) => at <= endedAt)
    return kill !== undefined && endedAt < kill.at + endsMsMax && kill.open.has(delivery)
  })
}

/** How often each delivery is among them. */
function counted(testimonies: readonly Testimony[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { delivery } of testimonies) counts.set(delivery, (counts.get(delivery) ?? 0) + 1)
  return counts
}

/** Deliveries that arrived more often than once and once more for each kill that they were in flight at. */
function unexplained(witnesses: readonly Witness[], kills: readonly Kill[]): string[] {
  return witnesses.flatMap((witness) => {
    const inFlight = counted(inFlightAt(kills, witness))
    return [...counted(witness.testimonies)]
      .filter(([delivery, times]) => times > 1 + (inFlight.get(delivery) ?? 0))
      .map(([delivery, times]) => {
        const killed = inFlight.get(delivery) ?? 0
        return `the delivery ${delivery} arrived ${times} times, and was in flight at ${killed} kills`
      })
  })
}

/** What was committed and did not arrive, and what is stored of it otherwise than as delivered with one attempt. */
async function missing(
  room: DeliveryRoom,
  witnesses: readonly Witness[],
  events: readonly string[],
): Promise<string[]> {
  const arrived = new Set(witnesses.flatMap(({ testimonies }) => testimonies.map(({ delivery }) => delivery)))
  const stored = await room.query<{ event_id: string; destination_id: string; state: string; attempts: number }>(
    `select d.event_id, d.destination_id, d.state, d.attempt_count as attempts from delivery.deliveries d`,
  )
  const kept = await room.query<{ count: number; most: number }>(
    'select count(*)::integer as count, coalesce(max(number), 0) as most from delivery.attempts',
  )
  const expected = events.length * endpoints
  const lost = stored.filter((row) => !arrived.has(deliveryOf(row.event_id, row.destination_id)))
  return [
    ...(arrived.size === expected ? [] : [`${arrived.size} of ${expected} deliveries arrived`]),
    ...(stored.length === expected ? [] : [`${stored.length} of ${expected} deliveries are stored`]),
    ...lost.map((row) => `the delivery ${deliveryOf(row.event_id, row.destination_id)} is stored but did not arrive`),
    ...stored
      .filter(({ state, attempts }) => state !== 'DELIVERED' || attempts !== 1)
      .map((row) => `the delivery ${row.event_id} is ${row.state} after ${row.attempts} attempts; a kill spent one`),
    ...kept
      .filter(({ count, most }) => count !== expected || most !== 1)
      .map(({ count, most }) => `${count} attempts are kept of ${expected} deliveries, numbered up to ${most}`),
  ]
}

function told(witnesses: readonly Witness[], kills: readonly Kill[]): string {
  const all = witnesses.flatMap(({ testimonies }) => testimonies)
  const repeated = all.length - counted(all).size
  const inFlight = witnesses.flatMap((witness) => inFlightAt(kills, witness))
  const answered = inFlight.filter(({ answeredAt }) => answeredAt !== null).length
  return (
    `${all.length} requests, ${repeated} of them repetitions; in flight at ${kills.length} kills: ` +
    `${inFlight.length - answered} without an answer, ${answered} answered but not stored`
  )
}
