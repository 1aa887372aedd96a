import { createHash, createHmac, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Seed } from './seed.ts'
import { send, sendJson } from './story-call.ts'

interface Till {
  readonly localUrl: string
  readonly seed: Seed
  /** One that terminals take. */
  readonly currency: string
  /** System time. */
  readonly wall: () => number
}

/** One signed request of a till; without a value it is a GET. */
function ask({ localUrl, seed, wall }: Till, path: string, value?: unknown, signal?: AbortSignal): Promise<Response> {
  const keys = seed.merchants[0]?.terminal_group.desktop
  const method = value === undefined ? 'GET' : 'POST'
  const body = value === undefined ? '' : JSON.stringify(value)
  const timestamp = new Date(wall()).toISOString()
  const hash = createHash('sha256').update(body).digest('hex')
  const toSign = [method, `/terminal${path}`, timestamp, hash].join('\n')
  return send(`${localUrl}/terminal${path}`, {
    method,
    headers: {
      'x-api-key': keys?.api_key ?? '',
      'x-timestamp': timestamp,
      'x-signature': createHmac('sha256', keys?.api_secret ?? '')
        .update(toSign)
        .digest('base64'),
      ...(value === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(value === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  })
}

const startVirtual = ({ localUrl, seed }: Till, deviceId: string): Promise<unknown> =>
  sendJson(
    'POST',
    `${localUrl}/sandbox/terminals`,
    { 'x-api-key': seed.partner.secret_key },
    { group_id: seed.merchants[0]?.terminal_group.id, device_id: deviceId },
  )

/** A sale at a virtual terminal, which approves. */
export async function sellAtTerminal(till: Till): Promise<void> {
  await startVirtual(till, 'sim-approve')
  const sold = await ask(till, '/v1/terminals/sim-approve/payments', {
    transactionId: randomUUID(),
    amount: '295',
    currency: till.currency,
    paymentMethod: 'CARD',
    metadata: { counter: 1 },
  })
  if (!sold.ok) throw new Error(`a terminal sale answered ${sold.status}: ${await sold.text()}`)
}

const drop = { everyMs: 25, looksMax: 200 }
const end = { everyMs: 1_000, looksMax: 120 }

/**
 * A sale whose terminal loses its line in mid-payment; resolves when that is so. It is back after 75 s of the sandbox's clock, when the till
 * was told that there is no payment: `voided` resolves when its approval is VOIDED, and rejects where it is not for two minutes, or the
 * signal ends the wait.
 */
export async function dropAtTerminal(
  till: Till,
  signal: AbortSignal,
): Promise<{ readonly amount: string; voided(): Promise<void> }> {
  const [transactionId, amount] = [randomUUID(), '180']
  const order = { transactionId, amount, currency: till.currency, paymentMethod: 'CARD', metadata: { counter: 2 } }
  await startVirtual(till, 'sim-drop-75s')
  // It answers when the grace is over.
  const pay = async () => {
    const answer = await ask(till, '/v1/terminals/sim-drop-75s/payments', order, signal)
    if (answer.status !== 502) throw new Error(`the till was answered ${answer.status}: ${await answer.text()}`)
  }
  const paying = pay()
  paying.catch(() => {})
  const until = async (wanted: string, { everyMs, looksMax }: typeof end) => {
    for (let looks = 0; looks < looksMax; looks += 1) {
      const answer = await ask(till, `/v1/transactions/${transactionId}`, undefined, signal)
      const { status } = (await answer.json()) as { status?: string }
      if (status === wanted) return
      await sleep(everyMs, undefined, { signal })
    }
    throw new Error(`a terminal sale was not ${wanted} in time`)
  }
  await until('AWAITING_RECONNECT', drop)
  return {
    amount: `${amount} ${till.currency}`,
    async voided() {
      await paying
      await until('VOIDED', end)
    },
  }
}
