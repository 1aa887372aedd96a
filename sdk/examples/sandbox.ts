import { readFile } from 'node:fs/promises'

/** What the examples need of the file that a running sandbox leaves in its data directory. */
export interface Sandbox {
  readonly base_url: string
  readonly merchant: { readonly name: string; readonly secret_key: string }
  readonly branch: { readonly name: string; readonly secret_key: string }
}

/** Reads the first argument of the command line, or `.kaha/sandbox.json`. Ends the program with a sentence where there is none. */
export async function readSandbox(): Promise<Sandbox> {
  const path = process.argv[2] ?? '.kaha/sandbox.json'
  const text = await readFile(path, 'utf8').catch(() => {
    return end(`${path} is not there: start a sandbox with npm start, or name its sandbox.json`)
  })
  const { base_url, merchants } = JSON.parse(text) as {
    base_url: string
    merchants: (Sandbox['merchant'] & { branches: Sandbox['branch'][] })[]
  }
  const [merchant] = merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) return end(`${path} names no merchant with a branch`)
  return { base_url, merchant, branch }
}

function end(why: string): never {
  console.error(why)
  process.exit(1)
}
