import { setTimeout as sleep } from 'node:timers/promises'
import { atLeast, atMost, type Bound } from './bounds.ts'
import { startChild, type Child } from './child.ts'
import { quantile } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { Offer, Offered } from './offer-child.ts'
import type { Options } from './options.ts'
import { openPlace } from './place.ts'
import type { Arrival, Expected } from './receiver-child.ts'
import { openWorker } from './worker.ts'

const endpoints = 10
const warmUpSeconds = 3
// After the last event.
const arrivalMsMax = 60_000
const parts = 5

/** Events that come at an even rate for minutes, whatever becomes of them: how soon each is at its receiver. */
export async function offered({ seconds, size: perSecond, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir: undefined })
  const receiver = place.use(startChild('receiver-child.ts'))
  const receiverOrigin = await receiver.call<string>('listen')
  const { target } = place
  const { worker, sources } = await openWorker(place, profileDir, { receiverOrigin, endpoints })
  const offering = place.use(startChild('offer-child.ts'))
  await worker.call('start')
  console.log(
    `  ${perSecond.toLocaleString('en')} events a second for ${seconds} s to ${endpoints} endpoints, each in a transaction of its own; ` +
      'PostgreSQL with fsync; log level info, to a file',
  )
  await offerAndWait(offering, receiver, { target, sources, perSecond, seconds: warmUpSeconds })
  const cpu = () => ({
    'offering process': cpuMsOf(offering.pid),
    worker: cpuMsOf(worker.pid),
    PostgreSQL: place.postgresCpuMs(),
    receiver: cpuMsOf(receiver.pid),
  })
  const cpuBefore = cpu()
  const found = await offerAndWait(offering, receiver, { target, sources, perSecond, seconds })
  const used = Object.entries(cpu()).map(([name, ms]) => {
    const before = cpuBefore[name as keyof typeof cpuBefore]
    return `${name} ${((ms - before) / seconds / 10).toFixed(0)} %`
  })
  console.log(`    CPU of one core: ${used.join(', ')}`)
  await worker.call('stop')
  return told(found, perSecond)
}

interface Found {
  readonly offered: Offered
  readonly arrivals: readonly Arrival[]
}

async function offerAndWait(offering: Child, receiver: Child, offer: Offer): Promise<Found> {
  const events = Math.round(offer.perSecond * offer.seconds)
  await receiver.call('expect', { events, bodies: false, times: true } satisfies Expected)
  const made = await offering.call<Offered>('offer', offer)
  const waiting = new AbortController()
  const given = sleep(arrivalMsMax, undefined, { signal: waiting.signal }).catch(() => {})
  await Promise.race([receiver.call('until'), given])
  waiting.abort()
  return { offered: made, arrivals: await receiver.call<Arrival[]>('arrivals') }
}

function told({ offered: { ids, dueAt, committedAt }, arrivals }: Found, perSecond: number): Bound[] {
  const count = ids.length
  const arrivedAt = new Map<string, bigint>()
  for (const { id, at } of arrivals) if (!arrivedAt.has(id)) arrivedAt.set(id, at)
  const msFrom = (begun: BigInt64Array) =>
    ids.map((id, place) => {
      const at = arrivedAt.get(id)
      return at === undefined ? Infinity : Number(at - (begun[place] ?? 0n)) / 1e6
    })
  const fromDue = msFrom(dueAt)
  const fromCommit = msFrom(committedAt)
  console.log(`    from when it was to happen: ${figures(fromDue)}`)
  console.log(`    from the answer to its commit (below 0: it was there first): ${figures(fromCommit)}`)
  const size = Math.ceil(count / parts)
  for (let part = 0; part < parts; part += 1) {
    console.log(`    part ${part + 1} of ${parts}: ${figures(fromDue.slice(part * size, (part + 1) * size))}`)
  }
  const repeated = arrivals.length - arrivedAt.size
  const lastCommit = committedAt.reduce((most, at) => (at > most ? at : most), 0n)
  const committed = count / (Number(lastCommit - (dueAt[0] ?? 0n)) / 1e9)
  return [
    // Else the load was less than what is said.
    atLeast('events committed', committed, 0.99 * perSecond, '/s'),
    atMost('events that did not arrive, or more than once', count - arrivedAt.size + repeated, 0),
    atMost('from when an event was to happen to its receiver, mean', mean(fromDue), 200, ' ms'),
    atMost('from when an event was to happen to its receiver, p99', quantile(fromDue, 0.99), 1_000, ' ms'),
  ]
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

const figures = (ms: readonly number[]): string =>
  `mean ${mean(ms).toFixed(1)} ms, p50 ${quantile(ms, 0.5).toFixed(1)} ms, p99 ${quantile(ms, 0.99).toFixed(1)} ms, ` +
  `most ${quantile(ms, 1).toFixed(1)} ms`
