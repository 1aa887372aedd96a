// Installs what package-lock.json lists and node_modules lacks, and removes nothing that another process may be using.
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const beat_ms = 1_000
const silence_ms_max = 15_000
/** npm says the cause first, and then may print its whole manual. */
const saidLinesMax = 30

/** A reason not to go on, in words for a person. */
export class InstallFault extends Error {
  name = 'InstallFault'
  exitCode = 1
}

/**
 * Brings node_modules to hold what the lockfile lists: `production` leaves development dependencies out, `everything` does not.
 * Costs a few milliseconds where nothing is missing. Several processes may call it at once; one installs, the others wait.
 * @param {{ root: string, needs: 'production' | 'everything', say: (line: string) => void }} options
 */
export async function install({ root, needs, say }) {
  if (!missing(root, needs)) return
  const lock = await takeLock(join(root, '.installing'), say)
  try {
    const found = missing(root, needs)
    if (!found) return
    // npm ci empties node_modules first: right only where nothing whole is in there.
    const fresh = !found.installed || lock.wasAbandoned
    const everything = needs === 'everything' || (!fresh && found.hasDevelopment)
    say(fresh ? 'Installing the packages (once, about a minute)…' : 'Installing the packages that changed…')
    await npm(root, fresh ? ['ci'] : ['install', '--no-save'], everything)
    stamp(root, everything ? 'everything' : 'production')
  } finally {
    lock.release()
  }
}

/** Optional packages are mostly for other machines: one that is not there matters only where it says that this machine is its own. */
function isThere(listed, found) {
  if (found) return found.version === listed.version && found.link === listed.link
  const names = (allowed, own) => [allowed].flat().includes(own)
  const forHere = names(listed.os, process.platform) && names(listed.cpu, process.arch) && !listed.libc
  return Boolean(listed.optional) && !forHere
}

const stampPath = (root) => join(root, 'node_modules', '.kaha-installed.json')
const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
/** npm's own record of what it put into node_modules, written last. */
const recordOf = (root) => read(join(root, 'node_modules', '.package-lock.json'))

/** Undefined where all that is needed is there; otherwise what an installation must know. */
function missing(root, needs) {
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const record = recordOf(root)
  const last = parse(read(stampPath(root)))
  const same = last?.lockfile === sha256(lockText) && last?.record === sha256(record)
  if (same && (last.holds === 'everything' || last.holds === needs)) return undefined

  const there = parse(record)?.packages ?? {}
  const listed = Object.entries(parse(lockText).packages).filter(([path]) => path.includes('node_modules/'))
  const holds = (kind) =>
    listed.every(([path, entry]) => (entry.dev && kind === 'production') || isThere(entry, there[path]))
  // Somebody ran npm by hand, or the lockfile changed in a way that does not matter here.
  if (record && holds(needs)) {
    stamp(root, holds('everything') ? 'everything' : 'production')
    return undefined
  }
  return { installed: record !== '', hasDevelopment: Object.values(there).some(({ dev }) => dev) }
}

/** Where node_modules belongs to somebody else, the next start compares again, and that is all. */
function stamp(root, holds) {
  const lockfile = sha256(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  try {
    writeFileSync(stampPath(root), `${JSON.stringify({ lockfile, record: sha256(recordOf(root)), holds })}\n`)
  } catch (error) {
    if (error.code !== 'EACCES' && error.code !== 'EROFS') throw error
  }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Runs npm quietly; what it says is shown only when it fails. */
async function npm(root, command, everything) {
  const args = [...command, everything ? '--include=dev' : '--omit=dev', '--include=optional', '--ignore-scripts']
  args.push('--loglevel=error', '--no-audit', '--no-fund', '--no-progress', '--prefer-offline')
  const script = process.env.npm_execpath
  const own = script && basename(script) === 'npm-cli.js' && existsSync(script)
  const windows = process.platform === 'win32'
  const child = own
    ? spawn(process.execPath, [script, ...args], { cwd: root })
    : spawn('npm', args, { cwd: root, shell: windows })
  let said = ''
  const listen = (chunk) => (said = (said + chunk).slice(0, 20_000))
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  // npm undoes a half-made installation when it is interrupted: wait for it.
  let stoppedBy
  const stop = (signal) => {
    stoppedBy = signal
    child.kill(signal)
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  try {
    const [code, error] = await new Promise((resolve) => {
      child.on('error', (cause) => resolve([1, cause]))
      child.on('close', (exitCode) => resolve([exitCode]))
    })
    if (stoppedBy)
      throw Object.assign(new InstallFault('stopped while installing'), {
        exitCode: stoppedBy === 'SIGINT' ? 130 : 143,
      })
    if (error)
      throw new InstallFault(`npm could not be started (${error.message}). It comes with Node: https://nodejs.org`)
    if (code !== 0) {
      process.stderr.write(`${said.trim().split('\n').slice(0, saidLinesMax).join('\n')}\n`)
      throw new InstallFault(
        `npm could not install the packages (exit code ${code}). The lines above say why; running it again goes on`,
      )
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

/**
 * A file that one process holds. Its holder touches it every second, so that a dead holder is known by its silence, wherever it ran:
 * in another container a process id says nothing.
 */
async function takeLock(path, say) {
  const own = `${process.pid} ${randomUUID()}\n`
  let seen = { text: '', mtime_ms: 0, since_ms: 0 }
  let wasAbandoned = false
  let told = false
  for (;;) {
    try {
      writeFileSync(path, own, { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw new InstallFault(`the packages cannot be installed: ${error.message}`)
    }
    const text = read(path)
    const mtime_ms = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (text !== seen.text || mtime_ms !== seen.mtime_ms) seen = { text, mtime_ms, since_ms: performance.now() }
    if (performance.now() - seen.since_ms > silence_ms_max)
      wasAbandoned = removeAbandoned(path, seen.text) || wasAbandoned
    else {
      if (!told) say('Another process is installing the packages; waiting for it…')
      told = true
      await wait(200)
    }
  }
  const beat = setInterval(() => {
    if (read(path) === own) utimesSync(path, new Date(), new Date())
  }, beat_ms)
  return {
    wasAbandoned,
    release() {
      clearInterval(beat)
      if (read(path) === own) rmSync(path, { force: true })
    },
  }
}

/** True where the lock was the abandoned one; another that came meanwhile is put back. */
function removeAbandoned(path, text) {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
    const same = read(aside) === text
    if (!same) linkSync(aside, path)
    rmSync(aside)
    return same
  } catch {
    return false
  }
}
