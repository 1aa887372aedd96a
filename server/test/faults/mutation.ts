import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { KahaProcessOptions } from './kaha-process.ts'

/** One sentence of the program, and what stands there instead: for controls, which show that a suite can fail. */
export interface Mutation {
  /** The end of the file's path. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/**
 * From now on this process loads the program with the mutation. The program refuses to load where the sentence does not stand there
 * once, so that a control does not go stale unseen.
 */
export function mutate({ file, from, to }: Mutation): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(file)) return loaded
      const source = Buffer.from(loaded.source as Uint8Array).toString('utf8')
      if (source.split(from).length !== 2) throw new Error(`${file} does not hold once: ${from}`)
      return { ...loaded, source: source.replace(from, () => to) }
    },
  })
}

/** What another process needs to run with it. */
export function withMutation(mutation: Mutation | undefined): Pick<KahaProcessOptions, 'nodeArgs' | 'settings'> {
  if (mutation === undefined) return {}
  return {
    nodeArgs: ['--import', fileURLToPath(new URL('mutant-child.ts', import.meta.url))],
    settings: { KAHA_TEST_MUTATION: JSON.stringify(mutation) },
  }
}
