import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Addresses } from './addresses.ts'

/** An OpenAPI document, as far as the server looks into it. */
export interface OpenApi {
  readonly servers: readonly Server[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>
}

interface Server {
  readonly url: string
  readonly variables: Readonly<Record<string, { readonly default: string }>>
}

/** An AsyncAPI document, likewise. */
interface AsyncApi {
  readonly servers: { readonly installation: SocketServer }
}

interface SocketServer {
  readonly host: string
  readonly pathname?: string
  readonly protocol: string
}

const read = (path: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../contract', path), 'utf8'))

/** The OpenAPI document of this name, with the addresses that an installation has where none is set. */
export const readOpenApi = (name: string): OpenApi => read(`openapi/${name}.json`) as OpenApi

/** The AsyncAPI document of the terminals' sockets, likewise. */
export const readSockets = (): AsyncApi => read('asyncapi/terminals.json') as AsyncApi

/** The addresses, by the variables that stand for them in the documents. */
const byVariable = (addresses: Addresses): Readonly<Record<string, string>> => ({
  base_url: addresses.base,
  terminal_url: addresses.terminal,
  webhooks_url: addresses.webhooks,
  qr_url: addresses.qr,
  sandbox_url: addresses.sandbox,
})

/** The document with the addresses of this installation, under which its paths are answered. */
export function openApiAt(addresses: Addresses, document: OpenApi): OpenApi {
  const known = byVariable(addresses)
  const filled = ({ url, variables }: Server): Server => ({
    url,
    variables: Object.fromEntries(
      Object.entries(variables).map(([name, variable]) => [
        name,
        { ...variable, default: known[name] ?? variable.default },
      ]),
    ),
  })
  return { ...document, servers: document.servers.map(filled) }
}

/** The document with the address of this installation's sockets, under which its channel lies. */
export function socketsAt(addresses: Addresses, document: AsyncApi): AsyncApi {
  const { host, pathname, protocol } = new URL(addresses.terminalWs)
  const installation = {
    ...document.servers.installation,
    host,
    // The channel's address begins with a slash.
    pathname: pathname.replace(/\/$/, ''),
    protocol: protocol.replace(':', ''),
  }
  return { ...document, servers: { installation } }
}
