import { Pool } from 'undici'
import { keyOfSecret, sign } from '../../server/src/delivery/signature.ts'
import type { Source } from './events.ts'

/** What a job of a queue holds. */
export interface PostJob {
  readonly id: string
  readonly path: string
  readonly body: string
}

/** A handler as somebody would write it for a queue of jobs: signs and posts an event, and throws unless that is answered with success. */
export function posting(origin: string, sources: readonly Source[], connections: number) {
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const keys = new Map(sources.map(({ path, secret }) => [path, [keyOfSecret(secret)]]))
  return {
    async post({ id, path, body }: PostJob): Promise<void> {
      const timestamp = Math.floor(Date.now() / 1_000)
      const answer = await pool.request({
        method: 'POST',
        path,
        body,
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': sign(keys.get(path) ?? [], { id, timestamp, body }),
        },
      })
      await answer.body.dump()
      if (answer.statusCode >= 300) throw new Error(`the receiver answered ${answer.statusCode}`)
    },
    [Symbol.asyncDispose]: () => pool.close(),
  }
}
