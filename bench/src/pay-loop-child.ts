// The bare loop of payments: what the server writes of one, by its own statements and in as many transactions, and nothing else.
import { randomBytes } from 'node:crypto'
import { eventStore, type NewEvent } from '../../server/src/delivery/store-events.ts'
import { newId } from '../../server/src/kernel/ids.ts'
import { simulatorStore } from '../../server/src/payments/connectors/simulator-store.ts'
import { paymentsStore } from '../../server/src/payments/store.ts'
import { serve } from './child.ts'
import type { Done } from './compare.ts'
import { createConnections, type Connection } from './pg-connections.ts'
import type { Target } from './place.ts'

export interface PayLoop {
  readonly target: Target
  readonly intentIds: readonly string[]
  /** One that the server has written: every payment writes it again under ids of its own. */
  readonly event: Omit<NewEvent, 'id' | 'at'>
  readonly callers: number
}

const connections = createConnections()

async function run({ target, intentIds, event, callers }: PayLoop): Promise<Done> {
  const open = await connections.to(target, callers)
  const left = [...intentIds]
  const begun = performance.now()
  const caller = async (connection: Connection): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) await pay(connection, id, event)
  }
  await Promise.all(open.map(caller))
  return { count: intentIds.length, seconds: (performance.now() - begun) / 1_000 }
}

async function pay({ client, on }: Connection, intentId: string, event: PayLoop['event']): Promise<void> {
  const at = new Date()
  const attemptId = newId(at)
  await client.query('begin')
  await paymentsStore.lockIntent(on, intentId)
  await paymentsStore.insertAttempt(on, {
    id: attemptId,
    intentId,
    state: 'PROCESSING',
    category: null,
    method: 'card',
    cardBrand: 'VISA',
    cardLastFour: '4242',
    cardFingerprint: fingerprint,
    codeText: null,
    challengeExpiresAt: null,
    transactionStatus: 'PENDING',
    correlationId: attemptId,
    leaseSeconds: 30,
    at,
  })
  await client.query('commit')
  const approval = {
    approvalCode: '123456',
    transactionId: randomBytes(12).toString('hex'),
    reconciliationId: randomBytes(12).toString('hex'),
    completedAt: at,
  }
  await simulatorStore({ db: on }).record(attemptId, { decision: { kind: 'approved', ...approval }, answersAt: at })
  await client.query('begin')
  await paymentsStore.lockIntent(on, intentId)
  const settled = {
    attemptId,
    state: 'SUCCEEDED',
    category: null,
    reason: null,
    approval,
    transactionStatus: 'CAPTURED',
    at,
  } as const
  if (!(await paymentsStore.settleAttempt(on, settled, 'PROCESSING'))) throw new Error('the attempt has moved')
  await eventStore.append(on, { ...event, id: newId(at), at })
  await client.query('commit')
}

const fingerprint = randomBytes(32).toString('hex')

serve({ run }, connections)
