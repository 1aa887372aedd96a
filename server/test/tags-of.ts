import assert from 'node:assert/strict'

/** An opening tag. */
export interface Tag {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
}

const voidTags = new Set(['meta', 'link', 'input', 'br', 'hr', 'img', 'wbr'])

/** The tags of a document, read more strictly than a browser would: all closed in order, all values in double quotes. */
export function tagsOf(page: string): Tag[] {
  assert.ok(page.startsWith('<!doctype html>\n'))
  const tags: Tag[] = []
  const open: string[] = []
  let end = '<!doctype html>'.length
  for (const match of page.matchAll(/<(\/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z:-]+(?:="[^"<>]*")?)*)\s*(\/?)>/g)) {
    assert.doesNotMatch(page.slice(end, match.index), /[<>]/)
    end = match.index + match[0].length
    const [, closing, name = '', list = '', selfClosing] = match
    if (closing === '/') {
      assert.equal(open.pop(), name)
      continue
    }
    const pairs = [...list.matchAll(/([a-zA-Z:-]+)(?:="([^"]*)")?/g)].map(
      ([, key = '', value = '']) => [key, value] as const,
    )
    const attributes = new Map(pairs)
    assert.equal(attributes.size, pairs.length, `an attribute twice: ${match[0]}`)
    tags.push({ name, attributes })
    if (selfClosing !== '/' && !voidTags.has(name)) open.push(name)
  }
  assert.deepEqual(open, [])
  assert.equal(page.slice(end).trim(), '')
  return tags
}
