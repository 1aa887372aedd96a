import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from './source.ts'

// The long runs: `npm run soak -- NAME [--rounds N] [--seed S]`. Each is a program of its own.
const folder = join(root, 'server/test/soak')
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => basename(file, '.ts'))
const [, , name] = process.argv

if (name !== undefined && names.includes(name)) {
  const path = join(folder, `${name}.ts`)
  process.argv.splice(1, 2, path)
  await import(path)
} else {
  console.log(`Long runs: ${names.join(', ')}`)
  if (name !== undefined) console.error(`kaha: there is no long run "${name}"`)
  process.exitCode = name === undefined ? 0 : 1
}
