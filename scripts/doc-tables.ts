import { rules } from '../server/test/conformance/rules.ts'

/**
 * Tables that pages of `docs/` show and the code knows. A page holds `<!-- generated:NAME -->` and `<!-- /generated -->`; what stands
 * between them is what the function NAME gives.
 */
export const docTables: Readonly<Record<string, () => string | Promise<string>>> = {
  'rules-everywhere': () => rulesOf('X0'),
  'rules-identity': () => rulesOf('I1'),
  'rules-A': () => rulesOf('A2'),
  'rules-C': () => rulesOf('C4'),
  'rules-sandbox': () => rulesOf('S7'),
}

/** The rules of one area that the platform keeps today. */
function rulesOf(area: string): string {
  const kept = Object.entries(rules).filter(([id, { pending }]) => id.startsWith(`${area}.`) && pending === undefined)
  return table(
    ['Rule', 'Id'],
    kept.map(([id, { says }]) => [says, `\`${id}\``]),
  )
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
