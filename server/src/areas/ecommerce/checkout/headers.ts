import { webAddress } from './addresses.ts'

// A host may hold characters that end a directive.
const plainOrigin = /^https?:\/\/[\w.:[\]-]+$/

/**
 * The content security policy of every payer's page, error pages included: nothing but our own files, no inline script or style,
 * no framing. `redirectUrls`: where a submitted form may end after redirects (browsers hold `form-action` against each hop).
 */
export function checkoutCsp(redirectUrls: readonly string[] = []): string {
  const origins = redirectUrls
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

/** All headers of a payer's page. */
export function pageHeaders(redirectUrls: readonly string[] = []): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': checkoutCsp(redirectUrls),
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
