/** The public addresses as set; null where they follow from the host and port. */
export interface ServiceUrls {
  readonly base: string | null
  readonly terminal: string | null
  readonly terminalWs: string | null
  readonly webhooks: string | null
  readonly qr: string | null
  readonly checkout: string | null
  readonly dashboard: string | null
  readonly sandbox: string | null
}

/** The setting of an address. */
export const urlSettingOf = (name: keyof ServiceUrls): string =>
  `KAHA_${name.replace(/(?=[A-Z])/, '_').toUpperCase()}_URL`

/** Services that may have an address of their own, and their prefix at the base address. */
export const services: readonly (readonly [name: Exclude<keyof ServiceUrls, 'base'>, prefix: string])[] = [
  ['terminal', '/terminal'],
  ['terminalWs', '/terminal'],
  ['webhooks', '/webhooks'],
  ['qr', '/qr'],
  ['checkout', '/pay'],
  ['dashboard', '/dashboard'],
  ['sandbox', '/sandbox'],
]

/**
 * A service that was set to the address of another, set or by default, so that nobody could tell which of them a request is for; undefined
 * where there is none.
 */
export function clashOf(urls: ServiceUrls): readonly [keyof ServiceUrls, keyof ServiceUrls] | undefined {
  const taken = new Map<string, readonly [name: keyof ServiceUrls, prefix: string]>()
  if (urls.base !== null) taken.set(placeOf(urls.base), ['base', ''])
  const isSet = ([name]: (typeof services)[number]) => urls[name] !== null
  // Those that are set come last, for what is named first is what can be changed.
  for (const [name, prefix] of [...services.filter((one) => !isSet(one)), ...services.filter(isSet)]) {
    const url = urls[name] ?? (urls.base === null ? null : `${urls.base}${prefix}`)
    if (url === null) continue
    const there = taken.get(placeOf(url))
    if (there === undefined) taken.set(placeOf(url), [name, prefix])
    else if (there[1] !== prefix) return [name, there[0]]
  }
  return undefined
}

// Sockets and requests of one service share theirs.
function placeOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
