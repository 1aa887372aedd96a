import { randomUUID } from 'node:crypto'
import type { SandboxKaha } from '../src/app.ts'
import { randomFrom } from './faults/random.ts'
import { startNats } from './nats.ts'
import { platform, type Platform } from './platform.ts'
import { sql } from './sql.ts'
import { startAudit } from './terminals-audit.ts'
import { approval, result, sale, shopOf, signedCall, wire, type Wire } from './till.ts'
import { until } from './until.ts'

type Hooks = { after(close: () => Promise<void>): void }

/** What is between the two processes of a walk, and how it breaks. */
export interface Breakable {
  readonly settings: Readonly<Record<string, string>>
  breaks(p: Platform): Promise<void>
  mends(): Promise<void>
}

/** The connections that listen are cut; each process makes another by itself. */
export async function breakablePostgres(): Promise<Breakable> {
  const cut = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ~ '^(listen |select$)' and pid <> pg_backend_pid()`
  return {
    settings: {},
    breaks: async ({ kaha }) => void (await sql(kaha.db, cut)),
    async mends() {},
  }
}

/** The broker is killed, and is away until it is mended. */
export async function breakableNats({ after }: Hooks): Promise<Breakable> {
  const broker = await startNats()
  after(async () => broker[Symbol.asyncDispose]())
  let away = false
  return {
    settings: { KAHA_NATS_URL: broker.url },
    async breaks() {
      away = true
      await broker.kill()
    },
    async mends() {
      if (away) await broker.startAgain()
      away = false
    },
  }
}

// A line that says nothing is found out within a second.
const pingMs = 300
const sayings = [{}, {}, {}, {}, {}, { amount: '1.00' }, { authorizationCode: '' }]

/** A card terminal: the line that it talks on, all that it ever had, and what it reported. */
interface Device {
  readonly keys: Keys
  line?: Wire | undefined
  readonly lines: Wire[]
  readonly said: ReturnType<typeof result>[]
}

type Keys = ReturnType<typeof shopOf>['first']

/**
 * Terminals, tills, lines, two processes and what is between them do as chance has it, a step at a time; after each step the audit is
 * made. Resolves when everything has ended and every webhook has arrived; what `say` hears of a failure repeats its choices.
 */
export async function walkTerminals(
  t: Hooks,
  { seed, steps, between }: { seed: number; steps: number; between: Breakable },
  say: (line: string) => void,
): Promise<void> {
  const { settings } = between
  const choices = { terminals: { pingMs } }
  const p = await platform(t, { settings, choices })
  await using shop = shopOf(p)
  const audit = await startAudit(p, shop)
  const start = () => p.another(settings, choices)
  const chance = chanceFrom(seed)
  const world = happeningsIn({ p, shop, audit, between, chance, start, processes: [p.kaha, await start()] })
  const { restart: _restart, breaks: _breaks, ...usual } = world.happenings
  const often = ['pay', 'result', 'result', 'result', 'time'] as const
  const usually = [...(Object.keys(usual) as (keyof typeof usual)[]), ...often, ...often]

  const done: string[] = []
  try {
    for (let step = 0; step < steps; step += 1) {
      const name = chance.below(80) === 0 ? chance.pick(['restart', 'breaks'] as const) : chance.pick(usually)
      done.push(name)
      await world.happenings[name](world.someDevice())
      await audit.step()
    }
    await world.rest()
    await audit.end()
  } catch (error) {
    say(`seed ${seed}, after ${done.length} steps; the last of them: ${done.slice(-15).join(', ')}`)
    throw error
  }
  say(audit.summary())
}

function chanceFrom(seed: number) {
  const random = randomFrom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  return { below, pick: <Value>(values: readonly Value[]): Value => values[below(values.length)] as Value }
}

interface World {
  readonly p: Platform
  readonly shop: ReturnType<typeof shopOf>
  readonly audit: Awaited<ReturnType<typeof startAudit>>
  readonly between: Breakable
  readonly chance: ReturnType<typeof chanceFrom>
  /** The first one stays, the second one comes and goes. */
  readonly processes: SandboxKaha[]
  start(): Promise<SandboxKaha>
}

/** What may happen, most of it to one device; and how everything is brought to its end. */
function happeningsIn({ p, shop, audit, between, chance: { below, pick }, start, processes }: World) {
  const devices: readonly Device[] = [shop.first, shop.second].map((keys) => ({ keys, lines: [], said: [] }))
  const calls: Promise<void>[] = []
  // What a process that is going away does not answer, it has said nothing about.
  const unanswered = () => undefined

  const dealtTo = ({ lines }: Device): string[] =>
    lines.flatMap(({ received }) => received.flatMap((one) => (one.action === 'payment' ? [one.transactionId] : [])))
  /** Mostly of the payment in hand or of the few before it, and now and then of any that a till asked for. */
  const idOf = (device: Device): string => {
    const few = dealtTo(device).slice(-3)
    return pick([few.at(-1), few.at(-1), few.at(-1), pick(few)]) ?? pick(['none', ...audit.ids()])
  }
  const says = async ({ line }: Device, message: Record<string, unknown>): Promise<'heard' | 'lost'> => {
    if (!isOpen(line)) return 'lost'
    line.send(message)
    return handled(line)
  }
  const connect = async (device: Device) => {
    const at = pick(processes).localUrl
    device.line = await wire(at, device.keys, { deviceId: device.keys.device_id })
    device.lines.push(device.line)
    await handled(device.line)
  }

  const happenings = {
    /** A second connection of the same key too, where there is one already. */
    connect,
    async pay(device) {
      // Mostly where one can be paid.
      if (!isOpen(device.line) && below(4) > 0) await connect(device)
      const transactionId = randomUUID()
      audit.begun(transactionId)
      const paying = signedCall(pick(processes).localUrl, shop.desktop, {
        method: 'POST',
        path: `/v1/terminals/${device.keys.device_id}/payments`,
        body: { ...sale, transactionId },
      })
      calls.push(paying.then((answer) => audit.told(transactionId, answer), unanswered))
      if (isOpen(device.line)) await handled(device.line)
    },
    async drop({ line }) {
      line?.drop()
    },
    async goodbye({ line }) {
      if (isOpen(line)) await line.close()
    },
    /** Half open: nobody reads or writes any more, and nothing is closed. */
    async fallSilent(device) {
      device.line?.socket.pause()
      device.line = undefined
    },
    async result(device) {
      const status = pick(['SUCCESS', 'SUCCESS', 'SUCCESS', 'FAILED', 'CANCELLED', 'PENDING'])
      const said = { ...approval, status, ...pick(sayings) }
      const message = result(idOf(device), said)
      device.said.push(message)
      const isIts = dealtTo(device).includes(message.transactionId)
      const isApproval = isIts && status === 'SUCCESS' && said.authorizationCode !== ''
      if ((await says(device, message)) === 'heard' && isApproval) audit.approved(message.transactionId)
    },
    async resultAgain(device) {
      const message = device.said.at(-1 - below(3))
      if (message !== undefined) await says(device, message)
    },
    async status(device) {
      const message = {
        action: 'paymentStatus',
        transactionId: idOf(device),
        status: pick(['PENDING', 'PENDING', 'PENDING', 'UNKNOWN']),
      }
      await says(device, message)
    },
    async voidResult(device) {
      await says(device, { action: 'voidResult', transactionId: idOf(device), success: below(2) === 0 })
    },
    async cancel(device) {
      await shop.cancel(idOf(device))
    },
    async void(device) {
      calls.push(shop.voids(idOf(device)).then(unanswered))
    },
    async time() {
      await p.advance(pick([1, 10, 29, 31, 59, 61, 91, 121]))
    },
    async restart() {
      // None starts without what it is told to use.
      await between.mends()
      await processes.pop()?.[Symbol.asyncDispose]()
      processes.push(await start())
    },
    breaks: () => between.breaks(p),
    mends: () => between.mends(),
  } satisfies Record<string, (device: Device) => Promise<void>>
  return {
    happenings,
    someDevice: () => pick(devices),
    /** No line is left, and every wait is over. */
    async rest() {
      await between.mends()
      for (const { lines } of devices) for (const line of lines) line.drop()
      await p.advance(25 * 3_600)
      await Promise.all(calls)
    },
  }
}

const isOpen = (line: Wire | undefined): line is Wire =>
  line !== undefined && line.socket.readyState === line.socket.OPEN

let pings = 0

/** Resolves when everything that a line said before was heard, or the line is no more. */
async function handled(line: Wire): Promise<'heard' | 'lost'> {
  const requestId = `walk-${(pings += 1)}`
  if (line.closed === null) line.send({ action: 'ping', requestId })
  const isAnswered = () => line.received.findLast((one) => one.requestId === requestId) !== undefined
  await until('an answer or an end', () => line.closed !== null || isAnswered())
  return isAnswered() ? 'heard' : 'lost'
}
