import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addressesOf } from '../../src/addresses.ts'
import { readConfig } from '../../src/config.ts'
import { documentsOf } from '../../src/docs-page.ts'
import { platform } from '../platform.ts'
import { call } from './call.ts'

const root = join(import.meta.dirname, '../../..')
const documents = readdirSync(join(root, 'contract/openapi'))

test('the start page of the documentation leads to every document, names each operation and its address, and no page that is none', async (t) => {
  const p = await platform(t)
  const { text: page } = await call(p.url, { path: '/docs' })
  const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path ?? '')
  for (const path of links) assert.equal((await call(p.url, { path })).status, 200, path)
  const linked = links.filter((path) => path.startsWith('/docs/'))
  const all = [...documents.map((name) => `/docs/openapi/${name}`), '/docs/asyncapi/terminals.json']
  assert.deepEqual(linked.toSorted(), all.toSorted())

  const { addresses } = p.kaha
  for (const name of documents) {
    const { json: document } = await call(p.url, { path: `/docs/openapi/${name}` })
    for (const { summary } of Object.values<object>(document.paths).flatMap(Object.values))
      assert.ok(page.includes(`>${summary.replaceAll("'", '&#39;')}<`), summary)
  }
  assert.ok(page.includes(`<code>${addresses.terminal}</code>`) && page.includes('<code>POST /v1/pay/qr</code>'))

  const files = [...page.matchAll(/<code>([\w/-]+\.md)<\/code>/g)].map(([, file]) => file ?? '')
  assert.ok(files.length > 5)
  for (const file of files) assert.ok(existsSync(join(root, file)), file)
})

test('a live installation has no document of what only a sandbox has, and one without a bank none of the QR service', () => {
  const names = documents.map((name) => name.slice(0, -'.json'.length))
  const without = (...left: string[]) => names.filter((name) => !left.includes(name)).toSorted()
  const addresses = addressesOf(readConfig({}))
  const shown = (qr: boolean) => documentsOf(addresses, { sandbox: false, qr }).toSorted()
  assert.deepEqual(shown(true), without('sandbox'))
  assert.deepEqual(shown(false), without('sandbox', 'qr', 'qr_webhooks'))
})
