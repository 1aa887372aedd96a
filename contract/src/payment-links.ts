import Type from 'typebox'
import { cancelledLink, changedLink, link, linkChange, linkPage, newLink } from './ecommerce-examples.ts'
import { exampleIds } from './example-ids.ts'
import { operation } from './operation.ts'
import { LineItem, RedirectUrls, linkStatuses, linkTypes, optionalOfPayment } from './payment-types.ts'
import {
  Amount,
  ById,
  Closed,
  CommaList,
  Count,
  Currency,
  Cursor,
  Metadata,
  Nullable,
  OneOf,
  Page,
  PageSize,
  Text,
  Timestamp,
  Uuid,
  WebAddress,
} from './primitives.ts'

const maxUsesMax = 1_000_000

export const CreatePaymentLink = Closed({
  type: OneOf(linkTypes, 'one_time ends with its first success; multi_use takes several.'),
  currency: Currency,
  amount: Amount('Equal to the sum of unit_price × quantity.'),
  line_items: Type.Array(LineItem, { minItems: 1, maxItems: 100, description: '1 to 100 lines.' }),
  max_uses: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: maxUsesMax,
        description: 'Successes allowed; multi_use only. Null or absent: unlimited.',
      }),
    ),
  ),
  ...optionalOfPayment,
})

export const UpdatePaymentLink = Closed({
  description: Type.Optional(Nullable(Text(255, 'Replaces the description; null removes it.'))),
  order_reference: Type.Optional(Nullable(Text(100, 'Replaces your order number; null removes it.'))),
  redirect_urls: Type.Optional(
    Closed(
      {
        success: Type.Optional(Nullable(WebAddress('Where the payer goes after a success.'))),
        declined: Type.Optional(Nullable(WebAddress('Where the payer goes after giving up on a declined payment.'))),
        expired: Type.Optional(Nullable(WebAddress('Where the payer goes from an expired page.'))),
      },
      {
        description:
          'Each that is named is replaced, or removed by null; the others stay. The same rules as on create.',
      },
    ),
  ),
  max_uses: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: maxUsesMax,
        description:
          'Successes allowed; multi_use only. Greater than the successful payments and those being processed together; null: unlimited.',
      }),
    ),
  ),
  expires_at: Type.Optional(Timestamp('Later than the present one.')),
  metadata: Type.Optional(Metadata('Replaces the whole object, with the limits of create.')),
})

export const CancelPaymentLink = Closed({
  reason: Type.Optional(Text(500, 'Why; shown in cancellation_reason.')),
})

export const PaymentLink = Closed({
  id: Uuid('The link.'),
  type: OneOf(linkTypes, 'one_time or multi_use.'),
  status: OneOf(linkStatuses, 'Exact at the time of the answer.'),
  merchant_branch_reference_number: Type.String({ description: 'The branch that is paid.' }),
  currency: Currency,
  amount: Amount('What one payment takes.'),
  line_items: Type.Array(LineItem),
  description: Type.Optional(Type.String()),
  expires_at: Timestamp('When the link ends.'),
  url: Type.String({ format: 'uri', description: 'The checkout page to share.' }),
  max_uses: Type.Optional(Type.Integer({ description: 'Successes allowed; absent: unlimited.' })),
  successful_payment_count: Count('Successful payments so far.'),
  metadata: Metadata('As sent.'),
  created_at: Timestamp('When the link was made.'),
  updated_at: Timestamp('When it last changed.'),
  cancelled_at: Type.Optional(Timestamp('When it was cancelled.')),
  cancellation_reason: Type.Optional(Type.String({ description: 'Why it was cancelled.' })),
  order_reference: Type.Optional(Type.String()),
  redirect_urls: Type.Optional(RedirectUrls),
})

export const createPaymentLink = operation({
  id: 'createPaymentLink',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-links',
  summary: 'Create a payment link',
  description:
    'Makes a shareable checkout page. One-time links end with their first success, multi-use links with max_uses successes.',
  auth: 'key',
  scope: 'payment_links.create',
  idempotency: 'required',
  body: CreatePaymentLink,
  success: { 201: { description: 'The link.', schema: PaymentLink, example: link } },
  errors: [
    'INVALID_TYPE',
    'INVALID_CURRENCY',
    'INVALID_AMOUNT',
    'INVALID_LINE_ITEMS',
    'INVALID_EXPIRES_AT',
    'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
    'INVALID_DESCRIPTION',
    'INVALID_ORDER_REFERENCE',
    'INVALID_REDIRECT_URLS',
    'INVALID_MAX_USES',
    'INVALID_METADATA',
    'INVALID_IDEMPOTENCY_KEY',
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
  ],
  example: newLink,
})

