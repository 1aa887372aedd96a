import { exampleCursor, exampleIds } from './example-ids.ts'
import type { Example } from './operation.ts'
import { approval, decline, sale, terminalId } from './terminal-request-examples.ts'
import type { TerminalInfo, TerminalPaymentResponse, TerminalTransaction, VoidResult } from './terminal-types.ts'
import type { TerminalWebhook } from './terminal-webhooks.ts'

// A morning of a till that pays over HTTP, at one terminal.

const at = (time: string) => `2026-01-15T${time}Z`

const terminal: TerminalInfo = {
  connectionId: exampleIds.connection,
  terminalId,
  deviceId: terminalId,
  connectedAt: at('10:00:00.000'),
  lastActivity: at('10:14:45.000'),
  status: 'online',
}

export const terminalList = { terminals: [terminal], count: 1, timestamp: at('10:15:00.000') }

export const payment = { transactionId: 'ORDER-1001', ...sale }

const approved: TerminalPaymentResponse = { ...payment, ...approval, timestamp: at('10:30:08.400') }

type PaymentExamples = Readonly<Record<string, Example<TerminalPaymentResponse>>>

export const paid: PaymentExamples = {
  approved: { answer: approved },
  declined: {
    request: { ...payment, transactionId: 'ORDER-1002' },
    answer: { ...payment, transactionId: 'ORDER-1002', ...decline, timestamp: at('10:32:11.200') },
  },
}

export const taken: PaymentExamples = {
  webhookMode: {
    request: { ...payment, transactionId: 'ORDER-1003', webhookMode: true },
    answer: { ...payment, transactionId: 'ORDER-1003', status: 'PENDING', timestamp: at('10:35:00.000') },
  },
}

export const transaction: TerminalTransaction = {
  transactionId: 'ORDER-1001',
  status: 'COMPLETED',
  request: payment,
  response: approved,
  createdAt: at('10:30:00.000'),
  updatedAt: at('10:30:08.400'),
  completedAt: at('10:30:08.400'),
  terminalDeviceId: terminalId,
  timestamp: at('10:45:00.000'),
}

export const transactionList = {
  transactions: [transaction],
  count: 1,
  nextCursor: exampleCursor,
  timestamp: at('10:45:00.000'),
}

export const voiding = { reason: 'Wrong table.' }

export const voided: VoidResult = {
  success: true,
  transactionId: 'ORDER-1001',
  reason: 'Wrong table.',
  voidedAt: at('10:50:03.700'),
}

export const cancelling: TerminalTransaction = {
  transactionId: 'ORDER-1004',
  status: 'PENDING',
  request: { ...payment, transactionId: 'ORDER-1004' },
  createdAt: at('10:40:00.000'),
  updatedAt: at('10:40:00.000'),
  terminalDeviceId: terminalId,
  timestamp: at('10:40:12.000'),
}

export const newWebhook = {
  url: 'https://shop.example.com/terminals',
  events: ['payment.completed', 'payment.failed'],
} satisfies Partial<TerminalWebhook>

export const webhook: TerminalWebhook = {
  endpointId: exampleIds.terminalEndpoint,
  ...newWebhook,
  status: 'active',
  createdAt: at('09:00:00.000'),
  updatedAt: at('09:00:00.000'),
}

export const createdWebhook = { ...webhook, secret: 'whsec_dGhlLXRpbGwtaXMtdG9sZC1vZi13aGF0LWl0LXNvbGQ=' }

export const webhookList = { endpoints: [webhook], count: 1, timestamp: at('09:05:00.000') }

export const disabledWebhook: TerminalWebhook = { ...webhook, status: 'disabled', updatedAt: at('12:00:00.000') }
