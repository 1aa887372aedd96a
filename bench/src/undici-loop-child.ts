// The bare loop: posts requests that were made and signed before, over a pool of connections.
import { Pool } from 'undici'
import { keyOfSecret, sign } from '../../server/src/delivery/signature.ts'
import { serve } from './child.ts'
import type { Done } from './compare.ts'

export interface Posts {
  readonly origin: string
  readonly callers: number
  readonly events: readonly {
    readonly id: string
    readonly path: string
    readonly body: string
    readonly secret: string
  }[]
}

async function run({ origin, callers, events }: Posts): Promise<Done> {
  const timestamp = Math.floor(Date.now() / 1_000)
  const requests = events.map(({ id, path, body, secret }) => ({
    method: 'POST' as const,
    path,
    body,
    headers: {
      'user-agent': 'Kaha/0.1',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sign([keyOfSecret(secret)], { id, timestamp, body }),
    },
  }))
  const pool = new Pool(origin, { connections: callers, pipelining: 1 })
  const begun = performance.now()
  const caller = async (): Promise<void> => {
    for (let request = requests.pop(); request !== undefined; request = requests.pop()) {
      const { statusCode, body } = await pool.request(request)
      if (statusCode !== 204) throw new Error(`the receiver answered ${statusCode}`)
      await body.dump()
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - begun) / 1_000
  await pool.close()
  return { count: events.length, seconds }
}

serve({ run }, { [Symbol.asyncDispose]: async () => {} })
