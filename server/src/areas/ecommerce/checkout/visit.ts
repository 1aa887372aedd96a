const name = 'kaha_payment'

/**
 * The `Set-Cookie` by which a browser remembers, for one link and until it is closed, the payment that it made there: its way back
 * leads to the result. The value is the token of the payment's own page, which that browser has in its address bar anyway.
 */
export function rememberPayment(token: string, linkUrl: string): string {
  const { pathname, protocol } = new URL(linkUrl)
  return `${name}=${token}; Path=${pathname}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`
}

/** The token that `rememberPayment` left in a browser, read from the `Cookie` of a request. */
export function rememberedPayment(cookies: string | undefined): string | undefined {
  const pairs = cookies?.split(';').map((pair) => pair.trim().split('=')) ?? []
  return pairs.find(([key]) => key === name)?.[1]
}
