import { newId } from '../../server/src/kernel/ids.ts'

/** Where the events of one endpoint come from, and how its deliveries are signed. */
export interface Source {
  readonly partnerId: string
  readonly merchantId: string
  readonly branchId: string
  readonly path: string
  readonly secret: string
}

export const eventType = 'payment.succeeded'

/** An event as a payment leaves it. */
export function eventOf(source: Source, at: Date): { id: string; intentId: string; body: string } {
  const id = newId(at)
  const intentId = newId(at)
  const body = JSON.stringify({
    id,
    type: eventType,
    created_at: at.toISOString(),
    data: {
      payment_intent_id: intentId,
      payment_link_id: newId(at),
      payment_attempt_id: newId(at),
      amount: 29_500,
      currency: 'PHP',
      status: 'SUCCEEDED',
      order_reference: 'ORDER-1001',
      card_brand: 'VISA',
      card_last_four: '4242',
      merchant_id: source.merchantId,
      branch_id: source.branchId,
      merchant_branch_name: 'Kapihan ni Aling Nena, Makati',
      metadata: { table: '12', waiter: 'Juana' },
    },
  })
  return { id, intentId, body }
}
