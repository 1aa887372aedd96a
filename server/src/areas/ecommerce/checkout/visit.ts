const names = { payment: 'kaha_payment', form: 'kaha_form' } as const

/** What a browser remembers of a link: the token of the payment that it made there, and the nonce of the form that it was given last. */
export type Remembered = keyof typeof names

/**
 * The `Set-Cookie` by which a browser remembers something for one link and until it is closed: its way back leads to the result, by the form
 * where the answer to that never came. Both values are in the pages that this browser has anyway.
 */
export function remember(what: Remembered, value: string, linkUrl: string): string {
  const { pathname, protocol } = new URL(linkUrl)
  return `${names[what]}=${value}; Path=${pathname}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`
}

/** What `remember` left in a browser, read from the `Cookie` of a request. */
export function remembered(what: Remembered, cookies: string | undefined): string | undefined {
  const pairs = cookies?.split(';').map((pair) => pair.trim().split('=')) ?? []
  return pairs.find(([key]) => key === names[what])?.[1]
}
