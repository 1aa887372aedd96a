import type { Operation } from '@kaha/contract'
import { KahaConnectionError, KahaError, type Told } from './errors.ts'

const backOffMs = 500
const backOffMsMax = 8_000
/** A longer Retry-After is for the caller to wait for. */
const retryAfterSecondsMax = 60

/** Whether the same request, sent twice, does nothing twice. */
export const isRepeatable = ({ method }: Operation, idempotencyKey: string | undefined): boolean =>
  method === 'GET' || idempotencyKey !== undefined

/**
 * How long to wait in ms before the same request is sent again, or null where trying again does not help. `triesMade` counts from 1;
 * `random` gives [0, 1). Never less long than its Retry-After says, nor than without one: many say 0.
 */
export function waitBeforeRetry(failure: unknown, triesMade: number, random: () => number): number | null {
  const ownMs = backOff(triesMade, random)
  if (!(failure instanceof KahaError)) return failure instanceof KahaConnectionError ? ownMs : null
  const { status, code, retryAfterSeconds = 0 } = failure
  // The first try may still run when its connection was lost.
  const passes = [429, 503].includes(status) || isOfProxy(failure) || code === 'IDEMPOTENCY_IN_PROGRESS'
  if (!passes || retryAfterSeconds > retryAfterSecondsMax) return null
  return Math.max(ownMs, retryAfterSeconds * 1_000 * (1 + 0.2 * random()))
}

/** Somebody on the way found no platform behind it, or waited for it too long: some have statuses of their own for that, as 520 to 530. */
const isOfProxy = ({ status, code }: KahaError): boolean => code === 'UNEXPECTED_ANSWER' && status >= 500

/**
 * Whether it is unknown what became of a payment at a terminal, or nothing did, so that the same one is to be asked for again. Never where its
 * time is over, nor where the platform says how it ended.
 */
export const isUnanswered = (failure: unknown): boolean =>
  failure instanceof KahaError
    ? isOfProxy(failure) || failure.code === 'UNAVAILABLE' || failure.code === 'RATE_LIMITED'
    : failure instanceof KahaConnectionError && failure.reason !== 'TIMEOUT'

/** How long to wait in ms, later each time. `triesMade` counts from 1; `random` gives [0, 1). */
export const backOff = (triesMade: number, random: () => number): number =>
  Math.min(backOffMs * 2 ** (triesMade - 1), backOffMsMax) * (0.5 + 0.5 * random())

/**
 * The same for a line that is to come back: null where the platform refuses who connects. Whatever else answers, a proxy for example, passes,
 * with whichever status; of its Retry-After a minute is waited for.
 */
export function waitBeforeReopening(failure: unknown, triesMade: number, random: () => number): number | null {
  if (!(failure instanceof KahaError)) return backOff(triesMade, random)
  const { status, code, retryAfterSeconds = 0 } = failure
  if (code !== 'UNEXPECTED_ANSWER' && status >= 400 && status < 500 && status !== 408 && status !== 429) return null
  const seconds = Math.min(retryAfterSeconds, retryAfterSecondsMax)
  return Math.max(backOff(triesMade, random), seconds * 1_000 * (1 + 0.2 * random()))
}

/** Waits until a request is to be sent again. Throws where that is never, `waitMs` null, and where the caller's signal ends the wait. */
export async function beforeNextTry(
  made: Told,
  failure: unknown,
  waitMs: number | null,
  wait: typeof pause,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (waitMs === null) throw madeTold(made, failure, signal)
  await wait(waitMs, signal).catch((left: unknown) => {
    throw madeTold(made, left, signal)
  })
}

/**
 * What to throw for the failure of a request that was sent. Whoever left one whose key or transactionId was made here, which `made` holds,
 * would never learn it, and do the same twice.
 */
function madeTold(made: Told, failure: unknown, signal: AbortSignal | undefined): unknown {
  const { operation, idempotencyKey, transactionId } = made
  const isLeft = signal?.aborted === true && failure === signal.reason
  if (!isLeft || (idempotencyKey ?? transactionId) === undefined) return failure
  return new KahaConnectionError(operation, 'ABORTED', idempotencyKey, failure, transactionId)
}

/** Seconds from Retry-After. A date counts from the answer's own Date, for our clock may differ. Undefined without a usable one. */
export function retryAfterSecondsOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  // The form of C's asctime ends with the year, and is of UTC as the others are.
  const at = Date.parse(/ \d{4}$/.test(value) ? `${value} GMT` : value)
  const seconds = (at - Date.parse(headers.get('date') ?? '')) / 1_000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined
}

/** Resolves after `ms`, and rejects with the signal's reason when it is aborted before. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
