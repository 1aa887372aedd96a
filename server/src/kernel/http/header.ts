import type { IncomingHttpHeaders } from 'node:http'

/** A header of a request, by its name in small letters. Node makes a list of Set-Cookie alone, which is one of answers. */
export function headerOf({ headers }: { readonly headers: IncomingHttpHeaders }, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? undefined : value
}
