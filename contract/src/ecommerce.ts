import {
  cancelPaymentIntent,
  confirmPaymentIntent,
  createPaymentIntent,
  retrievePaymentIntent,
} from './payment-intents.ts'
import {
  cancelPaymentLink,
  createPaymentLink,
  listPaymentLinks,
  retrievePaymentLink,
  updatePaymentLink,
} from './payment-links.ts'
import { createRefund, retrieveRefund } from './refunds.ts'

export * from './payment-intents.ts'
export * from './payment-links.ts'
export * from './payment-types.ts'

export const ecommerceOperations = {
  createPaymentLink,
  listPaymentLinks,
  retrievePaymentLink,
  updatePaymentLink,
  cancelPaymentLink,
  createPaymentIntent,
  retrievePaymentIntent,
  confirmPaymentIntent,
  cancelPaymentIntent,
  createRefund,
  retrieveRefund,
} as const
