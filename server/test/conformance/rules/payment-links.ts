import { built, joined } from './rule.ts'

/** Links: fields, operations, states, and the cap on their uses. */
export const paymentLinks = joined(
  built({
    'C4.link.id': 'a link has an id, a uuid',
    'C4.link.type': 'the type of a link is one_time or multi_use',
    'C4.link.branch': 'a link shows the branch that it belongs to in merchant_branch_reference_number',
    'C4.link.currency': 'a link shows its currency',
    'C4.link.amount': 'a link shows its amount, an integer in minor units',
    'C4.link.line-items': 'a link shows its line_items as they were given',
    'C4.link.line-item': 'a line item has sku, name, unit_price, quantity and, where given, metadata',
    'C4.link.description': 'a link shows description where one was given',
    'C4.link.status': 'the status of a link is ACTIVE, CONSUMED, EXPIRED or CANCELLED',
    'C4.link.expires-at': 'a link shows expires_at',
    'C4.link.url': 'a link shows the url of its checkout page, to be shared with payers',
    'C4.link.max-uses': 'a multi_use link with a limit shows max_uses',
    'C4.link.successful-payment-count': 'a link counts its successful payments in successful_payment_count',
    'C4.link.metadata': 'a link shows its metadata, an empty object where none was given',
    'C4.link.created-at': 'a link has created_at',
    'C4.link.updated-at': 'updated_at of a link moves with every change, a payment included',
    'C4.link.order-reference': 'a link shows order_reference where one was given',
    'C4.link.redirect-urls': 'a link shows in redirect_urls those of success, declined and expired that were given',
    'C4.link.present':
      'id, type, status, branch, currency, amount, line_items, expires_at, url, count, metadata and both times are always there',
    'C4.link.absent': 'any other field of a link is left out while it has no value',

    'C4.link-create.created': 'creating a link is 201 with the link, ACTIVE',
    'C4.link-create.required': 'a create without type, currency, amount or line_items is 400 BAD_REQUEST',
    'C4.link-create.type-unknown': 'a type that is neither one_time nor multi_use is 400',
    'C4.link-create.currency':
      'a link is in PHP; further currencies are a setting, and any other is 400 INVALID_CURRENCY',
    'C4.link-create.amount-min': 'the amount of a link is an integer of at least 1, else 400',
    'C4.link-create.amount-sum':
      'the amount of a link must equal the sum of unit_price times quantity, else 400 INVALID_AMOUNT',
    'C4.link-create.line-items-count': 'a link has 1 to 100 line items, else 400',
    'C4.link-create.unit-price': 'unit_price is an integer of at least 0, else 400',
    'C4.link-create.quantity': 'quantity is an integer of at least 1, else 400',
    'C4.link-create.expires-default': 'a link without expires_at expires after 24 hours',
    'C4.link-create.expires-future': 'an expires_at that is not in the future is 400 INVALID_EXPIRES_AT',
    'C4.link-create.branch-required': 'partner and merchant keys must name merchant_branch_reference_number, else 400',
    'C4.link-create.branch-own':
      'a branch key may leave merchant_branch_reference_number out, and the link belongs to its branch',
    'C4.link-create.order-reference-length':
      'order_reference has at most 100 characters, else 400 INVALID_ORDER_REFERENCE',
    'C4.link-create.redirect-urls':
      'redirect_urls takes success, declined and expired, each https, else 400 INVALID_REDIRECT_URLS',
    'C4.link-create.redirect-loopback':
      'a sandbox also takes redirects to http on a loopback address; a live installation refuses them',
    'C4.link-create.max-uses-multi':
      'max_uses belongs to multi_use links alone; on a one_time link it is 400 INVALID_MAX_USES',
    'C4.link-create.max-uses-range': 'max_uses is 1 to 1,000,000, else 400 INVALID_MAX_USES',
    'C4.link-create.max-uses-unlimited': 'a multi_use link whose max_uses is null or left out has no limit',
    'C4.link-create.metadata-limits':
      'metadata has at most 50 keys of 40 characters with values of 500, else 400 INVALID_METADATA',

    'C4.link-list.ok': 'listing links is 200 with the list envelope',
    'C4.link-list.bytes':
      'a page of links ends where it has 4 MiB of line items and metadata: it may be short while has_more says that the list goes on',
    'C4.link-list.scoped': 'a list of links shows those of the entity of the key and of everything under it',
    'C4.link-list.status':
      'status keeps the links in any of the states of a comma-separated list, and an unknown state is 400',
    'C4.link-list.status-exact': 'the status filter counts a link as EXPIRED from its expires_at on',
    'C4.link-list.branch':
      'merchant_branch_reference_number keeps the links of that branch, and a value of any length is taken',
    'C4.link-list.date-from': 'date_from keeps the links created after that time, the time itself excluded',
    'C4.link-list.date-to': 'date_to keeps the links created before that time, the time itself excluded',
    'C4.link-list.page-size-default': 'a list of links has pages of 20 unless page_size is given',
    'C4.link-list.page-size-range': 'page_size of a list of links is 1 to 200, and anything else, over 200 too, is 400',
    'C4.link-list.cursor-empty': 'an empty cursor is 400',
    'C4.link-list.old-names': 'area C refuses created_after, created_before and page_token with 400',
    'C4.link-retrieve.ok': 'retrieving a link is 200 with the link',
    'C4.link-retrieve.unknown': 'an id of no link is 404 NOT_FOUND',

    'C4.link-state.consumed-one-time': 'a one_time link becomes CONSUMED at its first successful payment',
    'C4.link-state.consumed-multi-use': 'a multi_use link becomes CONSUMED when max_uses payments have succeeded',
    'C4.link-state.expired':
      'an ACTIVE link is EXPIRED from its expires_at on, in every read, before any sweeper comes by',
    'C4.link-state.expired-updated-at': 'updated_at of an expired link is its expires_at',
    'C4.link-state.final': 'CONSUMED, EXPIRED and CANCELLED are final',
    'C4.uses.cap':
      'reserved uses and successful payments together never exceed max_uses, or 1 for a one_time link, under any concurrency',
    'C4.uses.reserved': 'a use is reserved when an attempt starts processing',
    'C4.uses.released': 'a reserved use is free again when its attempt fails',
    'C4.uses.code-over':
      'a code holds a use of its link until its time is over, and keeps it from nobody after that, before any sweeper comes by',
    'C4.uses.late-success':
      'an attempt that is processing when its link expires or is cancelled still counts and keeps its receipt',
    'C4.uses.late-success-link': 'a late success leaves the link in its final state',
  }),

  built({
    'C4.link.cancelled-at': 'a cancelled link shows cancelled_at',
    'C4.link.cancellation-reason': 'a cancelled link shows cancellation_reason where one was given',

    'C4.link-update.ok': 'updating a link is 200 with the whole link',
    'C4.link-update.description': 'an update can change description',
    'C4.link-update.order-reference': 'an update can change order_reference, with the same limit as on create',
    'C4.link-update.redirect-urls': 'an update can change each of the redirect_urls and leaves the others as they are',
    'C4.link-update.max-uses': 'max_uses of a multi_use link can be raised, lowered or set to null',
    'C4.link-update.max-uses-taken':
      'a max_uses not greater than successful payments and reserved uses together is 400 INVALID_MAX_USES',
    'C4.link-update.max-uses-lock':
      'max_uses changes under the lock of the link: payments that go on at the same time cannot exceed it',
    'C4.link-update.expires-later': 'expires_at can only move later, else 400 INVALID_EXPIRES_AT',
    'C4.link-update.metadata': 'an update of metadata replaces the whole object',
    'C4.link-update.fixed': 'an update that names type, currency, amount, line_items or the branch is 400',
    'C4.link-update.not-active': 'an update of a link that is not ACTIVE is 422 INVALID_STATE',
    'C4.link-cancel.ok': 'cancelling an ACTIVE link is 200 with the link, CANCELLED',
    'C4.link-cancel.reason': 'a cancel may give a reason of at most 500 characters',
    'C4.link-cancel.again': 'cancelling a CANCELLED link is 200 and changes nothing',
    'C4.link-cancel.ended': 'cancelling a CONSUMED or EXPIRED link is 422 INVALID_STATE',
    'C4.link-state.cancelled': 'an ACTIVE link becomes CANCELLED when the merchant cancels it',
  }),
)
