import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { rules } from '../server/test/conformance/rules.ts'
import { argumentsOf } from './arguments.ts'
import { ruleFaults, ruleTests } from './rule-coverage.ts'
import { listFiles, root } from './source.ts'

/** One thing that is checked. Resolves to what is wrong, in full; empty where nothing is. */
interface Part {
  readonly name: string
  check(): Promise<string>
}

argumentsOf('npm run check takes nothing', { options: {} })

const partsAtOnce = 2
const partMsMax = 120_000

const openapi = listFiles(['contract'], ['.json']).filter((path) => path.startsWith('contract/openapi/'))

// The longest first, so that two at a time end together.
const parts: readonly Part[] = [
  part('lint', 'oxlint', '--type-aware', '--deny-warnings', '--report-unused-disable-directives'),
  part('format', 'prettier', '--check', '--log-level=warn', '.'),
  part('generated files', 'node', 'scripts/generate.ts', '--check'),
  part('types', 'tsc', '--noEmit'),
  part('dead code', 'knip', '--no-progress', '--no-config-hints'),
  part('architecture', 'node', '--test-reporter=dot', 'server/test/architecture.test.ts'),
  part('openapi documents', 'redocly', 'lint', '--config=.redocly.yaml', ...openapi),
  { name: 'rules', check: async () => ruleFaults(rules, ruleTests()).join('\n') },
]

const started = performance.now()
const queue = [...parts]
let failed = 0
await Promise.all(Array.from({ length: partsAtOnce }, work))
const seconds = ((performance.now() - started) / 1000).toFixed(1)
console.log(
  failed === 0
    ? `All ${parts.length} parts are fine, ${seconds} s`
    : `${failed} of ${parts.length} parts failed, ${seconds} s`,
)
process.exitCode = failed === 0 ? 0 : 1

async function work(): Promise<void> {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const begun = performance.now()
    const wrong = await next
      .check()
      .catch((error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)))
    const mark = wrong ? styleText('red', 'FAIL') : styleText('green', 'ok  ')
    console.log(`${mark} ${((performance.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${next.name}`)
    if (!wrong) continue
    failed++
    console.log(`\n${wrong.trim().replaceAll(/^(?=.)/gm, '    ')}\n`)
  }
}

/** A tool of `node_modules/.bin` that must exit with 0. */
function part(name: string, tool: string, ...args: readonly string[]): Part {
  return { name, check: () => run(join(root, 'node_modules/.bin', tool), args) }
}

function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    // The document checker would otherwise tell its makers that it ran.
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const child = spawn(command, args, {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: partMsMax,
      killSignal: 'SIGKILL',
    })
    let output = ''
    const listen = (chunk: Buffer): void => {
      output += chunk.toString()
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve('')
      else resolve(`${output.trim()}\n${signal ? `ended by ${signal}` : `exit code ${code}`}`)
    })
  })
}
