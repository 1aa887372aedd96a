import { chmod, mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Queries } from '../../src/kernel/db.ts'
import { sql } from '../sql.ts'

/** What must not be found, and what to call it in a complaint that does not repeat it. */
export interface Secret {
  readonly name: string
  readonly text: string
}

interface Needle {
  readonly name: string
  readonly bytes: Buffer
}

/** A text as it may stand in a file: plain, and in the encodings that bytes are stored in. */
const formsOf = ({ name, text }: Secret): Needle[] => [
  { name, bytes: Buffer.from(text) },
  { name: `${name} in hex`, bytes: Buffer.from(Buffer.from(text).toString('hex')) },
  { name: `${name} in base64`, bytes: Buffer.from(Buffer.from(text).toString('base64').replace(/=+$/, '')) },
  { name: `${name} in UTF-16`, bytes: Buffer.from(text, 'utf16le') },
]

/** A card number as people write it, too. */
const spellingsOf = (number: string): string[] => [
  number,
  number.replaceAll(/(\d{4})(?=\d)/g, '$1 '),
  number.replaceAll(/(\d{4})(?=\d)/g, '$1-'),
]

/** Looks for many texts at once. */
export interface Search {
  /** The names of what is in these bytes. */
  foundIn(bytes: Uint8Array): string[]
}

const headBytes = 4
const slotOf = (head: number): number => (head ^ (head >>> 16)) & 0xffff

/** One pass over the bytes, however many texts there are: whatever begins like one of them is compared with it. */
export function searchFor(secrets: readonly Secret[], cardNumbers: readonly string[] = []): Search {
  const numbers = cardNumbers.flatMap((number) =>
    spellingsOf(number).map((text) => ({ name: `the card …${number.slice(-4)}`, text })),
  )
  const byHead = new Map<number, Needle[]>()
  const slots = new Uint8Array(0x10000)
  for (const needle of [...secrets, ...numbers].flatMap(formsOf)) {
    const head = needle.bytes.readUInt32LE(0)
    byHead.set(head, [...(byHead.get(head) ?? []), needle])
    slots[slotOf(head)] = 1
  }
  return {
    foundIn(bytes) {
      const found = new Set<string>()
      let head = 0
      for (let end = 0; end < bytes.length; end += 1) {
        head = (head >>> 8) | ((bytes[end] ?? 0) << 24)
        if (slots[slotOf(head)] === 0) continue
        const at = end + 1 - headBytes
        for (const needle of byHead.get(head >>> 0) ?? []) {
          if (needle.bytes.equals(bytes.subarray(at, at + needle.bytes.length))) found.add(needle.name)
        }
      }
      return [...found]
    },
  }
}

/** Every row of every table, as text and as bytes: what COPY writes of it. The server must be on this machine and let us read its files. */
export async function foundInTables(on: Queries, search: Search): Promise<string[]> {
  const tables = await sql<{ place: string }>(
    on,
    `select format('%I.%I', n.nspname, c.relname) as place from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'm', 'S') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_' order by 1`,
  )
  const folder = await mkdtemp(join(tmpdir(), 'kaha-copy-'))
  try {
    await chmod(folder, 0o777)
    const found: string[] = []
    for (const [index, { place }] of tables.entries()) {
      for (const format of ['text', 'binary']) {
        const file = join(folder, `${index}.${format}`)
        await sql(on, `copy (select * from ${place}) to '${file}' (format ${format})`)
        found.push(...search.foundIn(await readFile(file)).map((name) => `${name} in ${place} as ${format}`))
      }
    }
    return found
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Every file below a folder, but for those that are there to hold secrets. */
export async function foundInFiles(folder: string, search: Search, except: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || except.includes(path)) continue
    // A running server takes files away.
    const bytes = await readFile(path).catch(() => Buffer.alloc(0))
    found.push(...search.foundIn(bytes).map((name) => `${name} in ${path.slice(folder.length + 1)}`))
  }
  return found
}
