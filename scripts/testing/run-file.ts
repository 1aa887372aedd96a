import { spawn, type ChildProcess } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../source.ts'
import { stillOpenExitCode, type ReportLine, type Verdict } from './reporter.ts'

/** What became of one test file. */
export interface FileResult {
  readonly file: string
  readonly durationMs: number
  readonly verdicts: readonly Verdict[]
  /** What is wrong with the file as a whole, beside its tests: empty where nothing is. */
  readonly faults: readonly string[]
  /** What its tests told with `t.diagnostic`, and Node itself. */
  readonly notes: readonly string[]
  /** The end of what it printed. */
  readonly output: string
}

export interface RunFileOptions {
  /** A folder for the reports of this run. */
  readonly scratch: string
  readonly durationMsMax: number
  readonly namePattern?: string | undefined
  readonly signal: AbortSignal
}

const outputCharactersMax = 20_000
const stopMsMax = 5_000
const reporter = join(import.meta.dirname, 'reporter.ts')

/** Runs one test file in a process of its own, and ends whatever it leaves behind. */
export async function runFile(file: string, options: RunFileOptions): Promise<FileResult> {
  const started = performance.now()
  const reportPath = join(options.scratch, file.replaceAll(/\W/g, '_'))
  const args = [`--test-reporter=${reporter}`, `--test-reporter-destination=${reportPath}`]
  if (options.namePattern !== undefined) args.push(`--test-name-pattern=${options.namePattern}`)
  // A process group of its own, so that what its tests started can be found and ended.
  const child = spawn(process.execPath, [...args, file], {
    cwd: root,
    // Compiled once for all files of the run.
    env: { ...process.env, NODE_COMPILE_CACHE: join(options.scratch, 'compiled') },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const listen = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-outputCharactersMax)
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)

  const end = await ended(child, options)
  const leftBehind = await stopGroup(child, end.overtime)
  const lines = await reportOf(reportPath)
  const verdicts = lines.flatMap((line) => ('verdict' in line ? line.verdict : []))
  const begun = lines.flatMap((line) => ('begins' in line ? line.begins : []))
  const faults = faultsOf({ ...end, leftBehind, verdicts, durationMsMax: options.durationMsMax, last: begun.at(-1) })
  const hasNone = verdicts.length === 0 && faults.length === 0 && options.namePattern === undefined
  return {
    file,
    durationMs: performance.now() - started,
    verdicts,
    faults: hasNone ? ['holds no test'] : faults,
    notes: lines.flatMap((line) => ('note' in line ? line.note : [])),
    output,
  }
}

interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly overtime: boolean
}

function ended(child: ChildProcess, { durationMsMax, signal }: RunFileOptions): Promise<End> {
  return new Promise((resolve, reject) => {
    let overtime = false
    let kill: NodeJS.Timeout | undefined
    const stop = (): void => {
      signalGroup(child, 'SIGTERM')
      kill ??= setTimeout(() => signalGroup(child, 'SIGKILL'), stopMsMax)
    }
    const limit = setTimeout(() => {
      overtime = true
      stop()
    }, durationMsMax)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    child.once('error', reject)
    child.once('exit', (code, by) => {
      clearTimeout(limit)
      clearTimeout(kill)
      signal.removeEventListener('abort', stop)
      resolve({ code, signal: by, overtime })
    })
  })
}

/** Whether processes were left behind; they are ended. */
async function stopGroup(child: ChildProcess, overtime: boolean): Promise<boolean> {
  // A process that was just told to stop by its parent may need a moment to be gone.
  if (await groupIsGone(child, overtime ? stopMsMax : 500)) return false
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

async function reportOf(path: string): Promise<ReportLine[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  await rm(path, { force: true })
  // The last line of a process that was ended may be half a line.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole.split('\n').flatMap((line) => (line ? (JSON.parse(line) as ReportLine) : []))
}

interface Ending extends End {
  readonly leftBehind: boolean
  readonly verdicts: readonly Verdict[]
  readonly durationMsMax: number
  readonly last: string | undefined
}

function faultsOf({ code, signal, overtime, leftBehind, verdicts, durationMsMax, last }: Ending): string[] {
  const faults: string[] = []
  const failed = verdicts.some(({ outcome }) => outcome === 'fail' || outcome === 'cancelled')
  if (overtime) faults.push(`took more than ${durationMsMax / 1000} s; the last test that began: ${last ?? 'none'}`)
  else if (code === stillOpenExitCode) faults.push('left something open (the output says what)')
  else if (signal) faults.push(`was ended by ${signal}`)
  else if (code !== 0 && !failed) faults.push(`exited with code ${code}`)
  if (leftBehind) faults.push('left a process running')
  return faults
}
