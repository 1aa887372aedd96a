import Type from 'typebox'
import {
  cancelledIntent,
  confirmation,
  confirmed,
  confirmedSlowly,
  createdIntent,
  paidIntent,
} from './ecommerce-examples.ts'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import { failureCategories, intentStatuses, optionalOfPayment } from './payment-types.ts'
import { Amount, ById, Closed, Currency, OneOf, Timestamp, Uuid } from './primitives.ts'

export const Receipt = Closed({
  approval_code: Type.String({
    description: "The issuer's approval code (ISO 8583 field 38); for QR Ph the bank's reference.",
  }),
  transaction_id: Type.String({ description: "The processor's id of the payment." }),
  reconciliation_id: Type.String({ description: "The processor's id for reconciliation." }),
  card_scheme: Type.Optional(Type.String({ description: 'VISA, MASTERCARD, …; absent for QR Ph.' })),
  card_last_four: Type.Optional(Type.String({ description: 'Last four digits of the card; absent for QR Ph.' })),
  invoice_number: Type.String({ description: "The receipt's own number." }),
  completed_at: Timestamp('When the payment succeeded.'),
})

const intentProperties = {
  id: Uuid('The payment intent, a UUID of version 7.'),
  amount: Amount('What is paid.'),
  currency: Currency,
  status: OneOf(intentStatuses, 'The intent as it stands, or its latest attempt.'),
  updated_at: Timestamp('When the returned state came about.'),
  order_reference: Type.Optional(Type.String({ description: 'As sent, or the order reference of the link.' })),
  payment_attempt_id: Type.Optional(Uuid('The latest attempt.')),
  user_message: Type.Optional(Type.String({ description: 'What a payer may read about the latest outcome.' })),
  failure_category: Type.Optional(OneOf(failureCategories, 'Why the latest attempt did not succeed.')),
  receipt: Type.Optional(Receipt),
}

export const PaymentIntent = Closed(intentProperties)

export const CreatedPaymentIntent = Closed({
  ...intentProperties,
  client_secret: Type.String({ description: 'Lets the payer confirm this one intent. Shown once, here.' }),
  checkout_url: Type.String({ format: 'uri', description: "The payer's page for this intent." }),
})

export const ConfirmedPaymentIntent = Closed({
  ...intentProperties,
  next_action: Type.Optional(
    Closed({
      type: OneOf(['redirect'], 'What the payer must do.'),
      url: Type.String({ format: 'uri', description: 'Where to send the payer.' }),
    }),
  ),
})

export const CreatePaymentIntent = Closed({
  amount: Type.Optional(Amount('Required without a link; with one it must equal the amount of the link.')),
  currency: Type.Optional(Currency),
  payment_link_id: Type.Optional(Uuid('An ACTIVE link that this intent pays.')),
  ...optionalOfPayment,
})

export const ConfirmPaymentIntent = Closed({
  client_secret: Type.Optional(Type.String({ description: 'Of the intent; a secret key may be used instead.' })),
  payment_method: Closed({
    type: OneOf(['card', 'qrph'], 'How the payer pays: by a card, or by a QR Ph code on the checkout page (PHP).'),
    card: Type.Optional(
      Closed(
        {
          number: Type.String({ description: 'Digits only.' }),
          exp_month: Type.Integer({ description: '1 to 12.' }),
          exp_year: Type.Integer({ description: 'Four digits.' }),
          cvc: Type.String({ description: '3 digits, 4 for American Express.' }),
          name: Type.Optional(Type.String({ maxLength: 100, description: 'Name on the card.' })),
        },
        { description: 'Required for a card, and for nothing else.' },
      ),
    ),
  }),
})

