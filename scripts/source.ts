import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the whole repository. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** A text by its path from the root, with forward slashes. */
export type Texts = ReadonlyMap<string, string>

/** One string or template of a source text: what it says (its `${…}` left out), and where its opening quote stands. */
export interface Literal {
  readonly text: string
  readonly at: number
}

/** A source text seen as code: comments and the insides of strings are blanks, so that every place keeps its number. */
export interface Scanned {
  readonly code: string
  readonly literals: readonly Literal[]
}

/** Every file below the folders whose name ends in one of the endings, sorted, as paths from the root. */
export function listFiles(folders: readonly string[], endings: readonly string[]): string[] {
  const found: string[] = []
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name === 'node_modules' || entry.name.startsWith('.')) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) visit(path)
      else if (endings.some((ending) => entry.name.endsWith(ending)))
        found.push(relative(root, path).split(sep).join('/'))
    }
  }
  for (const folder of folders) visit(join(root, folder))
  return found.toSorted()
}

/** The texts of those files. */
export function readFiles(paths: readonly string[]): Texts {
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

/** What a module imports, types included, in the order of the text: relative paths and package names as they are written. */
export function importsOf({ code, literals }: Scanned): string[] {
  const at = new Map(literals.map((literal) => [literal.at, literal.text]))
  const places = /\b(?:import|export)\b[^;'"`]*?\bfrom\s*(?=['"])|\bimport\s*\(?\s*(?=['"`])/g
  return [...code.matchAll(places)].flatMap((match) => at.get(match.index + match[0].length) ?? [])
}

/**
 * Tells code, comments and strings apart without a parser: TypeScript 7 has no compiler interface to ask.
 * A slash is taken for a regular expression where a value may begin.
 */
export function scan(text: string): Scanned {
  const code = text.replaceAll(/[^\n]/g, ' ').split('')
  const literals: Literal[] = []
  // Each open template waits here for the brace that ends its `${`; `depth` counts the braces since.
  const templates: { literal: { text: string; at: number }; depth: number }[] = []
  let i = 0
  let last = ''

  const keep = (length = 1): void => {
    for (const end = i + length; i < end; i++) code[i] = text[i] ?? ''
  }
  const template = (literal: { text: string; at: number }): void => {
    while (i < text.length && text[i] !== '`') {
      if (text.startsWith('${', i)) {
        templates.push({ literal, depth: 0 })
        keep(2)
        last = '{'
        return
      }
      const length = text[i] === '\\' ? 2 : 1
      literal.text += text.slice(i, i + length)
      i += length
    }
    keep()
    literals.push(literal)
    last = '`'
  }

  while (i < text.length) {
    const character = text[i] ?? ''
    const open = templates.at(-1)
    if (text.startsWith('//', i)) i = endOf(text, '\n', i)
    else if (text.startsWith('/*', i)) i = endOf(text, '*/', i + 2) + 2
    else if (character === "'" || character === '"') {
      const end = endOfString(text, i)
      literals.push({ text: text.slice(i + 1, end), at: i })
      keep()
      i = end
      keep()
      last = character
    } else if (character === '`') {
      const at = i
      keep()
      template({ text: '', at })
    } else if (character === '/' && startsExpression(last)) {
      keep()
      i = endOfExpression(text, i)
      keep()
      last = '/'
    } else if (open && character === '}' && open.depth === 0) {
      templates.pop()
      keep()
      template(open.literal)
    } else {
      if (open && character === '{') open.depth++
      if (open && character === '}') open.depth--
      if (/\w/.test(character)) last = /\w/.test(text[i - 1] ?? '') ? last + character : character
      else if (character.trim()) last = character
      keep()
    }
  }
  return { code: code.join(''), literals: literals.toSorted((a, b) => a.at - b.at) }
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from)
  return end === -1 ? text.length : end
}

function endOfString(text: string, start: number): number {
  let i = start + 1
  while (i < text.length && text[i] !== text[start] && text[i] !== '\n') i += text[i] === '\\' ? 2 : 1
  return i
}

function startsExpression(last: string): boolean {
  return (
    last === '' ||
    /^[([{,;:=!&|?+\-*%<>~^}]$/.test(last) ||
    /^(?:return|typeof|case|in|of|await|yield|void)$/.test(last)
  )
}

function endOfExpression(text: string, start: number): number {
  let i = start + 1
  for (let inClass = false; i < text.length && text[i] !== '\n' && (inClass || text[i] !== '/'); i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '[') inClass = true
    else if (text[i] === ']') inClass = false
  }
  return i
}
