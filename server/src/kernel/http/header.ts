import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** A header of a request, by its name in small letters. Node makes a list of Set-Cookie alone, which is one of answers. */
export function headerOf({ headers }: { readonly headers: IncomingHttpHeaders }, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? undefined : value
}

/** Authorization as it was sent: Node takes the first of two, and who sends both, or what a proxy on the way goes by, is not for us to guess. */
export const authorizationOf = ({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): string | undefined =>
  headersDistinct.authorization?.join(', ')
