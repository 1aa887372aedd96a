import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Keys } from '../till.ts'

/** What a terminal has of one payment. Money is here or it is not, whatever anybody was told. */
export interface Dealt {
  /** Undefined while it works on it. */
  readonly result: 'SUCCESS' | 'FAILED' | 'CANCELLED' | undefined
  /** Approved, and not voided since. */
  readonly holdsMoney: boolean
}

/** A card terminal as the contract wants it: it answers what it is asked, and comes back whenever its line is lost. */
export interface CardTerminal extends AsyncDisposable {
  readonly deviceId: string
  readonly dealt: ReadonlyMap<string, Dealt>
  /** The address that its line leads to while it works on a payment. */
  readonly worksAt: string | undefined
}

export interface CardTerminalOptions {
  readonly addresses: () => readonly string[]
  readonly random: () => number
  readonly approvedShare: number
  /** How long it takes for a payment. */
  readonly workMsMax: number
  /** How long it is away at least when its line was lost. */
  readonly backMsMin: number
}

const backMsMore = 60

interface Message {
  readonly action?: string
  readonly transactionId?: string
  readonly paymentRequest?: { amount: string; currency: string; paymentMethod: string }
}

/** Connects to any of the addresses that run now, and stays connected until disposed. */
export function startCardTerminal(
  keys: Keys & { readonly device_id: string },
  { addresses, random, approvedShare, workMsMax, backMsMin }: CardTerminalOptions,
): CardTerminal {
  const dealt = new Map<string, Dealt>()
  const requests = new Map<string, Message['paymentRequest']>()
  const stopping = new AbortController()
  const works = new Set<Promise<void>>()
  let line: WebSocket | undefined
  let at: string | undefined

  const say = (message: Record<string, unknown>) => {
    if (line?.readyState === WebSocket.OPEN) line.send(JSON.stringify(message))
  }
  const report = (transactionId: string) => {
    const { amount, currency, paymentMethod } = requests.get(transactionId) ?? {}
    const status = dealt.get(transactionId)?.result
    const more = status === 'SUCCESS' ? { authorizationCode: 'A1B2C3' } : {}
    const timestamp = new Date().toISOString()
    const paymentResponse = { transactionId, status, amount, currency, paymentMethod, timestamp, ...more }
    say({ action: 'paymentResponse', transactionId, paymentResponse })
  }
  const decide = (transactionId: string, result: NonNullable<Dealt['result']>) => {
    if (dealt.get(transactionId)?.result === undefined)
      dealt.set(transactionId, { result, holdsMoney: result === 'SUCCESS' })
    report(transactionId)
  }

  const work = async (transactionId: string) => {
    const chosen = random() < approvedShare ? 'SUCCESS' : 'FAILED'
    await sleep(random() * workMsMax)
    decide(transactionId, chosen)
  }

  const act = ({ action, transactionId = '', paymentRequest }: Message) => {
    const known = dealt.get(transactionId)
    if (action === 'payment' && known === undefined) {
      dealt.set(transactionId, { result: undefined, holdsMoney: false })
      requests.set(transactionId, paymentRequest)
      const working = work(transactionId).finally(() => works.delete(working))
      works.add(working)
    }
    if (action === 'paymentStatus') {
      if (known?.result !== undefined) report(transactionId)
      else say({ action, transactionId, status: known === undefined ? 'UNKNOWN' : 'PENDING' })
    }
    if (action === 'cancelPayment' && known !== undefined) decide(transactionId, 'CANCELLED')
    if (action === 'voidPayment') {
      if (known !== undefined) dealt.set(transactionId, { ...known, holdsMoney: false })
      say({ action: 'voidResult', transactionId, success: true })
    }
  }

  /** Resolves when the line is lost, or could not be had. */
  const connect = (url: string) =>
    new Promise<void>((lost) => {
      const headers = { 'x-api-key': keys.api_key, 'x-device-id': keys.device_id }
      const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/terminal/v1`, { headers })
      // Before it is open: the first question may come with the answer to the handshake.
      line = socket
      at = url
      socket.on('message', (data: Buffer) => act(JSON.parse(data.toString()) as Message))
      socket.on('error', () => {})
      socket.on('close', () => lost())
    })

  const stay = async () => {
    while (!stopping.signal.aborted) {
      const all = addresses()
      const url = all[Math.floor(random() * all.length)]
      if (url !== undefined) await connect(url)
      await sleep(backMsMin + random() * backMsMore)
    }
  }
  const ended = stay()

  return {
    deviceId: keys.device_id,
    dealt,
    get worksAt() {
      return works.size > 0 && line?.readyState === WebSocket.OPEN ? at : undefined
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      line?.terminate()
      await ended
      await Promise.all(works)
    },
  }
}
