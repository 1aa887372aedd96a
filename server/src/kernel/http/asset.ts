import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'

/** A file that pages load, read once at start. Its path names its content, so a browser may keep it for ever. */
export interface Asset {
  readonly path: string
  readonly contentType: string
  readonly bytes: Buffer
  /** For the `integrity` attribute (Subresource Integrity), so that a page never runs a script that it was not made for. */
  readonly integrity: string
  readonly headers: Readonly<Record<string, string>>
}

/** Reads a style sheet: what all pages have in common, and then its parts. */
export const readStylesheet = (beside: string, file: string, parts: readonly string[] = [file]): Asset =>
  readAsset(beside, file, 'text/css; charset=utf-8', [new URL('page.css', import.meta.url).href, ...parts])

// None of ours has a text over several lines that these would take a part of.
const ownLineComment = /^\s*(?:\/\/.*|\/\*[^]*?\*\/)\n/gm
const indentation = /^\s+/gm

/** Reads an asset that is made of `parts`, which lie beside the module at `beside`. Comments on lines of their own and indentation stay there. */
export function readAsset(beside: string, file: string, contentType: string, parts: readonly string[] = [file]): Asset {
  const text = parts.map((part) => readFileSync(new URL(part, beside), 'utf8')).join('')
  const bytes = Buffer.from(text.replaceAll(ownLineComment, '').replaceAll(indentation, ''))
  const digest = createHash('sha256').update(bytes).digest()
  const [name, extension] = file.split('.')
  return {
    path: `/assets/${name}.${digest.toString('hex').slice(0, 16)}.${extension}`,
    contentType,
    bytes,
    integrity: `sha256-${digest.toString('base64')}`,
    headers: {
      'content-type': contentType,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    },
  }
}

/** Serves an asset under each of these prefixes. With a host name of its own, every path of a part stands under the part's prefix. */
export function serveAsset(app: FastifyInstance, asset: Asset, operationId: string, prefixes: readonly string[]): void {
  for (const prefix of prefixes) {
    app.get(`${prefix}${asset.path}`, { config: { operationId } }, async (_request, reply) =>
      reply.headers(asset.headers).send(asset.bytes),
    )
  }
}
