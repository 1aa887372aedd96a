import { AssertionError } from 'node:assert'
import { writeSync } from 'node:fs'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** What the runner wants to know of one test or suite; in the order of the file. */
export interface Verdict {
  /** The names of the suites and tests around it, and its own. */
  readonly path: readonly string[]
  readonly kind: 'test' | 'suite'
  readonly outcome: 'pass' | 'fail' | 'cancelled' | 'skip' | 'todo'
  readonly line: number | undefined
  /** Why it was skipped, where it says so. */
  readonly reason: string
  /** The whole error of a failure; empty where only tests inside it failed. */
  readonly error: string
}

/** `begins` says which test is running, so that the runner can name it when the file never ends. */
export type ReportLine = { readonly verdict: Verdict } | { readonly begins: string } | { readonly note: string }

/** How long a process may live on after its last test: `after` hooks close what is open within it. */
const lingerMsMax = Number(process.env['KAHA_TEST_LINGER_MS'] ?? 10_000)
export const stillOpenExitCode = 87

/** Runs inside the process of test files, and tells the runner of them. Node asks for a default export. */
export default async function report(events: AsyncIterable<TestEvent>): Promise<void> {
  const tell = (line: ReportLine) => process.connected && process.send?.(line)
  const around: string[] = []
  let open = 0
  let watch: NodeJS.Timeout | undefined
  for await (const event of events) {
    if (event.type === 'test:enqueue') {
      open++
      clearTimeout(watch)
    } else if (event.type === 'test:dequeue') {
      tell({ begins: event.data.name })
    } else if (event.type === 'test:complete' && --open === 0) {
      // Unreferenced: it fires only where something else keeps the process alive.
      watch = setTimeout(tellWhatIsOpen, lingerMsMax).unref()
    } else if (event.type === 'test:start') {
      around.splice(event.data.nesting, around.length, event.data.name)
    } else if (event.type === 'test:pass' || event.type === 'test:fail') {
      tell({ verdict: verdictOf(event, around.slice(0, event.data.nesting)) })
    } else if (
      event.type === 'test:diagnostic' &&
      !/^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /.test(event.data.message)
    ) {
      tell({ note: event.data.message })
    }
  }
}

function tellWhatIsOpen(): void {
  const open = new Map<string, number>()
  // Standard output and error are pipes too, and keep nothing alive.
  for (const kind of process.getActiveResourcesInfo()) open.set(kind, (open.get(kind) ?? 0) + 1)
  const list = [...open]
    .filter(([kind, count]) => kind !== 'PipeWrap' || count > 2)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')
  writeSync(2, `still open after the last test: ${list}\n`)
  process.exit(stillOpenExitCode)
}

type Ended = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

function verdictOf(event: Ended, around: readonly string[]): Verdict {
  const { name, line, skip, todo, details } = event.data
  const failure = event.type === 'test:fail' ? event.data.details.error : undefined
  const failureType = failure && 'failureType' in failure ? String(failure.failureType) : ''
  const outcome = (): Verdict['outcome'] => {
    if (skip !== undefined && skip !== false) return 'skip'
    if (todo !== undefined && todo !== false) return 'todo'
    if (!failure) return 'pass'
    return /^(?:cancelledByParent|testAborted|testTimeoutFailure)$/.test(failureType) ? 'cancelled' : 'fail'
  }
  return {
    path: [...around, name],
    kind: details.type === 'suite' ? 'suite' : 'test',
    outcome: outcome(),
    line,
    reason: typeof skip === 'string' ? skip : '',
    error: failure && failureType !== 'subtestsFailed' ? textOf(failure) : '',
  }
}

function textOf(failure: Error): string {
  const cause = failure.cause instanceof Error ? failure.cause : failure
  // What an assertion compared is in its message already.
  const bare = cause instanceof AssertionError && cause.cause === undefined
  const text = bare
    ? (cause.stack ?? cause.message)
    : inspect(cause, { depth: 8, maxStringLength: 10_000, breakLength: 120 })
  return text.replaceAll(/^ +at .*\bnode:internal\/.*\n?/gm, '').trimEnd()
}
