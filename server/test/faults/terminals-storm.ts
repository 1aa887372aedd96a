import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startChild } from '../../../bench/src/child.ts'
import type { Done } from '../../../bench/src/compare.ts'
import { openPlace } from '../../../bench/src/place.ts'
import { issueTerminals, socketPath } from '../../../bench/src/terminals.ts'
import type { Crowd } from '../../../bench/src/terminals-child.ts'
import { sale, signedCall, wire, type Keys } from '../till.ts'
import { eventually } from './eventually.ts'
import type { KahaProcess } from './kaha-process.ts'

export interface StormOptions {
  /** That hang on one process, lose it, and all come back at once. */
  readonly terminals: number
  /** Handshakes with keys that nobody issued, in each wave. */
  readonly strangers: number
  /** In the first half of them the heap comes to its size; in the second it must stay there. The more, the smaller a leak is seen. */
  readonly waves: number
  /** A second, from one client, and how many seconds. */
  readonly frames: number
  readonly seconds: number
  readonly say: (line: string) => void
}

const payingMax = 100
const strangersAtOnce = 200
const floodMsMax = 120_000
const tickMs = 2
// Some more than what sockets on both sides hold.
const unreadMax = 2_000
const grownMibMax = 24

/**
 * One process as people run it, and what crowds do to it: its terminals come back all at once after it was killed, strangers try keys, a
 * client floods it and another never reads. All along tills pay. Resolves to what should not be, a sentence each.
 */
export async function stormTerminals({
  terminals: count,
  strangers,
  waves,
  frames,
  seconds,
  say,
}: StormOptions): Promise<string[]> {
  await using place = await openPlace({ profileDir: undefined })
  const faults: string[] = []
  const first = await place.startServer()
  const terminals = await issueTerminals(first, place.target, count)
  const [merchant, neighbour] = first.sandbox.merchants
  if (merchant === undefined || neighbour === undefined) throw new Error('the seed has too few merchants')
  const { desktop } = merchant.terminal_group
  const crowd = place.use(startChild('terminals-child.ts'))
  const joinAll = (server: KahaProcess, atOnce: number) =>
    crowd.call<Done>('join', {
      origin: server.sandbox.base_url,
      path: socketPath,
      approves: true,
      terminals,
      atOnce,
    } satisfies Crowd)
  /** So many tills, each at a terminal of its own, all at once. */
  const payAt = async (server: KahaProcess, what: string) => {
    const chosen = terminals.filter((_, index) => index % Math.ceil(count / payingMax) === 0)
    const answers = await Promise.all(
      chosen.map(({ deviceId }) =>
        signedCall(server.sandbox.base_url, desktop, {
          method: 'POST',
          path: `/v1/terminals/${deviceId}/payments`,
          body: { ...sale, metadata: { what } },
        }),
      ),
    )
    const wrong = answers.filter(({ status, json }) => status !== 200 || json.status !== 'SUCCESS')
    for (const { status, text } of wrong) faults.push(`${what}, a till was told ${status} ${text}`)
    return answers.length
  }

  await joinAll(first, 64)
  await payAt(first, 'before the storm')
  const [port] = first.sandbox.base_url.split(':').slice(-1)
  await first.kill()
  await eventually(async () => (await crowd.call<number>('count')) === 0, { what: 'the end of all lines' })

  const server = await place.startServer({ KAHA_PORT: String(port) })
  const base = residentMib(server)
  const joined = await joinAll(server, count)
  say(
    `${count} terminals came back at once in ${joined.seconds.toFixed(1)} s; ${residentMib(server) - base} MiB more than at rest`,
  )
  const paid = await payAt(server, 'after the storm')
  say(`${paid} tills paid at once after it`)

  const memory: number[] = []
  for (let wave = 1; wave <= waves; wave += 1) {
    const [answers] = await Promise.all([
      knock(server.sandbox.base_url, strangers),
      payAt(server, `beside wave ${wave} of strangers`),
    ])
    for (const [answer, times] of answers)
      if (answer !== 401) faults.push(`${times} strangers were answered ${String(answer)}`)
    memory.push(residentMib(server))
  }
  say(`${waves} waves of ${strangers} strangers; memory after each ${memory.join(', ')} MiB`)
  const half = waves / 2
  const grown = Math.max(...memory.slice(half)) - Math.max(...memory.slice(0, half))
  if (grown > grownMibMax) faults.push(`in the second half of the waves of strangers, memory grew by ${grown} MiB`)

  const [flooded, deaf] = await Promise.all([
    flood(server, desktop, frames, seconds),
    neverRead(server, neighbour.terminal_group.desktop),
    payAt(server, 'beside a flood and one who never reads'),
  ])
  await payAt(server, 'after the flood')
  say(
    `${flooded.sent} frames of one client, ${flooded.answered} answered; one who never read was closed after ${deaf} frames`,
  )
  if (flooded.answered !== flooded.sent)
    faults.push(`of ${flooded.sent} frames of one client ${flooded.answered} were answered`)
  if ((await crowd.call<number>('count')) !== count) faults.push('terminals lost their lines')
  return faults
}

/** Tries keys that nobody issued; resolves to how often each answer came. */
async function knock(url: string, strangers: number): Promise<Map<unknown, number>> {
  const answers = new Map<unknown, number>()
  let left = strangers
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const keys = { api_key: `tk_${String(left).padStart(32, '0')}`, api_secret: '' }
      const answer = await wire(url, keys).then(
        () => 'an open line',
        ({ status }: { status?: number }) => status,
      )
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: strangersAtOnce }, one))
  return answers
}

/** Sends so many frames a second, and reads the answers. */
async function flood({ sandbox }: KahaProcess, keys: Keys, perSecond: number, seconds: number) {
  await using till = await wire(sandbox.base_url, keys)
  const begun = performance.now()
  let sent = 0
  for (const all = perSecond * seconds; sent < all; await sleep(tickMs)) {
    const due = Math.min(all, Math.floor(((performance.now() - begun) * perSecond) / 1_000))
    for (; sent < due; sent += 1) till.send({ action: 'ping', requestId: String(sent) })
  }
  const answered = () => till.received.filter(({ action }) => action === 'pong').length
  await eventually(() => answered() >= sent || till.closed !== null, { waitMsMax: floodMsMax, what: 'the answers' })
  return { sent, answered: answered() }
}

/** Asks and asks, and reads nothing; resolves to how many frames it took until the line was closed. */
async function neverRead({ sandbox }: KahaProcess, keys: Keys): Promise<number> {
  await using till = await wire(sandbox.base_url, keys)
  till.socket.pause()
  const requestId = 'x'.repeat(60_000)
  let sent = 0
  for (; till.closed === null && sent < unreadMax; sent += 1) {
    till.send({ action: 'ping', requestId })
    await sleep(tickMs)
  }
  if (till.closed === null) throw new Error(`${sent} answers wait for a client that never reads`)
  return sent
}

const residentMib = ({ pid }: KahaProcess): number =>
  Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024)
