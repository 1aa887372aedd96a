/**
 * A merchant's address that a page may lead to: absolute, http or https. Anything else (`javascript:`, `data:`, a relative path)
 * is undefined and the page leaves the way out: a wrong redirect must not take a payer's receipt away.
 */
export function webAddress(url: string | undefined): URL | undefined {
  const address = url === undefined ? null : URL.parse(url)
  return address !== null && /^https?:$/.test(address.protocol) ? address : undefined
}
