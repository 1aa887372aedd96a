// Tills that pay, each at a terminal of its own: as fast as they are answered, or at an even rate. Requests are signed as the contract wants.
import { createHash, createHmac } from 'node:crypto'
import type { Socket } from 'node:net'
import { serve } from './child.ts'
import type { Done } from './compare.ts'
import { answerOn, open } from './raw-http.ts'

export interface Tills {
  readonly origin: string
  /** One for each till. */
  readonly paths: readonly string[]
  readonly apiKey: string
  readonly apiSecret: string
  readonly status: number
}

export interface TillLoad extends Tills {
  readonly seconds: number
}

export interface TillOffer extends TillLoad {
  readonly perSecond: number
}

/** Of a payment: when it was to begin and when its answer was there, in ms of system time. */
export type Paid = readonly [begunMs: number, answeredMs: number]

const body = JSON.stringify({ amount: '150.00', currency: 'PHP', paymentMethod: 'CARD' })
const bodyHash = createHash('sha256').update(body).digest('hex')
const tickMs = 2
// A signature is that of one moment, path and body: of two payments at one terminal in one millisecond the second is the first again.
const stampOf = (ms: number): string => new Date(ms).toISOString()

interface Till {
  readonly pay: () => Promise<void>
  close(): void
}

async function startTill({ origin, apiKey, apiSecret, status }: Tills, path: string): Promise<Till> {
  const { hostname, port } = new URL(origin)
  const socket: Socket = await open(hostname, Number(port))
  let lastMs = 0
  return {
    async pay() {
      lastMs = Math.max(Date.now(), lastMs + 1)
      const stamp = stampOf(lastMs)
      const signature = createHmac('sha256', apiSecret).update(`POST\n${path}\n${stamp}\n${bodyHash}`).digest('base64')
      const answered = answerOn(socket)
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n` +
          `x-api-key: ${apiKey}\r\nx-timestamp: ${stamp}\r\nx-signature: ${signature}\r\n\r\n${body}`,
      )
      const { status: got, answer } = await answered
      if (got !== status) throw new Error(`${path} answered ${answer.toString('utf8')}`)
    },
    close: () => socket.destroy(),
  }
}

const startAll = (load: Tills): Promise<Till[]> => Promise.all(load.paths.map((path) => startTill(load, path)))

/** Every till pays again as soon as it is answered. */
async function run(load: TillLoad): Promise<Done> {
  const tills = await startAll(load)
  const begun = performance.now()
  const until = begun + load.seconds * 1_000
  let count = 0
  await Promise.all(
    tills.map(async ({ pay }) => {
      while (performance.now() < until) {
        await pay()
        count += 1
      }
    }),
  )
  const seconds = (performance.now() - begun) / 1_000
  for (const till of tills) till.close()
  return { count, seconds }
}

/** Payments that come at an even rate, whatever becomes of them; each is counted from when it was to begin. */
async function offer(load: TillOffer): Promise<Paid[]> {
  const free = await startAll(load)
  const tills = [...free]
  const due: number[] = []
  const paid: Paid[] = []
  const begun = Date.now()
  const count = Math.round(load.perSecond * load.seconds)
  const paying: Promise<void>[] = []
  const start = (till: Till, dueMs: number): void => {
    const one = async (): Promise<void> => {
      await till.pay()
      paid.push([dueMs, Date.now()])
      const next = due.shift()
      if (next === undefined) free.push(till)
      else start(till, next)
    }
    paying.push(one())
  }
  for (let made = 0; made < count;) {
    const now = Date.now()
    for (; made < count && begun + (made * 1_000) / load.perSecond <= now; made += 1) {
      const dueMs = begun + (made * 1_000) / load.perSecond
      const till = free.shift()
      if (till === undefined) due.push(dueMs)
      else start(till, dueMs)
    }
    await new Promise((resolve) => setTimeout(resolve, tickMs))
  }
  while (paid.length < count) await Promise.all(paying)
  for (const till of tills) till.close()
  return paid
}

serve({ run, offer }, { [Symbol.asyncDispose]: async () => {} })
