import Type from 'typebox'
import { newRefund, refund } from './ecommerce-examples.ts'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import { Amount, ById, Closed, Currency, OneOf, Text, Timestamp, Uuid } from './primitives.ts'

const refundStatuses = ['PENDING', 'SUCCEEDED', 'FAILED'] as const

export const CreateRefund = Closed({
  payment_intent_id: Uuid('The payment to give back, an intent that SUCCEEDED.'),
  amount: Type.Optional(Amount('At most what is left of the payment. All that is left when absent.')),
  reason: Type.Optional(Text(500, 'Why, in your own words. The payer does not see it.')),
})

export const Refund = Closed({
  id: Uuid('The refund, a UUID of version 7.'),
  payment_intent_id: Uuid('The payment that it gives back.'),
  amount: Amount('What is given back.'),
  currency: Currency,
  status: OneOf(refundStatuses, 'PENDING until the processor has answered; SUCCEEDED and FAILED are final.'),
  reason: Type.Optional(Type.String({ description: 'As sent.' })),
  created_at: Timestamp('When the refund was asked for.'),
})

export const createRefund = operation({
  id: 'createRefund',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/refunds',
  summary: 'Refund a payment',
  description:
    'Gives a payment back, in whole or in part. The refund is stored and its amount held back before the processor is called. A processor that does not answer in time leaves it PENDING; retrieve it until it is settled. FAILED frees the amount.',
  auth: 'key',
  scope: 'refunds.create',
  idempotency: 'required',
  body: CreateRefund,
  success: { 201: { description: 'The refund, as far as it is known.', schema: Refund, example: refund } },
  errors: [
    'INVALID_PAYMENT_INTENT_ID',
    'INVALID_AMOUNT',
    'INVALID_REASON',
    'INVALID_IDEMPOTENCY_KEY',
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'NOT_FOUND',
    'INVALID_STATE',
    'AMOUNT_EXCEEDS_REMAINING',
  ],
  example: newRefund,
  errorExamples: {
    INVALID_STATE: { message: 'This intent is ACTIVE; only a payment that SUCCEEDED is refunded.' },
  },
})

export const retrieveRefund = operation({
  id: 'retrieveRefund',
  area: 'ecommerce',
  method: 'GET',
  path: '/ecom/v1/refunds/{id}',
  summary: 'Retrieve a refund',
  description: 'One refund of the entity of the key or of an entity under it, as it stands.',
  auth: 'key',
  scope: 'refunds.read',
  params: ById,
  success: { 200: { description: 'The refund.', schema: Refund, example: refund } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  exampleParameters: { id: exampleIds.refund },
})
