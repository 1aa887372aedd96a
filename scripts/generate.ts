import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { asyncapiDocument } from '../contract/src/asyncapi.ts'
import { openapiDocuments } from '../contract/src/openapi.ts'
import { argumentsOf } from './arguments.ts'
import { databaseTypes } from './database-types.ts'
import { fillTables } from './doc-pages.ts'
import { docTables } from './doc-tables.ts'
import { listFiles, readFiles, root, type Texts } from './source.ts'

// Writes what is made from something else and checked in; with --check says what is out of date, and writes nothing.
const usage = `npm run generate

  --check  writes nothing, and says what is out of date`
const { values } = argumentsOf(usage, { options: { check: { type: 'boolean' } } })

const generators: readonly (() => Promise<Texts>)[] = [
  openapiFiles,
  async () => new Map([['contract/asyncapi/terminals.json', `${JSON.stringify(asyncapiDocument(), null, 2)}\n`]]),
  async () => new Map([['server/src/kernel/database.gen.ts', await databaseTypes()]]),
  () => fillTables(readFiles(listFiles(['docs'], ['.md'])), docTables),
]

let stale = 0
for (const generate of generators) {
  for (const [path, text] of await generate()) stale += await settle(path, text)
}
if (values.check) process.exitCode = stale > 0 ? 1 : 0

async function openapiFiles(): Promise<Texts> {
  const files = Object.entries(openapiDocuments()).map(([area, document]): [string, string] => [
    `contract/openapi/${area}.json`,
    `${JSON.stringify(document, null, 2)}\n`,
  ])
  return new Map(files)
}

/** 1 where the file was not what it must be. */
async function settle(path: string, made: string): Promise<number> {
  const file = join(root, path)
  const text = path.endsWith('.json') ? made : await format(made, { ...(await resolveConfig(file)), filepath: file })
  const found = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (found === text) return 0
  if (values.check) {
    console.error(`${path} ${whatDiffers(found, text)}: run npm run generate`)
  } else {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    console.log(`wrote ${path}`)
  }
  return 1
}

function whatDiffers(found: string | undefined, wanted: string): string {
  if (found === undefined) return 'is not there'
  const [old, now] = [found.split('\n'), wanted.split('\n')]
  const at = now.findIndex((line, index) => line !== old[index])
  const line = at === -1 ? now.length : at
  return `differs from line ${line + 1} on (${JSON.stringify(old[line] ?? '')}, not ${JSON.stringify(now[line] ?? '')})`
}
