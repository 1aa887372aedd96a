import net from 'node:net'

// An IPv4 address that is written as an IPv6 one (RFC 4291, 2.5.5.2) counts as itself.
const loopback = new net.BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether a host, as a setting or as an address writes it, is this machine and nothing else. */
export function isLoopbackHost(host: string): boolean {
  const address = /^\[(.*)\]$/.exec(host)?.[1] ?? host
  const version = net.isIP(address)
  return version === 0 ? host.toLowerCase() === 'localhost' : loopback.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

const usualPorts: Readonly<Record<string, number>> = { 'http:': 80, 'ws:': 80, 'https:': 443, 'wss:': 443 }

/** How a request may write the host of an address, in small letters: with the port of its scheme or without (RFC 9110, 4.2.3). */
export function hostsOf(address: string): [string, ...string[]] {
  const { host, port, protocol } = new URL(address)
  return port === '' ? [host, `${host}:${usualPorts[protocol]}`] : [host]
}

/**
 * Why an address cannot be a callback or redirect, or null. HTTPS only; `loopbackHttp` (sandboxes) also takes http on this machine.
 * No user information; a callback takes no fragment either, for it would never be sent.
 */
export function webAddressProblem(text: string, options: { loopbackHttp: boolean; fragment: boolean }): string | null {
  if (!URL.canParse(text)) return 'url'
  // A host is read even out of `https:///shop` and `https:shop`, which nobody means.
  if (/^https?:/i.test(text) && !/^https?:\/\/[^/\\]/i.test(text)) return 'url'
  const url = new URL(text)
  const isLoopback = isLoopbackHost(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && options.loopbackHttp && isLoopback)) return 'https'
  if (!canBeHost(url.hostname)) return 'host'
  // Of `https://@shop` the parser keeps nothing of it.
  const authority = text.split(/[/\\?#]/, 3)[2] ?? ''
  if (url.username !== '' || url.password !== '' || authority.includes('@')) return 'no_user_information'
  if (!options.fragment && text.includes('#')) return 'no_fragment'
  return null
}

const rules: Readonly<Record<string, string>> = {
  url: 'must be an absolute address',
  host: 'must name a host that can exist',
  https: 'must use https',
  no_user_information: 'must not carry user information',
  no_fragment: 'must not carry a fragment',
}

/** What `webAddressProblem` found, in words that follow the name of a field. */
export function webAddressWords(problem: string, { loopbackHttp }: { loopbackHttp: boolean }): string {
  const httpToo = problem === 'https' && loopbackHttp ? '; http is for localhost and loopback addresses alone' : ''
  return `${rules[problem] ?? 'is no address'}${httpToo}.`
}

/** RFC 1035, 2.3.4: labels of 1 to 63 characters, 253 with their dots; one more dot may end it. A literal address fits too. */
function canBeHost(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return name.length <= 253 && name.split('.').every((label) => label.length >= 1 && label.length <= 63)
}

/**
 * A merchant's address that a page may lead to: absolute, http or https. Anything else (`javascript:`, `data:`, a relative path)
 * is undefined and the page leaves the way out: a wrong redirect must not take a payer's receipt away.
 */
export function webAddress(url: string | undefined): URL | undefined {
  const address = url === undefined ? null : URL.parse(url)
  return address !== null && /^https?:$/.test(address.protocol) ? address : undefined
}
