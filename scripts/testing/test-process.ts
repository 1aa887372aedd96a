import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../source.ts'
import { stillOpenExitCode, type ReportLine, type Verdict } from './reporter.ts'

/** What became of one test file, or of the process that several of them shared. */
export interface FileResult {
  /** Its path; those of all files of a process, where nobody can tell which of them it was. */
  readonly file: string
  readonly durationMs: number
  readonly verdicts: readonly Verdict[]
  /** What is wrong with the file as a whole, beside its tests: empty where nothing is. */
  readonly faults: readonly string[]
  /** What its tests told with `t.diagnostic`, and Node itself. */
  readonly notes: readonly string[]
  /** The end of what its process printed. */
  readonly output: string
}

export interface TestProcess {
  /** Runs a file, after the one before it. */
  run(file: string): Promise<FileResult>
  /** It takes no more files: it ended with one. */
  readonly hasEnded: boolean
  /** Lets it end, ends what it left behind, and tells what is wrong with it beside its files, if anything is. */
  end(): Promise<FileResult[]>
}

export interface TestProcessOptions {
  /** The folder of what V8 compiled, for all processes of a run. */
  readonly compiled: string
  /** For each file. */
  readonly durationMsMax: number
  /** The process is that of one file, and of its tests runs those with such names. */
  readonly only?: { readonly file: string; readonly namePattern: string } | undefined
  readonly signal: AbortSignal
}

/** What was told of the file that is under way. */
interface Course {
  readonly verdicts: Verdict[]
  readonly notes: string[]
  /** The test that began last. */
  last: string
  /** The test that stands for the file has ended. */
  readonly ended: PromiseWithResolvers<Verdict>
}

const outputCharactersMax = 20_000
const stopMsMax = 5_000
const reporter = join(import.meta.dirname, 'reporter.ts')
const runnerFile = join(import.meta.dirname, 'one-by-one.ts')

/** Starts a process that runs test files one after another. */
export function startTestProcess({ compiled, durationMsMax, only, signal }: TestProcessOptions): TestProcess {
  const files: string[] = []
  let course: Course = { verdicts: [], notes: [], last: 'none', ended: Promise.withResolvers() }
  let hasFailed = false
  // A pattern would leave out the tests that stand for files.
  const args = only === undefined ? [runnerFile] : [`--test-name-pattern=${only.namePattern}`, only.file]
  const child = spawn(process.execPath, [`--test-reporter=${reporter}`, ...args], {
    cwd: root,
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
    // A process group of its own, so that what its tests started can be found and ended.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const output = outputOf(child)
  child.on('message', (line: ReportLine) => {
    if ('begins' in line) course.last = line.begins
    else if ('note' in line) course.notes.push(line.note)
    else {
      const { outcome, path } = line.verdict
      hasFailed ||= outcome === 'fail' || outcome === 'cancelled'
      if (only !== undefined) course.verdicts.push(line.verdict)
      else if (path.length > 1) course.verdicts.push({ ...line.verdict, path: path.slice(1) })
      else course.ended.resolve(line.verdict)
    }
  })

  const stopping = new AbortController()
  const isOver = over(child, AbortSignal.any([signal, stopping.signal]))
  const faults = isOver.then(async ({ code, by }) => {
    const told: string[] = []
    const isLate = stopping.signal.aborted
    if (isLate) told.push(`took more than ${durationMsMax / 1000} s; the last test that began: ${course.last}`)
    else if (code === stillOpenExitCode) told.push('left something open (the output says what)')
    else if (by !== null) told.push(`was ended by ${by}`)
    else if (code !== 0 && !hasFailed) told.push(`exited with code ${code}`)
    if (await leavesBehind(child, isLate)) told.push('left a process running')
    return told
  })
  let areTold = false
  const limited = async <T>(work: Promise<T>): Promise<T> => {
    const limit = setTimeout(() => stopping.abort(), durationMsMax)
    return work.finally(() => clearTimeout(limit))
  }

  return {
    get hasEnded() {
      return areTold || !child.connected
    },
    async run(file) {
      const started = performance.now()
      files.push(file)
      course = { verdicts: [], notes: [], last: 'none', ended: Promise.withResolvers() }
      if (only === undefined) child.send(file)
      const whole = await limited(Promise.race([course.ended.promise, isOver]))
      const { verdicts, notes } = course
      const result = (wrong: readonly string[]) => ({
        file,
        durationMs: performance.now() - started,
        verdicts,
        faults: wrong.length + verdicts.length === 0 && only === undefined ? ['holds no test'] : wrong,
        notes,
        output: output(),
      })
      if ('path' in whole) return result(whole.error === '' ? [] : [`could not be run: ${whole.error}`])
      areTold = true
      return result(await faults)
    },
    async end() {
      const started = performance.now()
      if (child.connected) child.disconnect()
      const wrong = await limited(faults)
      if (areTold || wrong.length === 0) return []
      const durationMs = performance.now() - started
      return [{ file: files.join(' '), durationMs, verdicts: [], faults: wrong, notes: [], output: output() }]
    },
  }
}

/** Reads what it prints, and gives the end of it. */
function outputOf(child: ChildProcess): () => string {
  let output = ''
  const listen = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-outputCharactersMax)
  }
  child.stdout?.on('data', listen)
  child.stderr?.on('data', listen)
  return () => output
}

interface End {
  readonly code: number | null
  readonly by: NodeJS.Signals | null
}

/** Resolves when it has ended and all that it told was heard; the signal ends it. */
async function over(child: ChildProcess, signal: AbortSignal): Promise<End> {
  let kill: NodeJS.Timeout | undefined
  const stop = (): void => {
    signalGroup(child, 'SIGTERM')
    kill = setTimeout(() => signalGroup(child, 'SIGKILL'), stopMsMax)
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const [[code, by]] = (await Promise.all([once(child, 'exit'), once(child, 'disconnect')])) as [
    [number | null, NodeJS.Signals | null],
    unknown,
  ]
  clearTimeout(kill)
  signal.removeEventListener('abort', stop)
  return { code, by }
}

/** Whether processes were left behind; they are ended. */
async function leavesBehind(child: ChildProcess, isLate: boolean): Promise<boolean> {
  // A process that was just told to stop by its parent may need a moment to be gone.
  if (await groupIsGone(child, isLate ? stopMsMax : 500)) return false
  signalGroup(child, 'SIGKILL')
  return true
}

async function groupIsGone(child: ChildProcess, waitMsMax: number): Promise<boolean> {
  for (const deadline = performance.now() + waitMsMax; ;) {
    if (!signalGroup(child, 0)) return true
    if (performance.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false
  try {
    return process.kill(-child.pid, signal)
  } catch {
    return false
  }
}
