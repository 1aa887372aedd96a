import { listFiles, readFiles, scan, type Texts } from './source.ts'

/** As in `server/test/conformance/rules.ts`: what the contract promises, and the capability that a rule still waits for. */
export type Rules = Readonly<Record<string, { readonly says: string; readonly pending?: string }>>

const id = String.raw`[A-Z]\d(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+`
const opening = new RegExp(String.raw`^\[?((?:${id}[,\s]*)+)(?:[\]:]|$)`)

/**
 * The rules that test files name: a string that begins with one or more ids, as in `C4.confirm.link-full: a link that is full …`
 * or `[C4.a.b, C4.a.c] …`. In a table of cases the id stands as a string of its own: one that is put together when the test runs
 * is not seen.
 */
function namedRules(tests: Texts): Map<string, string> {
  const found = new Map<string, string>()
  for (const [path, text] of tests) {
    for (const literal of scan(text).literals) {
      const ids = opening.exec(literal.text)?.[1]?.match(new RegExp(id, 'g')) ?? []
      for (const rule of ids) if (!found.has(rule)) found.set(rule, path)
    }
  }
  return found
}

/** What is wrong between rules and tests, a sentence each. */
export function ruleFaults(rules: Rules, tests: Texts): string[] {
  const named = namedRules(tests)
  const unknown = [...named].filter(([rule]) => !Object.hasOwn(rules, rule))
  const known = Object.entries(rules)
  return [
    ...known
      .filter(([rule, { pending }]) => !pending && !named.has(rule))
      .map(([rule, { says }]) => `${rule} has no test: ${says}`),
    ...known.flatMap(([rule, { pending }]) =>
      pending && named.has(rule)
        ? `${rule} waits for ${pending}, but ${named.get(rule)} tests it: it is pending no longer`
        : [],
    ),
    ...unknown.map(([rule, path]) => `${path} names ${rule}, which is no rule`),
  ]
}

/** The files whose strings may name rules: tests and their tables, without the rules themselves. */
export function ruleTests(): Texts {
  const paths = listFiles(['contract', 'qrph', 'server', 'sdk', 'cli'], ['.ts'])
  const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.startsWith('server/test/')
  return readFiles(paths.filter((path) => isTest(path) && !path.startsWith('server/test/conformance/rules')))
}
