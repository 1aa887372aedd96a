// The door of every npm script. Plain JavaScript without dependencies: it must run on the oldest Node that may start Kaha,
// before anything is installed. It installs what is missing, then hands over to the Node that Kaha is written for.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install, InstallFault } from './install.mjs'

const root = join(fileURLToPath(import.meta.url), '..', '..')
const starterNodeMin = [20, 19]
const kahaNodeMajorMin = 24
const parentEveryMs = 500

const tasks = {
  start: { needs: 'production', flags: 'server/node-flags.json', run: ['server/src/main.ts', 'start'] },
  kaha: { needs: 'production', run: ['cli/src/main.ts'] },
  test: { needs: 'everything', run: ['scripts/test.ts'] },
  check: { needs: 'everything', run: ['scripts/check.ts'] },
  generate: { needs: 'everything', run: ['scripts/generate.ts'] },
  format: { needs: 'everything', run: ['node_modules/prettier/bin/prettier.cjs', '--write', '--log-level=warn', '.'] },
  bench: { needs: 'everything', run: ['bench/src/main.ts'] },
  soak: { needs: 'everything', run: ['scripts/soak.ts'] },
}

const [name, ...args] = process.argv.slice(2)
const task = Object.keys(tasks).includes(name) ? tasks[name] : undefined

try {
  if (!task) refuse(`there is no task "${name ?? ''}". There are: ${Object.keys(tasks).join(', ')}`)
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < starterNodeMin[0] || (major === starterNodeMin[0] && minor < starterNodeMin[1])) {
    refuse(
      `Node ${starterNodeMin.join('.')} or newer is needed to start, and this is ${process.version}. See https://nodejs.org`,
    )
  }
  await install({ root, needs: task.needs, say: (line) => process.stderr.write(`${line}\n`) })
  // So the server has its flags, too.
  const isStart = name === 'kaha' && args[0] === 'start'
  hand(nodeForKaha(major), isStart ? tasks.start : task, isStart ? args.slice(1) : args)
} catch (error) {
  if (!(error instanceof InstallFault)) throw error
  process.stderr.write(`kaha: ${error.message}\n`)
  process.exitCode = error.exitCode
}

/** @returns {never} */
function refuse(message) {
  throw new InstallFault(message)
}

/** The Node that the lockfile brings (Linux), or this one where it is new enough. */
function nodeForKaha(ownMajor) {
  const pinned = join(root, 'node_modules', '.bin', 'node')
  if (existsSync(pinned)) return pinned
  if (ownMajor >= kahaNodeMajorMin) return process.execPath
  return refuse(
    `Kaha runs on Node ${kahaNodeMajorMin} or newer. On Linux (x64, arm64, glibc) it brings its own; here, on ` +
      `${process.platform} ${process.arch}, please install it (this is ${process.version}): https://nodejs.org`,
  )
}

/** Runs the task in the other Node and ends as it ends. */
function hand(node, { flags, run: [script, ...firstArgs] }, restArgs) {
  const packages = join(root, 'node_modules')
  const nodeArgs = flags === undefined ? [] : JSON.parse(readFileSync(join(root, flags), 'utf8'))
  const child = spawn(node, [...nodeArgs, join(root, script), ...firstArgs, ...restArgs], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: join(packages, '.bin') + delimiter + (process.env.PATH ?? ''),
      // Halves the time that loading the server takes.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(packages, '.cache', 'compiled'),
    },
  })
  // Ctrl-C reaches the child more than once: from the terminal, from npm, from here. The child takes them as one.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  if (process.env.npm_lifecycle_event !== undefined) stopWithParent(child)
  child.on('error', (error) => {
    process.stderr.write(
      `kaha: ${node} does not run here (${error.message}). Please install Node ${kahaNodeMajorMin}\n`,
    )
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0)
  })
}

/** npm runs this in a shell, which ends by a signal that npm passes on and tells nobody of it: then the task is stopped from here, once. */
function stopWithParent(child) {
  const parent = process.ppid
  const looking = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(looking)
    child.kill('SIGTERM')
  }, parentEveryMs)
  looking.unref()
}
