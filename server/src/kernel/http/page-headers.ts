import { webAddress } from '../web-address.ts'

// A host may hold characters that end a directive.
const plainOrigin = /^https?:\/\/[\w.:[\]-]+$/

/**
 * The content security policy of every page that a payer sees, error pages included: nothing but our own files, no inline script or
 * style, no framing. `formEnds`: where a submitted form may end after redirects (browsers hold `form-action` against each hop).
 */
export function pageCsp(formEnds: readonly string[] = []): string {
  const origins = formEnds
    .map((url) => webAddress(url)?.origin)
    .filter((origin) => origin !== undefined && plainOrigin.test(origin))
  return [
    `default-src 'none'`,
    `style-src 'self'`,
    `script-src 'self'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `form-action ${["'self'", ...new Set(origins)].join(' ')}`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
}

/** All headers of a page that a payer sees. */
export function pageHeaders(formEnds: readonly string[] = []): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': pageCsp(formEnds),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-robots-tag': 'noindex',
  }
}

/** Of some addresses, those that a page at `own` cannot reach as its own origin. */
export const elsewhere = (own: string, urls: readonly string[]): readonly string[] =>
  urls.filter((url) => webAddress(url)?.origin !== webAddress(own)?.origin)