export const listPaymentLinks = operation({
  id: 'listPaymentLinks',
  area: 'ecommerce',
  method: 'GET',
  path: '/ecom/v1/payment-links',
  summary: 'List payment links',
  description:
    'Links of the entity of the key and of all entities under it, newest first. A page ends where it has 4 MiB of line items and metadata, and may then hold fewer than `page_size` while `has_more` is true: go on with `next_cursor`.',
  auth: 'key',
  scope: 'payment_links.read',
  query: Closed({
    status: Type.Optional(CommaList(linkStatuses, 'One or more statuses, comma-separated.')),
    merchant_branch_reference_number: Type.Optional(Type.String({ description: 'Only links of this branch.' })),
    date_from: Type.Optional(Timestamp('Only links created after this time.')),
    date_to: Type.Optional(Timestamp('Only links created before this time.')),
    page_size: Type.Optional(PageSize(200)),
    cursor: Type.Optional(Cursor),
  }),
  success: { 200: { description: 'A page of links.', schema: Page(PaymentLink), example: linkPage } },
  errors: ['INVALID_STATUS', 'INVALID_DATE_RANGE', 'INVALID_PAGE_SIZE', 'INVALID_CURSOR'],
  exampleParameters: { status: ['ACTIVE'], page_size: 1 },
})

export const retrievePaymentLink = operation({
  id: 'retrievePaymentLink',
  area: 'ecommerce',
  method: 'GET',
  path: '/ecom/v1/payment-links/{id}',
  summary: 'Retrieve a payment link',
  description: 'One link of the entity of the key or of an entity under it.',
  auth: 'key',
  scope: 'payment_links.read',
  params: ById,
  success: { 200: { description: 'The link.', schema: PaymentLink, example: link } },
  errors: ['INVALID_ID', 'NOT_FOUND'],
  exampleParameters: { id: exampleIds.link },
})

export const updatePaymentLink = operation({
  id: 'updatePaymentLink',
  area: 'ecommerce',
  method: 'PATCH',
  path: '/ecom/v1/payment-links/{id}',
  summary: 'Update a payment link',
  description:
    'Changes what is named and nothing else, while the link is ACTIVE; an empty object changes nothing. The type, the currency, the amount, the lines and the branch are fixed. Payment intents that were made of the link already keep what they were made with, their expires_at too.',
  auth: 'key',
  scope: 'payment_links.update',
  params: ById,
  body: UpdatePaymentLink,
  success: { 200: { description: 'The whole link, as it is now.', schema: PaymentLink, example: changedLink } },
  errors: [
    'INVALID_ID',
    'INVALID_DESCRIPTION',
    'INVALID_ORDER_REFERENCE',
    'INVALID_REDIRECT_URLS',
    'INVALID_MAX_USES',
    'INVALID_EXPIRES_AT',
    'INVALID_METADATA',
    'NOT_FOUND',
    'INVALID_STATE',
  ],
  example: linkChange,
  exampleParameters: { id: exampleIds.link },
})

export const cancelPaymentLink = operation({
  id: 'cancelPaymentLink',
  area: 'ecommerce',
  method: 'POST',
  path: '/ecom/v1/payment-links/{id}/cancel',
  summary: 'Cancel a payment link',
  description:
    'Ends an ACTIVE link for good, and with it the payment intents of it that are still open. A payment that is being processed goes on: should it succeed, it counts and has its receipt, and the link stays CANCELLED. Cancelling a CANCELLED link changes nothing.',
  auth: 'key',
  scope: 'payment_links.cancel',
  idempotency: 'optional',
  params: ById,
  body: CancelPaymentLink,
  bodyOptional: true,
  success: { 200: { description: 'The link, CANCELLED.', schema: PaymentLink, example: cancelledLink } },
  errors: [
    'INVALID_ID',
    'INVALID_REASON',
    'INVALID_IDEMPOTENCY_KEY',
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'NOT_FOUND',
    'INVALID_STATE',
  ],
  example: { reason: 'Sold out.' },
  exampleParameters: { id: exampleIds.link },
  errorExamples: { INVALID_STATE: { message: 'The link is CONSUMED; it cannot be changed any more.' } },
})
