import { createHash, createHmac, randomUUID } from 'node:crypto'
import type { Seed } from './seed.ts'

interface Till {
  readonly localUrl: string
  readonly seed: Seed
  /** One that terminals take. */
  readonly currency: string
  /** System time. */
  readonly wall: () => number
}

/** One signed request of a till. */
function ask({ localUrl, seed, wall }: Till, method: string, path: string, value: unknown): Promise<Response> {
  const keys = seed.merchants[0]?.terminal_group.desktop
  const body = JSON.stringify(value)
  const timestamp = new Date(wall()).toISOString()
  const hash = createHash('sha256').update(body).digest('hex')
  const toSign = [method, `/terminal${path}`, timestamp, hash].join('\n')
  return fetch(`${localUrl}/terminal${path}`, {
    method,
    headers: {
      'x-api-key': keys?.api_key ?? '',
      'x-timestamp': timestamp,
      'x-signature': createHmac('sha256', keys?.api_secret ?? '')
        .update(toSign)
        .digest('base64'),
      'content-type': 'application/json',
    },
    body,
  })
}

/** A sale at a virtual terminal, which approves. */
export async function sellAtTerminal(till: Till): Promise<void> {
  const { localUrl, seed, currency } = till
  const [merchant] = seed.merchants
  if (merchant === undefined) return
  const started = await fetch(`${localUrl}/sandbox/terminals`, {
    method: 'POST',
    headers: { 'x-api-key': seed.partner.secret_key, 'content-type': 'application/json' },
    body: JSON.stringify({ group_id: merchant.terminal_group.id, device_id: 'sim-approve' }),
  })
  if (!started.ok) throw new Error(`a virtual terminal answered ${started.status}: ${await started.text()}`)
  const sold = await ask(till, 'POST', '/v1/terminals/sim-approve/payments', {
    transactionId: randomUUID(),
    amount: '295',
    currency,
    paymentMethod: 'CARD',
    metadata: { counter: 1 },
  })
  if (!sold.ok) throw new Error(`a terminal sale answered ${sold.status}: ${await sold.text()}`)
}
