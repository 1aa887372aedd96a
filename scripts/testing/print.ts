import { styleText } from 'node:util'
import type { Verdict } from './reporter.ts'
import type { FileResult } from './test-process.ts'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '    ')
const isTest = ({ kind }: Verdict): boolean => kind === 'test'
const isBad = ({ outcome, kind }: Verdict): boolean =>
  kind === 'test' && (outcome === 'fail' || outcome === 'cancelled')

/** Whether anything in the file failed. */
export function hasFailed({ verdicts, faults }: FileResult): boolean {
  return faults.length > 0 || verdicts.some(({ outcome }) => outcome === 'fail' || outcome === 'cancelled')
}

/** One line for a file, and every failure of it in full. */
export function textOfFile(result: FileResult): string {
  const { file, durationMs, verdicts, faults, notes, output } = result
  const failed = hasFailed(result)
  const mark = failed ? styleText('red', 'FAIL') : styleText('green', 'ok  ')
  const count = verdicts.filter(isTest).length
  const lines = [`${mark} ${seconds(durationMs).padStart(7)} ${String(count).padStart(5)}  ${file}`]
  if (!failed) return lines.join('\n')
  for (const fault of faults) lines.push(indent(styleText('red', `${file} ${fault}`)))
  for (const { path, line, error, outcome } of verdicts) {
    if ((outcome !== 'fail' && outcome !== 'cancelled') || error === '') continue
    lines.push('', indent(`${styleText('red', path.join(' > '))} (${file}:${line ?? 1})`), indent(error))
  }
  if (notes.length > 0) lines.push('', indent(notes.map((note) => `note: ${note}`).join('\n')))
  if (output.trim()) lines.push('', indent('It printed:'), indent(output.trimEnd()))
  return [...lines, ''].join('\n')
}

/** What was left out, by part, with its reason. A skipped test says `part: reason`. */
export function leftOut(results: readonly FileResult[]): Map<string, number> {
  const parts = new Map<string, number>()
  for (const { file, verdicts } of results) {
    for (const { outcome, reason, path } of verdicts) {
      if (outcome !== 'skip') continue
      const part = reason || `${path.join(' > ')} (${file}): it does not say why`
      parts.set(part, (parts.get(part) ?? 0) + 1)
    }
  }
  return parts
}

/** The totals in the words of Node's own reporter. A file that failed as a whole counts as one test. */
export function totals(results: readonly FileResult[], durationMs: number): string {
  const verdicts = results.flatMap((result) => result.verdicts)
  const tests = verdicts.filter(isTest)
  const count = (outcome: Verdict['outcome']): number => tests.filter((verdict) => verdict.outcome === outcome).length
  const faulty = results.filter(
    ({ faults, verdicts: own }) => faults.length > 0 || (own.some(isBadSuite) && !own.some(isBad)),
  ).length
  return [
    `# tests ${tests.length + faulty}`,
    `# suites ${verdicts.length - tests.length}`,
    `# pass ${count('pass')}`,
    `# fail ${count('fail') + faulty}`,
    `# cancelled ${count('cancelled')}`,
    `# skipped ${count('skip')}`,
    `# todo ${count('todo')}`,
    `# duration_ms ${Math.round(durationMs)}`,
  ].join('\n')
}

/** A suite may fail in a hook of its own, with no failing test inside. */
function isBadSuite({ kind, outcome }: Verdict): boolean {
  return kind === 'suite' && (outcome === 'fail' || outcome === 'cancelled')
}
