import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillTables } from './doc-pages.ts'

const page = (text: string) => new Map([['docs/a.md', text]])
const place = (name: string, inside = '') => `<!-- generated:${name} -->\n${inside}<!-- /generated -->`

test('a marked place holds its table, whatever stood there, and the rest of the page stays', async () => {
  const text = `# A\n\n${place('one', 'old\n')}\n\nwords\n\n${place('two')}\n`
  const filled = await fillTables(page(text), { one: () => '1', two: async () => '2' })
  assert.equal(filled.get('docs/a.md'), `# A\n\n${place('one', '\n1\n\n')}\n\nwords\n\n${place('two', '\n2\n\n')}\n`)
})

test('a page without marked places is left alone', async () => {
  assert.deepEqual(await fillTables(page('words'), {}), new Map())
})

test('a name that no table has, a table that no page shows, and a place without an end are refused', async () => {
  await assert.rejects(fillTables(page(place('none')), {}), /docs\/a\.md wants the table none/)
  await assert.rejects(fillTables(page('words'), { idle: () => '' }), /no page of docs\/ shows idle/)
  await assert.rejects(fillTables(page('<!-- generated:one -->\nwords'), { one: () => '' }), /without an end/)
})
