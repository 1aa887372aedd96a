import net from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Where deliveries may go: `public` is https to public addresses only, `any` adds http and every address (a developer's
 * machine).
 */
export type Targets = 'public' | 'any'

/**
 * Where a URL leads, or one sentence that says why it may lead nowhere with these targets. Spellings are settled here
 * once and for all: only what WHATWG `URL` made of the text is used. Names are vetted when they are dialled.
 */
export function targetOf(text: string, targets: Targets): { origin: string; path: string } | string {
  const url = URL.parse(text)
  if (url === null) return 'The URL cannot be read.'
  if (url.protocol !== 'https:' && (targets === 'public' || url.protocol !== 'http:')) return 'The URL must use https.'
  if (url.username !== '' || url.password !== '') return 'The URL must not carry user information.'
  if (url.hash !== '' || text.includes('#')) return 'The URL must not carry a fragment.'
  if (url.port === '0') return 'The URL must name a port that can be reached.'
  if (targets === 'public') {
    const host = hostOf(url.hostname)
    const isPublic = net.isIP(host) === 0 ? !/(^|\.)localhost$/.test(host) : isPublicAddress(host)
    if (!isPublic) return 'The URL must lead to a public address.'
  }
  return { origin: url.origin, path: url.pathname + url.search }
}

/** Without the brackets of an IPv6 literal and the dot that may end a full name. */
export function hostOf(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '')
}

/**
 * What the special-purpose registry of IPv4 (RFC 6890 and its successors) keeps from public hosts, and what clouds keep
 * for themselves.
 */
const specialIPv4 = [
  ['0.0.0.0/8', 'this network, RFC 791'],
  ['10.0.0.0/8', 'private use, RFC 1918'],
  ['100.64.0.0/10', 'shared behind carrier NAT, RFC 6598'],
  ['127.0.0.0/8', 'loopback, RFC 1122'],
  ['168.63.129.16/32', 'host services of Azure, reachable from its virtual machines only'],
  ['169.254.0.0/16', 'link local and cloud metadata, RFC 3927'],
  ['172.16.0.0/12', 'private use, RFC 1918'],
  ['192.0.0.0/24', 'protocol assignments, RFC 6890'],
  ['192.0.2.0/24', 'documentation, RFC 5737'],
  ['192.31.196.0/24', 'AS112, RFC 7535'],
  ['192.52.193.0/24', 'multicast tunnels, RFC 7450'],
  ['192.88.99.0/24', '6to4 relays, RFC 7526'],
  ['192.168.0.0/16', 'private use, RFC 1918'],
  ['192.175.48.0/24', 'AS112, RFC 7534'],
  ['198.18.0.0/15', 'benchmarks, RFC 2544'],
  ['198.51.100.0/24', 'documentation, RFC 5737'],
  ['203.0.113.0/24', 'documentation, RFC 5737'],
  ['224.0.0.0/4', 'multicast, RFC 5771'],
  ['240.0.0.0/4', 'reserved and broadcast, RFC 1112'],
] as const

/**
 * The only block of IPv6 that is handed out to public hosts (RFC 3587). Mapped, compatible, NAT64, unique local and
 * link local forms lie outside.
 */
const globalIPv6 = '2000::/3'

const specialIPv6 = [
  ['2001::/23', 'protocol assignments: Teredo, benchmarks, ORCHID, RFC 2928'],
  ['2001:db8::/32', 'documentation, RFC 3849'],
  ['2002::/16', '6to4, which carries an IPv4 address, RFC 3056'],
  ['2620:4f:8000::/48', 'AS112, RFC 7534'],
  ['3fff::/20', 'documentation, RFC 9637'],
] as const

const rangesIPv4 = specialIPv4.map(([range]) => ipaddr.IPv4.parseCIDR(range))
const rangeGlobalIPv6 = ipaddr.IPv6.parseCIDR(globalIPv6)
const rangesIPv6 = specialIPv6.map(([range]) => ipaddr.IPv6.parseCIDR(range))

/**
 * Whether a host on the public internet may have this address. Takes an IPv4 address as four plain decimal numbers or
 * an IPv6 address; anything else, other spellings of IPv4 included, is not public: a spelling that two readers may read
 * differently is refused rather than guessed.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const parsed = ipaddr.IPv4.parse(address)
    return !rangesIPv4.some((range) => parsed.match(range))
  }
  if (!ipaddr.IPv6.isValid(address) || address.includes('%')) return false
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.match(rangeGlobalIPv6) && !rangesIPv6.some((range) => parsed.match(range)) && !isIsatap(parsed)
}

/** ISATAP (RFC 5214) puts an IPv4 address of the site behind `[02]00:5efe` in the lower half of any prefix. */
function isIsatap(address: ipaddr.IPv6): boolean {
  return ((address.parts[4] ?? 0) & 0xfdff) === 0 && address.parts[5] === 0x5efe
}
