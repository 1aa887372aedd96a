import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addressesOf } from '../../src/addresses.ts'
import { readConfig } from '../../src/config.ts'
import { documentsOf } from '../../src/docs-page.ts'
import { guideFiles, guidePath } from '../../src/guides.ts'
import { platform } from '../platform.ts'
import { call } from './call.ts'

const root = join(import.meta.dirname, '../../..')
const documents = readdirSync(join(root, 'contract/openapi'))

test('the start page of the documentation leads to every document, to every page, and names each operation and its address', async (t) => {
  const p = await platform(t)
  const { text: page } = await call(p.url, { path: '/docs' })
  const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path ?? '')
  for (const path of links) assert.equal((await call(p.url, { path })).status, 200, path)
  const linked = links.filter((path) => path.startsWith('/docs/') && path.endsWith('.json'))
  const all = [...documents.map((name) => `/docs/openapi/${name}`), '/docs/asyncapi/terminals.json']
  assert.deepEqual(linked.toSorted(), all.toSorted())
  for (const file of guideFiles)
    assert.ok(
      links.some((path) => path.split('#')[0] === guidePath(file)),
      file,
    )

  const { addresses } = p.kaha
  for (const name of documents) {
    const { json: document } = await call(p.url, { path: `/docs/openapi/${name}` })
    for (const { summary } of Object.values<object>(document.paths).flatMap(Object.values))
      assert.ok(page.includes(`>${summary.replaceAll("'", '&#39;')}<`), summary)
  }
  assert.ok(page.includes(`<code>${addresses.terminal}</code>`) && page.includes('<code>POST /v1/pay/qr</code>'))
})

test('a page of the documentation is in the browser what its file is, and each link within them leads to its heading', async (t) => {
  const p = await platform(t)
  const shown = new Map<string, string>()
  for (const file of guideFiles) {
    const { status, text, headers } = await call(p.url, { path: guidePath(file) })
    assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'])
    shown.set(guidePath(file), text)
    const markdown = readFileSync(join(root, file), 'utf8')
    const code = /^```.*?^```|(?:^ {4}[^\n]*\n\n?)+/gms
    const prose = markdown.replaceAll(code, '')
    const title = /^# (.*)$/m.exec(prose)?.[1] ?? file
    assert.ok(text.includes(`<title>${title}</title>`) && text.includes(`<h1>${title}</h1>`), file)
    assert.equal(countOf(text, /<h[23] id="[^"]+">/g), countOf(prose, /^###? /gm), file)
    assert.equal(countOf(text, /<pre>/g), countOf(markdown, code), file)
    assert.equal(countOf(text, /<tr>/g), countOf(prose, /^\|(?! -)/gm), file)
    assert.doesNotMatch(text, /<!-- |generated:|style=/, file)
    // Marks that make no comment would be lost.
    assert.deepEqual(prose.replaceAll(/`[^`]*`/g, '').match(/<(?!!-- \/?generated)[a-z/!].*/gi) ?? [], [], file)
  }
  const start = await call(p.url, { path: '/docs' })
  for (const [from, text] of [...shown, ['/docs', start.text]] as const) {
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    assert.equal(new Set(ids).size, ids.length, `${from}: an id is there twice`)
    for (const [, href = ''] of text.matchAll(/href="(?!https?:)([^"]*)"/g)) {
      const [path = '', anchor] = href.split('#')
      const to = path === '' ? text : shown.get(path)
      if (anchor !== undefined) assert.ok(to?.includes(` id="${anchor}"`), `${from}: ${href}`)
      else if (to === undefined) assert.equal((await call(p.url, { path })).status, 200, `${from}: ${href}`)
    }
  }
})

const countOf = (text: string, what: RegExp): number => [...text.matchAll(what)].length

test('a live installation has no document of what only a sandbox has, and one without a bank none of the QR service', () => {
  const names = documents.map((name) => name.slice(0, -'.json'.length))
  const without = (...left: string[]) => names.filter((name) => !left.includes(name)).toSorted()
  const addresses = addressesOf(readConfig({}))
  const shown = (qr: boolean) => documentsOf(addresses, { sandbox: false, qr }).toSorted()
  assert.deepEqual(shown(true), without('sandbox'))
  assert.deepEqual(shown(false), without('sandbox', 'qr', 'qr_webhooks'))
})
