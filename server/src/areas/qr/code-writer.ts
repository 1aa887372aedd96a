import type { Identity } from '../../identity/service.ts'
import { codeAmounts, currency, isCodeAmount } from './service.ts'
import { codeText, type QrBank } from './text.ts'

/** Writes the codes of the checkout: their texts are those of this room, how they stand is their payment's. Amounts in minor units. */
export function createCodeWriter({ bank, identity }: { readonly bank: QrBank; readonly identity: Identity }) {
  return {
    refusal(payment: { readonly currency: string; readonly amount: bigint }): string | undefined {
      if (payment.currency !== currency) return `QR Ph pays in ${currency} alone.`
      return isCodeAmount(payment.amount) ? undefined : `QR Ph pays an amount ${codeAmounts} alone.`
    },

    async write(payment: {
      readonly id: string
      readonly merchantId: string
      readonly branchId: string
      readonly currency: string
      readonly amount: bigint
    }): Promise<string> {
      const { merchantId, branchId } = payment
      const [merchant, branch] = await Promise.all([identity.entity(merchantId), identity.entity(branchId)])
      if (merchant === undefined || branch === undefined) throw new Error('a branch vanished')
      const branchReference = branch.reference_number ?? ''
      return codeText(bank, { ...payment, merchantName: merchant.name, branchReference })
    },
  }
}
