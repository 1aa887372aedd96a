import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Renderer, Tokens } from 'marked'
import { html, htmlString, raw, type HtmlText } from './kernel/html.ts'

/** The pages of the documentation that are read in the browser too, as files of Kaha's folder. */
export const guideFiles = [
  'README.md',
  'docs/webhooks.md',
  'docs/terminals.md',
  'docs/qr-ph.md',
  'docs/interface.md',
  'docs/glossary.md',
  'docs/operating.md',
  'docs/security.md',
] as const

export type GuideFile = (typeof guideFiles)[number]

/** A page of the documentation, for the browser. */
export interface Guide {
  readonly title: string
  readonly body: HtmlText
}

/** Where a page is read: `/docs/webhooks` for `docs/webhooks.md`. */
export const guidePath = (file: GuideFile): string => `/docs/${basename(file, '.md').toLowerCase()}`

const root = join(import.meta.dirname, '../..')

/** Reads a page and makes it markup. Its headings have the ids that links of the pages name, and what is too wide scrolls by itself. */
export async function readGuide(file: GuideFile): Promise<Guide> {
  // A start need not wait for what reads Markdown, and most processes never do.
  const { Marked, Renderer } = await import('marked')
  const marked = new Marked()
  const [first, ...rest] = marked.lexer(await readFile(join(root, file), 'utf8'))
  if (first?.type !== 'heading') throw new TypeError(`${file} does not begin with its title`)
  const headings = rest.filter((token) => token.type === 'heading') as Tokens.Heading[]
  const ids = idsOf(headings)
  marked.setOptions({ renderer: fitted(new Renderer(), file, ids) })
  const parts = headings.filter(({ depth }) => depth === 2)
  return {
    title: (first as Tokens.Heading).text,
    body: html`<nav class="contents" aria-label="On this page"><ul>${parts.map(
      (part) => html`<li><a href="#${ids.get(part)}">${part.text}</a></li>`,
    )}</ul></nav>
<article class="guide">${raw(marked.parser(rest))}</article>`,
  }
}

/** Ids as GitHub makes them of the headings' texts; of equal ones each but the first has its number behind it. */
function idsOf(headings: readonly Tokens.Heading[]): ReadonlyMap<Tokens.Heading, string> {
  const times = new Map<string, number>()
  return new Map(
    headings.map((heading) => {
      const id = heading.text
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-')
      const before = times.get(id) ?? 0
      times.set(id, before + 1)
      return [heading, before === 0 ? id : `${id}-${before}`]
    }),
  )
}

/** The renderer with what these pages need otherwise. */
function fitted(renderer: Renderer, file: GuideFile, ids: ReadonlyMap<Tokens.Heading, string>): Renderer {
  const { table, code } = renderer
  // Who has no mouse scrolls what has the focus.
  const scrolling = (markup: string) => htmlString(html`<div class="wide" tabindex="0">${raw(markup)}</div>`)
  renderer.table = (token) => scrolling(table.call(renderer, token))
  renderer.code = (token) => scrolling(code.call(renderer, token))
  renderer.heading = (heading) => {
    const { depth, tokens } = heading
    return `<h${depth} id="${ids.get(heading) ?? ''}">${renderer.parser.parseInline(tokens)}</h${depth}>\n`
  }
  renderer.link = ({ href, tokens }) => {
    const text = raw(renderer.parser.parseInline(tokens))
    const target = targetOf(href, file)
    return htmlString(target === undefined ? text : html`<a href="${target}">${text}</a>`)
  }
  // The marks around generated tables.
  renderer.html = () => ''
  return renderer
}

/** Where a link of a page leads in the browser. Undefined: to a file that is not read there. */
function targetOf(href: string, file: GuideFile): string | undefined {
  if (/^(https:|#)/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const guide = guideFiles.find((one) => one === join(dirname(file), path))
  if (guide === undefined) return undefined
  return `${guidePath(guide)}${anchor === undefined ? '' : `#${anchor}`}`
}