export const createPaymentIntent = operation({
  id: 'createPaymentIntent',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-intents',
  summary: 'Create a payment intent',
  description:
    'Starts one payment, of a link or on its own. The answer carries the client_secret for the page of the payer.',
  auth: 'key',
  scope: 'payment_intents.create',
  idempotency: 'required',
  body: CreatePaymentIntent,
  success: {
    201: { description: 'The intent and its client_secret.', schema: CreatedPaymentIntent, example: createdIntent },
  },
  errors: [
    'INVALID_AMOUNT',
    'INVALID_CURRENCY',
    'INVALID_EXPIRES_AT',
    'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
    'INVALID_DESCRIPTION',
    'INVALID_ORDER_REFERENCE',
    'INVALID_REDIRECT_URLS',
    'INVALID_METADATA',
    'INVALID_PAYMENT_LINK_ID',
    'INVALID_IDEMPOTENCY_KEY',
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'NOT_FOUND',
    'INVALID_STATE',
  ],
  example: { amount: 9800, currency: 'PHP', order_reference: 'ORDER-1002' },
  errorExamples: { INVALID_STATE: { message: 'The link is CANCELLED; it takes no more payments.' } },
})

export const retrievePaymentIntent = operation({
  id: 'retrievePaymentIntent',
  area: 'ecommerce',
  method: 'GET',
  path: '/ecom/v1/payment-intents/{id}',
  summary: 'Retrieve a payment intent',
  description: 'The authoritative status of a payment, and its receipt once it succeeded. Never the client_secret.',
  auth: 'key',
  scope: 'payment_intents.read',
  params: ById,
  success: { 200: { description: 'The intent.', schema: PaymentIntent, example: paidIntent } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  exampleParameters: { id: exampleIds.ownIntent },
})

export const confirmPaymentIntent = operation({
  id: 'confirmPaymentIntent',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-intents/{id}/confirm',
  summary: 'Confirm a payment intent',
  description:
    'Pays with a card, or makes a QR Ph code that the payer pays. Takes the client_secret from the page of the payer, or a secret key. Answers with the outcome, with next_action while the payer must take a challenge or pay the code, or with 202 while the processor has not answered.',
  auth: 'key_or_client_secret',
  scope: 'payment_intents.confirm',
  params: ById,
  body: ConfirmPaymentIntent,
  success: {
    200: { description: 'The intent after the attempt.', schema: ConfirmedPaymentIntent, examples: confirmed },
    202: {
      description: 'The processor has not answered yet; retrieve the intent until it is settled.',
      schema: ConfirmedPaymentIntent,
      examples: confirmedSlowly,
    },
  },
  errors: [
    'INVALID_ID',
    'INVALID_CARD',
    'INVALID_CLIENT_SECRET',
    'INVALID_PAYMENT_METHOD',
    'NOT_FOUND',
    'INTENT_PROCESSING',
    'INTENT_INVALID_STATE',
    'LINK_FULLY_RESERVED',
    'ATTEMPT_LIMIT_REACHED',
  ],
  example: confirmation,
  exampleParameters: { id: exampleIds.ownIntent },
})

export const cancelPaymentIntent = operation({
  id: 'cancelPaymentIntent',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-intents/{id}/cancel',
  summary: 'Cancel a payment intent',
  description:
    'Ends an intent that is not paid, and a challenge or a QR Ph code that is open on it. While an attempt is being processed it cannot be cancelled. Cancelling a CANCELLED intent changes nothing.',
  auth: 'key',
  scope: 'payment_intents.cancel',
  idempotency: 'optional',
  params: ById,
  success: { 200: { description: 'The intent, CANCELLED.', schema: PaymentIntent, example: cancelledIntent } },
  errors: [
    'INVALID_ID',
    'INVALID_IDEMPOTENCY_KEY',
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'NOT_FOUND',
    'INTENT_PROCESSING',
    'INTENT_INVALID_STATE',
  ],
  exampleParameters: { id: exampleIds.ownIntent },
  errorExamples: {
    INTENT_INVALID_STATE: { message: 'This intent is SUCCEEDED; it cannot be cancelled any more.' },
  },
})
