import type { Static } from 'typebox'
import { exampleCursor, exampleIds } from './example-ids.ts'
import type { Example } from './operation.ts'
import type {
  ConfirmPaymentIntent,
  ConfirmedPaymentIntent,
  CreatedPaymentIntent,
  PaymentIntent,
} from './payment-intents.ts'
import type { CreatePaymentLink, PaymentLink, UpdatePaymentLink } from './payment-links.ts'
import type { CreateRefund, Refund } from './refunds.ts'

// One story, which is told by the key of a branch: a link for ORDER-1001, and ORDER-1002 without one.

export const newLink = {
  type: 'one_time',
  currency: 'PHP',
  amount: 25_000,
  line_items: [{ sku: 'BEANS-250', name: 'Benguet coffee beans, 250 g', unit_price: 12_500, quantity: 2 }],
  order_reference: 'ORDER-1001',
} satisfies Static<typeof CreatePaymentLink>

export const link: Static<typeof PaymentLink> = {
  id: exampleIds.link,
  type: 'one_time',
  status: 'ACTIVE',
  merchant_branch_reference_number: 'KAPE-1',
  currency: 'PHP',
  amount: 25_000,
  line_items: newLink.line_items,
  expires_at: '2026-01-16T10:00:00.000Z',
  url: 'http://localhost:8080/pay/l/Qm7tRz2LxKc9VbN4pHs8Wd',
  successful_payment_count: 0,
  metadata: {},
  created_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:00:00.000Z',
  order_reference: 'ORDER-1001',
}

export const linkPage = {
  data: [link],
  pagination: {
    page_size: 1,
    has_more: true,
    next_cursor: exampleCursor,
  },
}

export const linkChange = {
  description: 'Benguet coffee beans, two bags',
  redirect_urls: { success: 'https://shop.example.com/thanks' },
} satisfies Static<typeof UpdatePaymentLink>

export const changedLink: Static<typeof PaymentLink> = {
  ...link,
  ...linkChange,
  updated_at: '2026-01-15T10:05:00.000Z',
}

export const cancelledLink: Static<typeof PaymentLink> = {
  ...link,
  status: 'CANCELLED',
  updated_at: '2026-01-15T10:10:00.000Z',
  cancelled_at: '2026-01-15T10:10:00.000Z',
  cancellation_reason: 'Sold out.',
}

const intent: Static<typeof PaymentIntent> = {
  id: exampleIds.ownIntent,
  amount: 9_800,
  currency: 'PHP',
  status: 'ACTIVE',
  updated_at: '2026-01-15T10:30:00.000Z',
  order_reference: 'ORDER-1002',
}

const checkoutUrl = 'http://localhost:8080/pay/i/Xk3vB8mTq1LzRw6YcN9hPs'

export const createdIntent: Static<typeof CreatedPaymentIntent> = {
  ...intent,
  client_secret: 'cs_Vq2mZt8xKc4bN7pRs1WdLy6hJf3gTk9vXa5eQu0oIwM',
  checkout_url: checkoutUrl,
}

export const cancelledIntent: Static<typeof PaymentIntent> = {
  ...intent,
  status: 'CANCELLED',
  updated_at: '2026-01-15T10:35:00.000Z',
  user_message: 'This payment request was cancelled. You have not been charged.',
}

export const paidIntent: Static<typeof PaymentIntent> = {
  ...intent,
  status: 'SUCCEEDED',
  updated_at: '2026-01-15T10:31:00.000Z',
  payment_attempt_id: exampleIds.ownAttempt,
  user_message: 'Your payment was successful.',
  receipt: {
    approval_code: '482913',
    transaction_id: 'SIMQWERTYPSDFGHJKLZX',
    reconciliation_id: 'BNMKLPQWRTYS',
    card_scheme: 'VISA',
    card_last_four: '4242',
    invoice_number: '0000000042',
    completed_at: '2026-01-15T10:31:00.000Z',
  },
}

const byCard = (number: string): Static<typeof ConfirmPaymentIntent> => ({
  payment_method: {
    type: 'card',
    card: { number, exp_month: 12, exp_year: 2040, cvc: '123', name: 'Juana dela Cruz' },
  },
})

/** The card that is approved. */
export const confirmation = byCard('4242424242424242')

type ConfirmExamples = Readonly<Record<string, Example<Static<typeof ConfirmedPaymentIntent>>>>

export const confirmed: ConfirmExamples = {
  approved: { answer: paidIntent },
  declined: {
    request: byCard('4000000000009995'),
    answer: {
      ...intent,
      status: 'DECLINED',
      updated_at: '2026-01-15T10:31:00.000Z',
      payment_attempt_id: exampleIds.declinedAttempt,
      user_message: 'This card does not have enough funds. You have not been charged. Please use another card.',
      failure_category: 'PAYMENT_REJECTED',
    },
  },
  challenge: {
    request: byCard('4000002500003155'),
    answer: {
      ...intent,
      status: 'REQUIRES_ACTION',
      updated_at: '2026-01-15T10:31:00.000Z',
      payment_attempt_id: exampleIds.challengedAttempt,
      next_action: { type: 'redirect', url: 'http://localhost:8080/sandbox/challenges/Zr5cTn8wKb2mXv7LpQ1yHs' },
    },
  },
  qrph: {
    request: { payment_method: { type: 'qrph' } },
    answer: {
      ...intent,
      status: 'REQUIRES_ACTION',
      updated_at: '2026-01-15T10:31:00.000Z',
      payment_attempt_id: exampleIds.codeAttempt,
      next_action: { type: 'redirect', url: checkoutUrl },
    },
  },
}

export const confirmedSlowly: ConfirmExamples = {
  slow: {
    request: byCard('4000000000000259'),
    answer: {
      ...intent,
      status: 'PROCESSING',
      updated_at: '2026-01-15T10:31:00.000Z',
      payment_attempt_id: exampleIds.slowAttempt,
    },
  },
}

export const newRefund = {
  payment_intent_id: exampleIds.ownIntent,
  amount: 4_900,
  reason: 'One of two cups broke',
} satisfies Static<typeof CreateRefund>

export const refund: Static<typeof Refund> = {
  id: exampleIds.refund,
  payment_intent_id: exampleIds.ownIntent,
  amount: 4_900,
  currency: 'PHP',
  status: 'SUCCEEDED',
  reason: 'One of two cups broke',
  created_at: '2026-01-15T11:00:00.000Z',
}
