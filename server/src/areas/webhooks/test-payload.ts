import type { WebhookPayload } from '@kaha/contract'
import { newId } from '../../kernel/ids.ts'

type Type = WebhookPayload['type']
type Data = WebhookPayload['data']

const amountMinor = 25_000

// What real events of each type carry, and what they leave out.
const told: Readonly<Record<Type, (at: Date) => Partial<Data>>> = {
  'payment.succeeded': (at) => attempted(at),
  'payment.declined': (at) => ({ ...attempted(at), failure_category: 'PAYMENT_REJECTED' }),
  'payment.failed': (at) => ({ ...attempted(at), failure_category: 'PROCESSOR_UNAVAILABLE' }),
  'payment.expired': () => ({}),
}

const statusOf: Readonly<Record<Type, Data['status']>> = {
  'payment.succeeded': 'SUCCEEDED',
  'payment.declined': 'DECLINED',
  'payment.failed': 'FAILED',
  'payment.expired': 'EXPIRED',
}

const attempted = (at: Date): Partial<Data> => ({
  payment_intent_id: newId(at),
  payment_attempt_id: newId(at),
  card_brand: 'VISA',
  card_last_four: '4242',
})

/** The bytes of a test event: those that a payment would cause, with `test` in their data. Its ids of a payment lead nowhere. */
export function testPayload(
  event: { readonly id: string; readonly type: Type; readonly at: Date },
  branch: { readonly id: string; readonly merchant_id: string; readonly name: string },
): string {
  const payload: WebhookPayload = {
    id: event.id,
    type: event.type,
    created_at: event.at.toISOString(),
    data: {
      payment_link_id: newId(event.at),
      amount: amountMinor,
      currency: 'PHP',
      status: statusOf[event.type],
      order_reference: 'TEST-1001',
      ...told[event.type](event.at),
      merchant_id: branch.merchant_id,
      branch_id: branch.id,
      merchant_branch_name: branch.name,
      metadata: {},
      test: true,
    },
  }
  return JSON.stringify(payload)
}
