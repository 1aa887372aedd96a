import type { Principal } from '../../identity/principal.ts'
import { newId } from '../../kernel/ids.ts'
import type { Intent } from '../../payments/intent.ts'
import type { Refund, RefundToMake } from '../../payments/refunds.ts'
import { refuse } from './errors.ts'
import { stillRunning, type KeyedRequest } from './idempotency.ts'
import type { NewRefundRequest } from './requests.ts'
import { notFound } from './rules.ts'
import type { EcommerceDependencies } from './service.ts'
import { ecommerceStore as store } from './store.ts'

export function refundCases({ db, clock, payments, idempotency }: EcommerceDependencies) {
  const { refunds } = payments

  const prepare = async (principal: Principal, input: NewRefundRequest): Promise<RefundToMake> => {
    const intent = await payments.findIntent(principal, input.payment_intent_id)
    if (intent === undefined) throw notFound()
    if (intent.shown.status !== 'SUCCEEDED') {
      throw refuse('INVALID_STATE', `This intent is ${intent.shown.status}; only a payment that SUCCEEDED is refunded.`)
    }
    const at = clock.now()
    const amount = input.amount === undefined ? null : BigInt(input.amount)
    return { id: newId(at), intentId: intent.id, amount, reason: input.reason ?? null, at }
  }

  const resumed = async (id: string): Promise<Refund> => {
    const refund = await refunds.resume(id)
    if (refund.calling) throw stillRunning()
    return refund
  }

  return {
    /**
     * Made once per Idempotency-Key. What is kept under the key is which refund it is, in the transaction that reserves its amount;
     * then the processor is called. A repeat goes on with that refund, and tells how it stands.
     */
    createRefund: (request: KeyedRequest, input: NewRefundRequest, present: (refund: Refund) => unknown) =>
      idempotency.create(request, {
        prepare: () => prepare(request.principal, input),
        answer: ({ id }) => ({ status: 201, body: { id } }),
        write: (kept, refund) =>
          db.tx(async (tx) => {
            if (!(await store.insertAnswer(tx, kept))) return false
            await refunds.reserve(tx, refund)
            return true
          }),
        async goOn({ status, body }, replayed) {
          const { id } = body as { id: string }
          return { status, body: present(replayed ? await resumed(id) : await refunds.carryOut(id)) }
        },
      }),

    /** What a payer got back of a payment, in minor units. */
    refundedOf: async ({ receipt, latestAttempt }: Intent): Promise<bigint> =>
      receipt === null || latestAttempt === null ? 0n : refunds.refunded(latestAttempt.id),

    async findRefund(principal: Principal, id: string): Promise<Refund> {
      const refund = await refunds.find(principal, id)
      if (refund === undefined) throw notFound()
      return refund
    },
  }
}
