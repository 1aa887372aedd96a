import { Webhook } from 'standardwebhooks'
import { startReceiver } from '../receiver.ts'

/** A merchant's receiver that believes nothing: what it got, by webhook-id, verified by the package `standardwebhooks`. */
export interface VerifyingReceiver extends AsyncDisposable {
  readonly url: string
  /** Deliveries of each event. */
  readonly seen: ReadonlyMap<string, number>
  /** Deliveries that no merchant should get, a sentence each. */
  readonly wrong: readonly string[]
  /** From now on deliveries are verified with this secret. */
  trust(secret: string): void
}

/** It answers 500 to the first delivery of the events that `fails` picks. */
export async function startVerifyingReceiver(fails: () => boolean): Promise<VerifyingReceiver> {
  const receiver = await startReceiver()
  const seen = new Map<string, number>()
  const bodies = new Map<string, string>()
  const wrong: string[] = []
  let webhook: Webhook | undefined

  receiver.answer = ({ headers, body }, response) => {
    receiver.received.length = 0
    const id = String(headers['webhook-id'])
    try {
      if (webhook === undefined) throw new Error('no secret is known yet')
      webhook.verify(body, headers as Record<string, string>)
    } catch (error) {
      wrong.push(`the delivery of ${id} is not signed rightly: ${String(error)}`)
    }
    if ((bodies.get(id) ?? body) !== body) wrong.push(`the event ${id} was delivered with two bodies`)
    const first = !bodies.has(id)
    bodies.set(id, body)
    if (first && fails()) return response.writeHead(500).end()
    seen.set(id, (seen.get(id) ?? 0) + 1)
    return response.writeHead(204).end()
  }

  return {
    url: receiver.url,
    seen,
    wrong,
    trust: (secret) => {
      webhook = new Webhook(secret)
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}
