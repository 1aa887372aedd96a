import { createKaha } from '@kaha/sdk'
import { eventually } from '../../server/test/faults/eventually.ts'
import { atMost, ratioAtLeast, type Bound } from './bounds.ts'
import { startChild, type Child } from './child.ts'
import { compare, median, quantile, quantiles, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { Options } from './options.ts'
import { openPlace, type Place } from './place.ts'
import type { Arrival } from './receiver-child.ts'
import type { Posts } from './undici-loop-child.ts'
import { openWorker } from './worker.ts'
import type { WorkerRun } from './worker-child.ts'

// As many as the engine has under way to one endpoint.
const callers = 64
const samples = 200
const pauseMs = 40
// Both sides gain from code that has been compiled, the bare loop more and for longer: fresh, it reaches two thirds of its rate.
const warmUps = 4

/** Events through the delivery engine, against a bare undici loop that posts the same bytes; and how soon one arrives. */
export async function deliver(options: Options): Promise<Bound[]> {
  const bounds = [...(await throughput(options, 10)), ...(await throughput(options, 1))]
  return [...bounds, ...(await latency(options))]
}

async function throughput({ rounds, size: eventsCount, profileDir }: Options, endpoints: number): Promise<Bound[]> {
  await using place = await openPlace({ profileDir: undefined })
  const receiver = place.use(startChild('receiver-child.ts'))
  const origin = await receiver.call<string>('listen')
  const { worker, sources } = await openWorker(place, profileDir, { receiverOrigin: origin, endpoints })
  const secrets = new Map(sources.map(({ path, secret }) => [path, secret]))
  const bare = place.use(startChild('undici-loop-child.ts'))

  let events: Posts['events'] = []
  const statements: number[] = []
  const subject = {
    name: 'delivery engine',
    async prepare() {
      const appended = await worker.call<{ id: string; path: string; body: string }[]>('append', {
        events: eventsCount,
      })
      events = appended.map((event) => ({ ...event, secret: secrets.get(event.path) ?? '' }))
      await place.client.query('checkpoint')
    },
    async run() {
      const seconds = await deliverAll(place, worker, receiver, eventsCount)
      statements.push((await worker.call<number>('stop')) / eventsCount)
      return { count: eventsCount, seconds }
    },
    cpuMs: () => ({
      worker: cpuMsOf(worker.pid),
      PostgreSQL: place.postgresCpuMs(),
      receiver: cpuMsOf(receiver.pid),
    }),
  }
  const yardstick = {
    name: 'bare undici loop',
    async run() {
      await receiver.call('expect', { events: Infinity, bodies: false })
      return bare.call<Done>('run', { origin, callers, events } satisfies Posts)
    },
    cpuMs: () => ({ loop: cpuMsOf(bare.pid), receiver: cpuMsOf(receiver.pid) }),
  }
  console.log(
    `  ${eventsCount.toLocaleString('en')} events to ${endpoints} ${endpoints === 1 ? 'endpoint' : 'endpoints'}, ` +
      `${callers} at once; PostgreSQL with fsync; log level info, to a file`,
  )
  const compared = await compare(subject, yardstick, { rounds, warmUps })
  const to = endpoints === 1 ? 'one endpoint' : `${endpoints} endpoints`
  return [
    ratioAtLeast(`rate of the bare undici loop, ${to},`, compared, 0.55),
    atMost(`statements per delivered event, ${to},`, median(statements), 1.5),
  ]
}

/** Seconds from the start of the worker until so many events have arrived and nothing is open any more. */
export async function deliverAll(place: Place, worker: Child, receiver: Child, events: number): Promise<number> {
  await receiver.call('expect', { events, bodies: false })
  const { startedAt } = await worker.call<WorkerRun>('start')
  await receiver.call('until')
  const isOver = async (): Promise<boolean> => {
    const { rows } = await place.client.query<{ due: Date | null }>('select delivery.next_due() as due')
    return rows[0]?.due === null
  }
  await eventually(isOver, { waitMsMax: 60_000, pollMs: 5, what: 'the last result' })
  return Number(process.hrtime.bigint() - startedAt) / 1e9
}

/** One payment at a time on a server that has nothing else to do. */
async function latency({ profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir })
  const receiver = place.use(startChild('receiver-child.ts'))
  const origin = await receiver.call<string>('listen')
  const { sandbox } = await place.startServer()
  const [merchant] = sandbox.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) throw new Error('the seed has no merchant')
  const sdk = createKaha({ baseUrl: sandbox.base_url, apiKey: merchant.secret_key })
  await sdk.webhooks.createEndpoint({ url: `${origin}/hook`, enabled_events: ['payment.succeeded'] })

  const card = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }
  const pay = async (): Promise<{ fromCall: number; fromAnswer: number }> => {
    const { id } = await sdk.paymentIntents.create({
      amount: 9_800,
      currency: 'PHP',
      merchant_branch_reference_number: branch.reference_number,
    })
    await receiver.call('expect', { events: 1, bodies: true })
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    const calledAt = process.hrtime.bigint()
    await sdk.paymentIntents.confirm(id, { payment_method: { type: 'card', card } })
    const answeredAt = process.hrtime.bigint()
    await receiver.call('until')
    const [arrival] = await receiver.call<Arrival[]>('arrivals')
    if (arrival === undefined || !arrival.body.includes(id)) throw new Error('another event arrived')
    return { fromCall: Number(arrival.at - calledAt) / 1e6, fromAnswer: Number(arrival.at - answeredAt) / 1e6 }
  }
  for (let warmUp = 0; warmUp < samples / 10; warmUp += 1) await pay()
  const found = []
  for (let sample = 0; sample < samples; sample += 1) found.push(await pay())
  const fromCall = found.map((one) => one.fromCall)
  const fromAnswer = found.map((one) => one.fromAnswer)
  console.log(`  ${samples} payments, one at a time, from the confirm to the receiver:`)
  console.log(`    from the call of the confirm: ${quantiles(fromCall)}`)
  console.log(`    from its answer (below 0: the event was there first): ${quantiles(fromAnswer)}`)
  return [atMost('idle payment to receiver, from the call of the confirm, p99', quantile(fromCall, 0.99), 50, ' ms')]
}
