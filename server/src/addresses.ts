import type { Config } from './config.ts'
import { hostsOf } from './kernel/web-address.ts'
import { services } from './config-urls.ts'

/** The public addresses of the services. What was not set follows from the port, which is known once the server listens. */
export interface Addresses {
  readonly base: string
  readonly terminal: string
  readonly terminalWs: string
  readonly webhooks: string
  readonly qr: string
  readonly checkout: string
  readonly dashboard: string
  readonly sandbox: string
  /** Where this very process answers. */
  readonly local: string
  /** What it listens on, as HOST:PORT. */
  readonly listening: string
  /** The port, once it is known. */
  listensOn(port: number): void
}

type Named = Pick<Config, 'host' | 'port' | 'urls'>

/** Hosts on which a server listens to all addresses of its machine. */
const anyHosts = ['0.0.0.0', '::']

/** Hosts on which `localhost` reaches it. */
const localHosts = [...anyHosts, 'localhost', '127.0.0.1']

const inUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** HOST:PORT, an IPv6 address in brackets. */
export const hostAndPort = (host: string, port: number): string => `${inUrl(host)}:${port}`

/** Where a process that listens there is reached from its own machine. */
export const localUrlOf = (host: string, port: number): string =>
  `http://${hostAndPort(anyHosts.includes(host) ? '127.0.0.1' : host, port)}`

export function addressesOf({ host, port: wanted, urls }: Named): Addresses {
  let port = wanted
  const base = () =>
    urls.base ?? `http://${localHosts.includes(host.toLowerCase()) ? 'localhost' : inUrl(host)}:${port}`
  return {
    listensOn(listening) {
      port = listening
    },
    get base() {
      return base()
    },
    get terminal() {
      return urls.terminal ?? `${base()}/terminal`
    },
    get terminalWs() {
      return urls.terminalWs ?? `${base().replace(/^http/, 'ws')}/terminal`
    },
    get webhooks() {
      return urls.webhooks ?? `${base()}/webhooks`
    },
    get qr() {
      return urls.qr ?? `${base()}/qr`
    },
    get checkout() {
      return urls.checkout ?? `${base()}/pay`
    },
    get dashboard() {
      return urls.dashboard ?? `${base()}/dashboard`
    },
    get sandbox() {
      return urls.sandbox ?? `${base()}/sandbox`
    },
    get local() {
      return localUrlOf(host, port)
    },
    get listening() {
      return hostAndPort(host, port)
    },
  }
}

/** Services that were given a host name of their own answer there with their bare paths. */
export function prefixesOf({ urls }: Named): ReadonlyMap<string, string> {
  const own = new Map<string, string>()
  for (const [name, prefix] of services) {
    const url = urls[name]
    if (url === null) continue
    if (new URL(url).pathname !== '/') continue
    for (const host of hostsOf(url)) own.set(host, prefix)
  }
  return own
}
