import type { Texts } from './source.ts'

const places = /(<!-- generated:([\w-]+) -->\n)[^]*?(<!-- \/generated -->)/g
const openings = /<!-- generated:/g

/** The pages with each marked place filled by the table of its name. Throws for a name that no table or page has, and for a place without an end. */
export async function fillTables(
  pages: Texts,
  tables: Readonly<Record<string, () => string | Promise<string>>>,
): Promise<Texts> {
  const filled = new Map<string, string>()
  const used = new Set<string>()
  for (const [path, text] of pages) {
    const found = [...text.matchAll(places)]
    if (found.length !== (text.match(openings) ?? []).length)
      throw new Error(`${path} has a generated place without an end`)
    const parts: string[] = []
    let from = 0
    for (const place of found) {
      const [whole, begin = '', name = '', end = ''] = place
      const table = tables[name]
      if (!table) throw new Error(`${path} wants the table ${name}: scripts/doc-tables.ts has none of that name`)
      parts.push(text.slice(from, place.index), `${begin}\n${await table()}\n\n${end}`)
      used.add(name)
      from = place.index + whole.length
    }
    if (found.length > 0) filled.set(path, parts.join('') + text.slice(from))
  }
  const unused = Object.keys(tables).filter((name) => !used.has(name))
  if (unused.length > 0)
    throw new Error(`no page of docs/ shows ${unused.join(', ')}: remove it from scripts/doc-tables.ts`)
  return filled
}
