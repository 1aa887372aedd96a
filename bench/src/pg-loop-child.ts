// The bare loop: the server's own statement for a new link, and nothing else.
import { randomUUID } from 'node:crypto'
import { ecommerceStore, type KeptAnswer, type LinkRow } from '../../server/src/areas/ecommerce/store.ts'
import type { Queries } from '../../server/src/kernel/db.ts'
import { newId, randomText } from '../../server/src/kernel/ids.ts'
import { serve } from './child.ts'
import type { Done } from './compare.ts'
import { createConnections } from './pg-connections.ts'
import type { Target } from './place.ts'

export interface LinkLoop {
  readonly target: Target
  readonly link: LinkRow
  readonly kept: KeptAnswer
  readonly callers: number
  /** Whichever is reached first. */
  readonly seconds: number
  readonly linksMax: number
}

const connections = createConnections()

async function run({ target, link, kept, callers, seconds, linksMax }: LinkLoop): Promise<Done> {
  const open = await connections.to(target, callers)
  let begunLinks = 0
  let done = 0
  const begun = performance.now()
  const until = begun + seconds * 1_000
  const caller = async (on: Queries): Promise<void> => {
    while (performance.now() < until && begunLinks < linksMax) {
      begunLinks += 1
      const at = new Date()
      const fresh = { ...link, id: newId(at), token: randomText(22), created_at: at, updated_at: at }
      if (!(await ecommerceStore.insertLinkOnce(on, { ...kept, key: randomUUID() }, fresh)))
        throw new Error('the key was there already')
      done += 1
    }
  }
  await Promise.all(open.map(({ on }) => caller(on)))
  return { count: done, seconds: (performance.now() - begun) / 1_000 }
}

serve({ run }, connections)
