import dns, { type LookupAddress } from 'node:dns'
import { setTimeout as sleep } from 'node:timers/promises'
import { callbackify } from 'node:util'
import type { Lookup } from './egress-connections.ts'

/** The machine's name servers are read anew after that. */
const keptMsMax = 60_000

/** How long the other kind of address is waited for: some name servers say nothing to a question for IPv6. */
const otherKindMsMax = 500

/** What says that a name has no address; anything else says that nobody told. */
export const noSuchName: readonly string[] = ['ENOTFOUND', 'ENODATA', 'ENONAME', 'EBADNAME']

/** Those of the machine unless they are given, and how long each query waits at first, each further one for longer. */
export interface NameServers {
  readonly servers?: readonly string[]
  readonly queryMsMax?: number
  readonly triesMax?: number
}

/**
 * Asks name servers for all addresses of a name, those of IPv4 first.
 *
 * `dns.lookup` waits in the threads of the process, of which there are four: one destination whose name servers are silent holds them all for
 * minutes, and no other name is resolved meanwhile. This holds none. It does not know the names of a hosts file, nor search domains.
 */
export function nameLookup({ servers, queryMsMax = 2_000, triesMax = 3 }: NameServers = {}): Lookup {
  let resolver: dns.promises.Resolver | undefined
  let madeAt = 0
  const current = () => {
    const now = performance.now()
    if (resolver === undefined || now - madeAt > keptMsMax) {
      resolver = new dns.promises.Resolver({ timeout: queryMsMax, tries: triesMax })
      if (servers !== undefined) resolver.setServers(servers)
      madeAt = now
    }
    return resolver
  }

  const addressesOf = async (hostname: string): Promise<LookupAddress[]> => {
    const names = current()
    const queries = [names.resolve4(hostname), names.resolve6(hostname)]
    const found: LookupAddress[] = []
    const errors: Error[] = []
    const answered = Promise.all(
      queries.map(async (query, index) => {
        try {
          found.push(...(await query).map((address) => ({ address, family: index === 0 ? 4 : 6 })))
        } catch (error) {
          errors.push(error as Error)
        }
      }),
    )
    await Promise.any(queries).catch(() => {})
    if (found.length > 0) await Promise.race([answered, sleep(otherKindMsMax, undefined, { ref: false })])
    else await answered
    if (found.length > 0) return found.toSorted((one, other) => one.family - other.family)
    throw errors.find((error) => !isNoSuchName(error)) ?? errors[0] ?? new Error('no address')
  }

  const asked = callbackify(addressesOf)
  return (hostname, _, callback) => asked(hostname, callback)
}

const isNoSuchName = ({ code }: NodeJS.ErrnoException): boolean => noSuchName.includes(code ?? '')
