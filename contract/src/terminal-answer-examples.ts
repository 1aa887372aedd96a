import { exampleIds } from './example-ids.ts'
import type { TerminalAnswer } from './terminal-messages.ts'
import {
  approval,
  cart,
  cartApproval,
  decline,
  sale,
  terminalId,
  type ExamplesOf,
} from './terminal-request-examples.ts'
import type { TerminalInfo } from './terminal-types.ts'

const at = (time: string) => `2026-01-15T${time}Z`
const pushed = (time: string) => ({ timestamp: at(time), groupId: exampleIds.group, version: 'v1' }) as const

const otherTerminal = 'KAPE-2-T1'
const terminal: TerminalInfo = {
  connectionId: exampleIds.connection,
  terminalId,
  deviceId: terminalId,
  connectedAt: at('10:00:00.000'),
  lastActivity: at('10:00:00.000'),
  status: 'online',
}
// As every answer has it.
const { products: _products, customerInfo: _customer, ...cartEcho } = cart

/** What the server sends, of each message. */
export const terminalAnswerExamples: ExamplesOf<TerminalAnswer> = {
  terminalsResponse: {
    terminals: {
      summary: 'One terminal takes payments, and one has lost its line.',
      payload: {
        action: 'terminalsResponse',
        terminals: [
          { ...terminal, lastActivity: at('10:14:45.000') },
          {
            connectionId: exampleIds.otherConnection,
            terminalId: otherTerminal,
            deviceId: otherTerminal,
            connectedAt: at('10:00:05.000'),
            lastActivity: at('10:14:40.000'),
            status: 'reconnecting',
          },
        ],
        timestamp: at('10:15:00.000'),
        requestId: '1',
      },
    },
  },
  paymentAccepted: {
    approved: {
      summary: 'The payment is taken; its end follows.',
      payload: {
        action: 'paymentAccepted',
        transactionId: 'ORDER-1001',
        terminalId,
        timestamp: at('10:30:00.020'),
        requestId: '2',
      },
    },
  },
  cancelAccepted: {
    cancelled: {
      summary: 'The terminal is asked to cancel.',
      payload: {
        action: 'cancelAccepted',
        transactionId: 'ORDER-1004',
        timestamp: at('10:40:12.030'),
        requestId: '4',
      },
    },
  },
  voidResultToDesktop: {
    voided: {
      summary: 'The money is given back.',
      payload: {
        action: 'voidResult',
        success: true,
        transactionId: 'ORDER-1001',
        reason: 'Wrong table.',
        voidedAt: at('10:50:03.700'),
        requestId: '7',
      },
    },
    refused: {
      summary: 'The terminal refused, and the money is kept.',
      payload: {
        action: 'voidResult',
        success: false,
        transactionId: 'ORDER-1002',
        reason: 'Sent back.',
        error: 'BATCH_CLOSED',
        requestId: '8',
      },
    },
  },
  pong: {
    taken: {
      summary: 'What was sent before the ping was taken.',
      payload: { action: 'pong', timestamp: at('10:30:08.420'), requestId: '2' },
    },
  },
  error: {
    busy: {
      summary: 'The terminal has another payment in hand.',
      payload: {
        action: 'error',
        error: 'Conflict',
        message:
          'The terminal is busy with another payment (ORDER-1006); wait for its end, or cancel it. One that was given up keeps it for 2 minutes at most.',
        code: 'PAYMENT_IN_PROGRESS',
        requestId: '5',
        timestamp: at('10:45:30.010'),
      },
    },
    withoutCode: {
      summary: 'To a terminal: its report was not taken.',
      payload: {
        action: 'error',
        error: 'Bad Request',
        message:
          'A SUCCESS needs authorizationCode, a decimal amount and a currency of three capitals; nothing was changed.',
        code: 'INVALID_REQUEST',
        requestId: '6',
        timestamp: at('10:45:40.010'),
      },
    },
    ended: {
      summary: 'The payment has ended, so there is nothing to cancel.',
      payload: {
        action: 'error',
        error: 'Conflict',
        message: 'Only a payment that is open can be cancelled; this one has ended.',
        code: 'INVALID_TRANSACTION_STATE',
        requestId: '6',
        timestamp: at('10:48:00.010'),
      },
    },
  },
  paymentToTerminal: {
    approved: {
      summary: 'A sale by card.',
      payload: {
        action: 'payment',
        transactionId: 'ORDER-1001',
        terminalId,
        connectionId: exampleIds.connection,
        paymentRequest: { transactionId: 'ORDER-1001', ...sale },
        ...pushed('10:30:00.018'),
      },
    },
    withProducts: {
      summary: 'A sale with all that a till may tell of it.',
      payload: {
        action: 'payment',
        transactionId: 'ORDER-1002',
        terminalId,
        connectionId: exampleIds.connection,
        paymentRequest: cart,
        ...pushed('10:32:00.018'),
      },
    },
  },
  cancelPaymentToTerminal: {
    cancelled: {
      summary: 'The payer has changed their mind.',
      payload: { action: 'cancelPayment', transactionId: 'ORDER-1004', ...pushed('10:40:12.028') },
    },
  },
  voidPaymentToTerminal: {
    voided: {
      summary: 'The money is to be given back.',
      payload: {
        action: 'voidPayment',
        transactionId: 'ORDER-1001',
        reason: 'Wrong table.',
        ...pushed('10:50:00.020'),
      },
    },
    refused: {
      summary: 'A void that the terminal refuses.',
      payload: {
        action: 'voidPayment',
        transactionId: 'ORDER-1002',
        reason: 'Sent back.',
        ...pushed('10:52:00.020'),
      },
    },
  },
  paymentStatusToTerminal: {
    pending: {
      summary: 'After a line that was lost: how does this payment stand?',
      payload: { action: 'paymentStatus', transactionId: 'ORDER-1007', ...pushed('11:10:20.100') },
    },
    unknown: {
      summary: 'After a restart of the terminal in mid-payment.',
      payload: { action: 'paymentStatus', transactionId: 'ORDER-1008', ...pushed('11:20:20.100') },
    },
  },
  terminalStatusUpdate: {
    connected: {
      summary: 'A terminal is here: for the first time, or again.',
      payload: {
        action: 'terminalStatusUpdate',
        terminalId,
        status: 'connected',
        deviceId: terminalId,
        connectionId: exampleIds.connection,
        terminalInfo: terminal,
        ...pushed('10:00:00.010'),
      },
    },
    reconnecting: {
      summary: 'It has lost its line, and has 60 seconds to come back.',
      payload: {
        action: 'terminalStatusUpdate',
        terminalId: otherTerminal,
        status: 'reconnecting',
        deviceId: otherTerminal,
        ...pushed('10:14:50.010'),
      },
    },
    disconnected: {
      summary: 'It did not come back.',
      payload: {
        action: 'terminalStatusUpdate',
        terminalId: otherTerminal,
        status: 'disconnected',
        ...pushed('10:15:50.010'),
      },
    },
  },
  paymentComplete: {
    approved: {
      summary: 'Paid.',
      payload: {
        action: 'paymentComplete',
        transactionId: 'ORDER-1001',
        terminalId,
        paymentResponse: {
          transactionId: 'ORDER-1001',
          ...sale,
          ...approval,
          timestamp: at('10:30:08.400'),
        },
        ...pushed('10:30:08.410'),
      },
    },
    withProducts: {
      summary: 'Paid, with the receipt of the terminal and the metadata of the till.',
      payload: {
        action: 'paymentComplete',
        transactionId: 'ORDER-1002',
        terminalId,
        paymentResponse: {
          ...cartEcho,
          ...cartApproval,
          timestamp: at('10:32:11.200'),
        },
        ...pushed('10:32:11.210'),
      },
    },
    declined: {
      summary: 'Declined.',
      payload: {
        action: 'paymentComplete',
        transactionId: 'ORDER-1003',
        terminalId,
        paymentResponse: {
          transactionId: 'ORDER-1003',
          ...sale,
          ...decline,
          timestamp: at('10:35:09.100'),
        },
        ...pushed('10:35:09.110'),
      },
    },
    cancelled: {
      summary: 'Cancelled.',
      payload: {
        action: 'paymentComplete',
        transactionId: 'ORDER-1004',
        terminalId,
        paymentResponse: {
          transactionId: 'ORDER-1004',
          ...sale,
          status: 'CANCELLED',
          timestamp: at('10:40:14.300'),
        },
        ...pushed('10:40:14.310'),
      },
    },
    unknown: {
      summary: 'The terminal came back and had no record of it.',
      payload: {
        action: 'paymentComplete',
        transactionId: 'ORDER-1008',
        terminalId,
        paymentResponse: {
          transactionId: 'ORDER-1008',
          ...sale,
          status: 'FAILED',
          errorCode: 'TERMINAL_LOST_PAYMENT',
          errorMessage: 'The terminal has no record of this payment: nothing was charged.',
          timestamp: at('11:20:20.300'),
        },
        ...pushed('11:20:20.310'),
      },
    },
  },
  paymentVoided: {
    voided: {
      summary: 'The money is given back.',
      payload: {
        action: 'paymentVoided',
        transactionId: 'ORDER-1001',
        terminalId,
        reason: 'Wrong table.',
        voidedAt: at('10:50:03.700'),
        ...pushed('10:50:03.710'),
      },
    },
  },
  paymentTimeout: {
    timeout: {
      summary: 'No result came within 90 seconds.',
      payload: {
        action: 'paymentTimeout',
        transactionId: 'ORDER-1009',
        terminalId,
        code: 'TIMEOUT',
        ...pushed('11:31:30.010'),
      },
    },
    lineLost: {
      summary: 'Its terminal did not come back within 60 seconds.',
      payload: {
        action: 'paymentTimeout',
        transactionId: 'ORDER-1000',
        terminalId: otherTerminal,
        code: 'TERMINAL_CONNECTION_ERROR',
        ...pushed('10:15:50.010'),
      },
    },
  },
  forceDisconnect: {
    replaced: {
      summary: 'Another socket has this key or this device id; do not connect again by yourself.',
      payload: {
        action: 'forceDisconnect',
        reason: 'api_key_used_elsewhere',
        message: 'This key or device has connected elsewhere.',
        ...pushed('11:45:00.000'),
      },
    },
    restarting: {
      summary: 'Connect again in a few seconds.',
      payload: {
        action: 'forceDisconnect',
        reason: 'server_restarting',
        message: 'The server restarts; connect again in a few seconds.',
        ...pushed('11:50:00.000'),
      },
    },
  },
}
