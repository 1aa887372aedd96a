import type { TerminalRequest } from './terminal-messages.ts'

/** A message as it is sent. */
export interface MessageExample<Payload = unknown> {
  readonly summary: string
  readonly payload: Payload
}

/** Of each of these messages, by names. */
export type ExamplesOf<Messages> = {
  readonly [Name in keyof Messages]: Readonly<Record<string, MessageExample<Messages[Name]>>>
}

// One morning of a till and two terminals; each payment is another order. Messages under the same name belong together: what is asked, what a
// terminal is told of it and says, and what is answered.

export const terminalId = 'KAPE-1-T1'

type PaymentRequest = TerminalRequest['payment']['paymentRequest']

export const sale = { amount: '150.00', currency: 'PHP', paymentMethod: 'CARD' } satisfies PaymentRequest
export const approval = { status: 'SUCCESS', authorizationCode: 'A1B2C3' } as const
export const decline = { status: 'FAILED', errorCode: 'DECLINED', errorMessage: 'The card was declined.' } as const

export const cart = {
  transactionId: 'ORDER-1002',
  amount: '250.00',
  currency: 'PHP',
  paymentMethod: 'CARD',
  products: [{ id: 'BEANS-250', name: 'Benguet coffee beans, 250 g', price: '125.00', quantity: 2 }],
  customerInfo: { customerId: 'CUSTOMER-204', email: 'juana@example.com' },
  metadata: { cart: '7781' },
} satisfies PaymentRequest
export const cartApproval = {
  status: 'SUCCESS',
  authorizationCode: 'D4E5F6',
  receiptData: 'KAPE\n2 Benguet coffee beans, 250 g\nPHP 250.00\n',
} as const

/** What a client sends, of each message. */
export const terminalRequestExamples: ExamplesOf<TerminalRequest> = {
  getTerminals: {
    terminals: { summary: 'Where can be paid?', payload: { action: 'getTerminals', requestId: '1' } },
  },
  payment: {
    approved: {
      summary: 'A sale by card.',
      payload: {
        action: 'payment',
        requestId: '2',
        terminalId,
        paymentRequest: { transactionId: 'ORDER-1001', ...sale },
      },
    },
    withProducts: {
      summary: 'A sale with all that a till may tell of it.',
      payload: { action: 'payment', requestId: '3', terminalId, paymentRequest: cart },
    },
    busy: {
      summary: 'A sale at a terminal that has another in hand.',
      payload: {
        action: 'payment',
        requestId: '5',
        terminalId,
        paymentRequest: { transactionId: 'ORDER-1005', ...sale },
      },
    },
  },
  cancelPayment: {
    cancelled: {
      summary: 'The payer has changed their mind.',
      payload: { action: 'cancelPayment', requestId: '4', transactionId: 'ORDER-1004' },
    },
    ended: {
      summary: 'A payment that has ended.',
      payload: { action: 'cancelPayment', requestId: '6', transactionId: 'ORDER-1001' },
    },
  },
  voidPayment: {
    voided: {
      summary: 'The money is to be given back.',
      payload: { action: 'voidPayment', requestId: '7', transactionId: 'ORDER-1001', reason: 'Wrong table.' },
    },
    refused: {
      summary: 'A void that the terminal refuses.',
      payload: { action: 'voidPayment', requestId: '8', transactionId: 'ORDER-1002', reason: 'Sent back.' },
    },
  },
  ping: {
    taken: {
      summary: 'Behind a report: the pong says that it was taken.',
      payload: { action: 'ping', requestId: '2' },
    },
  },
  paymentResponse: {
    approved: {
      summary: 'Approved: all four are needed.',
      payload: {
        action: 'paymentResponse',
        requestId: '1',
        transactionId: 'ORDER-1001',
        paymentResponse: { ...approval, amount: sale.amount, currency: sale.currency },
      },
    },
    withProducts: {
      summary: 'Approved, with a receipt.',
      payload: {
        action: 'paymentResponse',
        requestId: '3',
        transactionId: 'ORDER-1002',
        paymentResponse: { ...cartApproval, amount: cart.amount, currency: cart.currency },
      },
    },
    declined: {
      summary: 'Declined.',
      payload: {
        action: 'paymentResponse',
        requestId: '4',
        transactionId: 'ORDER-1003',
        paymentResponse: decline,
      },
    },
    cancelled: {
      summary: 'Cancelled, by the till or at the terminal.',
      payload: {
        action: 'paymentResponse',
        requestId: '5',
        transactionId: 'ORDER-1004',
        paymentResponse: { status: 'CANCELLED' },
      },
    },
    withoutCode: {
      summary: 'An approval without its code, which is not taken.',
      payload: {
        action: 'paymentResponse',
        requestId: '6',
        transactionId: 'ORDER-1006',
        paymentResponse: { status: 'SUCCESS', amount: sale.amount, currency: sale.currency },
      },
    },
  },
  paymentStatus: {
    pending: {
      summary: 'The payment goes on.',
      payload: { action: 'paymentStatus', requestId: '9', transactionId: 'ORDER-1007', status: 'PENDING' },
    },
    unknown: {
      summary: 'The terminal has no record of it.',
      payload: { action: 'paymentStatus', requestId: '10', transactionId: 'ORDER-1008', status: 'UNKNOWN' },
    },
  },
  voidResult: {
    voided: {
      summary: 'It was given back.',
      payload: { action: 'voidResult', requestId: '7', transactionId: 'ORDER-1001', success: true },
    },
    refused: {
      summary: 'It could not be given back.',
      payload: {
        action: 'voidResult',
        requestId: '8',
        transactionId: 'ORDER-1002',
        success: false,
        error: 'BATCH_CLOSED',
      },
    },
  },
}
