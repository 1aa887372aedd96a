import { createHash, createHmac, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Seed } from './seed.ts'

interface Till {
  readonly localUrl: string
  readonly seed: Seed
  /** One that terminals take. */
  readonly currency: string
  /** System time. */
  readonly wall: () => number
}

const waitMsMax = 10_000
const pollMs = 20

/** One signed request of a till. */
function tillClient({ localUrl, seed, wall }: Till) {
  const keys = seed.merchants[0]?.terminal_group.desktop
  return (method: string, path: string, value?: unknown): Promise<Response> => {
    const body = value === undefined ? '' : JSON.stringify(value)
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
        ...(body === '' ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === '' ? {} : { body }),
    })
  }
}

/**
 * Two sales at virtual terminals: one is paid; the line of the other drops, and its approval comes back too late, so that it is voided. The
 * clock goes on by as long as that takes.
 */
export async function sellAtTerminals(till: Till): Promise<void> {
  const { localUrl, seed, currency } = till
  const [merchant] = seed.merchants
  if (merchant === undefined) return
  const ask = tillClient(till)
  const control = async (method: string, path: string, value?: unknown) => {
    const answer = await fetch(`${localUrl}/sandbox${path}`, {
      method,
      headers: {
        'x-api-key': seed.partner.secret_key,
        ...(value === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(value === undefined ? {} : { body: JSON.stringify(value) }),
    })
    if (!answer.ok) throw new Error(`${method} /sandbox${path} answered ${answer.status}: ${await answer.text()}`)
  }
  const start = (device_id: string) =>
    control('POST', '/terminals', { group_id: merchant.terminal_group.id, device_id })
  const pay = (terminalId: string, transactionId: string, amount: string) =>
    ask('POST', `/v1/terminals/${terminalId}/payments`, {
      transactionId,
      amount,
      currency,
      paymentMethod: 'CARD',
      metadata: { counter: 1 },
    })

  await start('sim-approve')
  const sold = await pay('sim-approve', randomUUID(), '295')
  if (!sold.ok) throw new Error(`a terminal sale answered ${sold.status}: ${await sold.text()}`)

  await start('sim-drop-75s')
  const transactionId = randomUUID()
  const paying = pay('sim-drop-75s', transactionId, '120')
  const end = performance.now() + waitMsMax
  for (let status = ''; status !== 'AWAITING_RECONNECT' && performance.now() < end; await sleep(pollMs)) {
    const answer = await ask('GET', `/v1/transactions/${transactionId}`)
    if (answer.ok) status = ((await answer.json()) as { status: string }).status
  }
  await control('POST', '/clock/advance', { seconds: 95 })
  await paying
  await control('DELETE', '/terminals/sim-drop-75s')
}
