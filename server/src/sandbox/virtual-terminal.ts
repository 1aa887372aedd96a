import { WebSocket } from 'ws'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../kernel/db.ts'
import { newId, randomText } from '../kernel/ids.ts'
import { makeRoom } from '../kernel/oldest.ts'
import type { Script } from './scripts.ts'
import { terminalTaskStore as store, type TaskRow } from './store-terminals.ts'

/** One virtual terminal, in the process that runs it. */
export interface Unit {
  readonly partnerId: string
  readonly groupId: string
  readonly deviceId: string
  readonly apiKey: string
  readonly script: Script
  /** Results that were made, by payment. */
  readonly made: Map<string, Record<string, unknown>>
  /** Payments that have arrived, with their requests. */
  readonly known: Map<string, { amount: unknown; currency: unknown; paymentMethod: unknown }>
  /** Those of them that are about to be reported again. */
  readonly repeated: Set<string>
  readonly pongs: Map<string, () => void>
  socket: WebSocket | null
  /** It is off the line, by its script or for a cause that may pass, and comes back by itself. */
  comesBack: boolean
  /** Tries to come back that failed, in a row. */
  failures: number
}

/** What a gateway says to a terminal. */
export interface Message {
  readonly action?: string
  readonly transactionId?: string
  readonly requestId?: string
  /** Of an error. */
  readonly code?: string
  readonly paymentRequest?: { amount: unknown; currency: unknown; paymentMethod: unknown }
}

const rememberedMax = 1_000
const reportAgainMs = 1_000

export interface Acting {
  /** Does what its script does about a message. */
  act(unit: Unit, message: Message): Promise<void>
  /** Reports what it made of a payment, once more what it reported before. */
  report(unit: Unit, transactionId: string): void
  /** Resolves when the platform has worked through everything that was said before. */
  heard(unit: Unit): Promise<void>
  /** Does something in so many seconds of business time, in whatever process runs it then. */
  later(unit: Unit, task: TaskRow['task'], transactionId: string | null, seconds: number): Promise<unknown>
}

/** How virtual terminals play their scripts. */
export function createActing({
  db,
  clock,
  isRunning,
}: {
  readonly db: Db
  readonly clock: Clock
  /** Whether this process still runs it. */
  readonly isRunning: (unit: Unit) => boolean
}): Acting {
  const later = (unit: Unit, task: TaskRow['task'], transactionId: string | null, seconds: number) => {
    const at = clock.now()
    const row = { id: newId(at), group_id: unit.groupId, device_id: unit.deviceId, transaction_id: transactionId, task }
    return store.insertTask(db, row, new Date(at.getTime() + seconds * 1_000))
  }

  const say = (unit: Unit, message: Record<string, unknown>) => {
    if (unit.socket?.readyState === WebSocket.OPEN) unit.socket.send(JSON.stringify(message))
  }

  const heard = (unit: Unit) =>
    new Promise<void>((done) => {
      if (unit.socket?.readyState !== WebSocket.OPEN) return done()
      const requestId = randomText(12)
      unit.pongs.set(requestId, done)
      say(unit, { action: 'ping', requestId })
    })

  const resultOf = (unit: Unit, transactionId: string): Record<string, unknown> => {
    const made = unit.made.get(transactionId)
    if (made !== undefined) return made
    const { amount, currency, paymentMethod } = unit.known.get(transactionId) ?? {}
    const status = unit.script.reports
    const more =
      status === 'SUCCESS'
        ? { authorizationCode: randomText(6, '0123456789'), receiptData: 'KAHA SANDBOX' }
        : status === 'FAILED'
          ? { errorCode: 'DECLINED', errorMessage: 'The card was declined.' }
          : {}
    const timestamp = clock.now().toISOString()
    const result = { transactionId, status, amount, currency, paymentMethod, ...more, timestamp }
    remember(unit.made, transactionId, result)
    return result
  }

  const report = (unit: Unit, transactionId: string) => {
    const message = {
      action: 'paymentResponse',
      requestId: transactionId,
      transactionId,
      paymentResponse: resultOf(unit, transactionId),
    }
    say(unit, message)
    if (unit.script.twice === true) say(unit, message)
  }

  /** A report that was not taken for a cause of the platform is made again until it is. */
  const reportAgain = (unit: Unit, { code = '', requestId = '' }: Message) => {
    const isOurs = unit.made.has(requestId) && !unit.repeated.has(requestId)
    if (!isOurs || !['UNAVAILABLE', 'INTERNAL_ERROR'].includes(code)) return
    unit.repeated.add(requestId)
    setTimeout(() => {
      unit.repeated.delete(requestId)
      if (isRunning(unit)) report(unit, requestId)
    }, reportAgainMs).unref()
  }

  const pay = async (unit: Unit, transactionId: string): Promise<void> => {
    const { reports, afterSeconds, dropsForSeconds } = unit.script
    if (dropsForSeconds !== undefined) {
      unit.comesBack = true
      await later(unit, 'connect', null, dropsForSeconds).catch((error: unknown) => {
        unit.comesBack = false
        throw error
      })
      unit.socket?.terminate()
      return
    }
    if (reports === null) return
    if (afterSeconds === undefined) report(unit, transactionId)
    else await later(unit, 'approve', transactionId, afterSeconds)
  }

  const act = async (unit: Unit, message: Message): Promise<void> => {
    const { action, transactionId = '', requestId = '', paymentRequest } = message
    if (action === 'pong') {
      unit.pongs.get(requestId)?.()
      unit.pongs.delete(requestId)
      return
    }
    if (action === 'error') return reportAgain(unit, message)
    if (unit.script.reports === null) return
    if (action === 'payment' && paymentRequest !== undefined) {
      remember(unit.known, transactionId, paymentRequest)
      return pay(unit, transactionId)
    }
    const isKnown = unit.known.has(transactionId)
    if (action === 'paymentStatus') {
      const isDecided = unit.made.has(transactionId) || unit.script.dropsForSeconds !== undefined
      if (isKnown && isDecided) report(unit, transactionId)
      else say(unit, { action: 'paymentStatus', transactionId, status: isKnown ? 'PENDING' : 'UNKNOWN' })
    }
    if (action === 'voidPayment') say(unit, { action: 'voidResult', transactionId, success: true })
    if (action === 'cancelPayment' && unit.script.heedsCancel === true && isKnown) {
      if ((await store.dropOf(db, unit.groupId, unit.deviceId, transactionId)) === 0) return
      const cancelled = { ...resultOf(unit, transactionId), status: 'CANCELLED' }
      remember(unit.made, transactionId, cancelled)
      report(unit, transactionId)
    }
  }

  return { act, report, heard, later }
}

function remember<Value>(in_: Map<string, Value>, name: string, value: Value): void {
  makeRoom(in_, rememberedMax)
  in_.set(name, value)
}
