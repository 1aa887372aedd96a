import type { FastifyInstance } from 'fastify'
import { isLoopbackHost } from '../web-address.ts'
import { pageHeaders } from './page-headers.ts'

/** What a browser asked for: the header Host, and path and query from the service's own address on. */
export interface Asked {
  readonly host: string | undefined
  readonly path: string
}

/**
 * Where a page stands that was asked for by another name of this machine than that of its service's address, on the same port; undefined
 * where it was asked for at that address, or where nobody can tell: the Host that a proxy sends is not always what the browser shows.
 */
export function homeOf({ host = '', path }: Asked, serviceUrl: string): string | undefined {
  const home = new URL(serviceUrl)
  const asked = URL.parse(`${home.protocol}//${host}`)
  if (asked === null || asked.host === home.host || asked.port !== home.port) return undefined
  if (!isLoopbackHost(asked.hostname) || !isLoopbackHost(home.hostname)) return undefined
  const [pathname = '', ...query] = path.split('?')
  // Set by parts, so that no path leads to another host.
  home.pathname = home.pathname.replace(/\/$/, '') + pathname
  home.search = query.join('?')
  return home.href
}

/**
 * Leads whoever looks at the pages of a room by another name of this machine to their own address. The pages send their forms there, with
 * what the browser remembers of them, and a browser sends no form from one origin to another under the policy of our pages.
 */
export function leadHome(room: FastifyInstance, prefix: string, serviceUrl: () => string): void {
  room.addHook('onRequest', async ({ method, url, headers }, reply) => {
    if (method !== 'GET' && method !== 'HEAD') return
    // Another spelling of the prefix is left where it is.
    if (!url.startsWith(prefix)) return
    const to = homeOf({ host: headers.host, path: url.slice(prefix.length) }, serviceUrl())
    if (to !== undefined) return reply.code(307).headers(pageHeaders()).header('location', to).send()
  })
}
