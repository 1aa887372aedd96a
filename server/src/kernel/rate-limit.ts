import { isIPv4, isIPv6 } from 'node:net'
import { Fault } from './fault.ts'
import { makeRoom } from './oldest.ts'

/**
 * A token bucket per key, in this process alone. Bounded: the key seen longest ago is forgotten first, which gives it a full bucket.
 */
export interface RateLimit {
  /** 0 when the request may go on, else the seconds to wait. */
  take(key: string): number
}

const keysMax = 10_000

/** `burst` requests at once, `perSecond` in the long run; 0 a second is no limit. */
export function createRateLimit(options: { perSecond: number; burst: number; wall: () => number }): RateLimit {
  const { perSecond, burst, wall } = options
  if (perSecond === 0) return { take: () => 0 }
  const buckets = new Map<string, { tokens: number; at: number }>()
  return {
    take(key) {
      const at = wall()
      const bucket = buckets.get(key) ?? { tokens: burst, at }
      buckets.delete(key)
      makeRoom(buckets, keysMax)
      buckets.set(key, bucket)
      // A system clock that stepped back gives nothing and takes nothing.
      const passedMs = Math.max(0, at - bucket.at)
      bucket.tokens = Math.min(burst, bucket.tokens + (passedMs * perSecond) / 1000)
      bucket.at = at
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
      bucket.tokens -= 1
      return 0
    },
  }
}

/** Counts one more of this key. Throws RATE_LIMITED, with the message and the seconds to wait, where that is one too many. */
export function countOrRefuse(limit: RateLimit, key: string, message: string): void {
  const waitSeconds = limit.take(key)
  if (waitSeconds > 0) throw new Fault('RATE_LIMITED', message, { retryAfterSeconds: waitSeconds })
}

/**
 * What one visitor is counted by: an IPv4 address, or the /64 that an IPv6 network gives to one customer. A proxy may have written the port behind
 * it; whatever is no address counts as one visitor.
 */
export function visitorOf(forwarded: string): string {
  const address = isIPv6(forwarded) ? forwarded : forwarded.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  const mapped = address.replace(/^::ffff:(?=.*\.)/i, '')
  if (isIPv4(mapped)) return mapped
  if (!isIPv6(address)) return ''
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  const network = [...groups, ...Array<string>(missing).fill('0'), ...(tail ?? '').split(':')].slice(0, 4)
  return network.map((group) => group.toLowerCase().replace(/^0+(?=.)/, '')).join(':')
}
