import { built, joined } from './rule.ts'

/** Merchants, branches, transactions and settlement, as a merchant reads them. */
export const reporting = joined(
  built({
    'B3.document.version': 'the description of area B is published as version 1.0.0',
    'B3.merchants.ok': 'listing merchants is 200 with the list envelope of id and name',
    'B3.merchants.order': 'merchants are sorted by name in collation C, then by id',

    'B3.branches.ok': 'listing branches is 200 with the list envelope of id, name and merchant_id',
    'B3.branches.order': 'branches are sorted by name in collation C, then by id',
    'B3.branches.visible': 'without merchant_id a key sees every branch that it may see, and no other',
    'B3.branches.merchant': 'merchant_id keeps the branches of one merchant',
    'B3.branches.merchant-canonical': 'a merchant_id that is no lowercase canonical uuid is 400',
    'B3.branches.page-size-default': 'a list of branches has pages of 20 unless page_size is given',
    'B3.branches.page-size-clamped': 'a page_size over 100 counts as 100',
    'B3.branches.page-size-invalid': 'a page_size that is 0, negative or no integer is 400',
    'B3.branches.stable':
      'the id of a branch stays the same, and is the value for the branch_id filter of transactions',

    'B3.transactions.ok': 'listing transactions is 200 with the list envelope',
    'B3.transactions.scoped': 'a list of transactions shows those of the entity of the key and of everything under it',
    'B3.transactions.merchant': 'merchant_id keeps the transactions of one merchant',
    'B3.transactions.branch': 'branch_id keeps the transactions of one branch',
    'B3.transactions.activation-code': 'activation_code keeps the transactions of the branch that has it',
    'B3.transactions.payment-method':
      'payment_method keeps one of QR_PH, CARD_PRESENT, CARD_NOT_PRESENT, CASH, MOBILE and OTHER',
    'B3.transactions.card-brand': 'card_brand keeps one of VISA, MASTERCARD, JCB, UNIONPAY, AMEX and DISCOVER',
    'B3.transactions.status': 'status keeps the transactions in any of the states of a comma-separated list',
    'B3.transactions.date-from': 'date_from keeps the transactions created at that time or later',
    'B3.transactions.date-to': 'date_to keeps the transactions created at that time or earlier',
    'B3.transactions.sort-by': 'sort_by is created_at, updated_at or amount, and created_at where it is left out',
    'B3.transactions.sort-order': 'sort_order is asc or desc, and desc where it is left out',
    'B3.transactions.sort-tie': 'the id breaks ties, in the same direction',
    'B3.transactions.page-size': 'page_size is 1 to 100, 20 where it is left out, and over 100 counts as 100',
    'B3.transactions.old-names': 'area B refuses created_after, created_before and page_token with 400',
    'B3.transaction.ok': 'retrieving a transaction is 200 with its detail in data',
    'B3.transaction.unknown': 'an id of no transaction is 404 NOT_FOUND',

    'B3.transaction.always':
      'a transaction always has id, status, amount, currency, payment_method, created_at and updated_at',
    'B3.transaction.amount': 'the amount of a transaction is in minor units',
    'B3.transaction.card': 'a transaction by card has card_brand and card_last_four',
    'B3.transaction.correlation':
      'a transaction has the correlation_id of the request that made it, where there was one',
    'B3.transaction.amount-details':
      'amount_details has amount_authorized, amount_capturable, amount_received, amount_refunded, original_amount, tax_amount and final_amount',
    'B3.transaction.receipt':
      'receipt has receipt_number, auth_number, batch_number, approval_code and reference_number',
    'B3.transaction.merchant-details':
      'merchant_details has merchant_name, merchant_id, partner_name, branch_id and branch_name',
    'B3.detail.fields':
      'the detail adds partner_name, activation_code, approval_code, reference_number, settlement_status, settled_at and events',
    'B3.detail.events': 'each of the events of a detail has event_type, created_at, amount, description and reason',
    'B3.detail.lapsed':
      'what a deadline has ended has the event of that end from then on, whether or not anybody has stored it',
    'B3.detail.event-amount': 'the amount of such an event is the minor units as text',

    'B3.status.one-per-attempt': 'each payment attempt of area C is one transaction',
    'B3.status.pending.ecommerce': 'an attempt that is REQUIRES_ACTION or PROCESSING is PENDING',
    'B3.status.captured.ecommerce': 'an attempt that SUCCEEDED is CAPTURED',
    'B3.status.declined.ecommerce': 'an attempt that was DECLINED is DECLINED',
    'B3.status.failed.ecommerce': 'an attempt that FAILED is FAILED',
    'B3.status.cancelled.ecommerce':
      'an attempt that was ABANDONED because its intent was cancelled or its link used up is CANCELLED',
    'B3.status.expired.ecommerce': 'an attempt that was ABANDONED because its intent expired is EXPIRED',
    'B3.status.expiry-exact':
      'reporting counts what has expired as EXPIRED from that moment on, before any sweeper comes by',
    'B3.status.authorized': 'AUTHORIZED is kept for connectors that authorize and capture apart',

    'B3.status.terminal-over':
      'a sale at a terminal that was not written to it within 10 seconds, or has no result within 24 hours, is FAILED from then on',
    'B3.status.challenge-over': 'an attempt whose challenge nobody took is DECLINED from its deadline on',
    'B3.transactions.cursor': 'a cursor that is not of the same list, parameters and entity is 400 BAD_REQUEST',
    'B3.transactions.date-order': 'a date_from later than date_to is 400 BAD_REQUEST',
    'B3.transactions.stable':
      'pages by a value that does not change lose and repeat no row while others are written; by updated_at only a row that changes may be missed or come twice',
    'B3.errors.envelope': 'an error is an object error with code and message, and nothing else',
    'B3.errors.bad-request': 'a request that fails validation is 400 BAD_REQUEST',
    'B3.errors.not-found': 'an unknown path or resource of area B is 404 NOT_FOUND',
    'B3.errors.unauthorized': 'a missing or invalid key is 401 UNAUTHORIZED in area B',
    'B3.errors.method': 'a wrong method is 405 in area B',
    'B3.errors.rate': 'too many requests are 429 RATE_LIMITED in area B',
    'B3.errors.internal': 'a defect of ours is 500 INTERNAL_ERROR in area B and tells nothing of its cause',

    'B3.csv.accept': 'Accept text/csv on the list of transactions gives the whole filtered result as CSV',
    'B3.csv.bounded': 'the CSV is streamed with bounded memory',
    'B3.csv.at-once':
      'a process makes two exports of a merchant and its branches, or of a partner, at a time and four in all; one more is 429 RATE_LIMITED with Retry-After',
    'B3.csv.stalled': 'an export of which nothing is taken for 30 seconds is ended with its connection',
    'B3.csv.form': 'the CSV follows RFC 4180, and its header row names the fields in the order of the contract',
    'B3.csv.nested': 'a nested field has its path as its name, as in amount_details.amount_received',
    'B3.csv.page': 'page_size has no effect on the CSV, and a cursor begins it where that page would',
    'B3.csv.formula':
      'a cell that begins with an equals sign, plus, minus, at sign, tab or return gets a leading apostrophe',
    'B3.status.one-per-code': 'each QR code of area E is one transaction',
    'B3.status.pending.qr': 'a code that is PENDING is PENDING',
    'B3.status.captured.qr': 'a code that is PAID is CAPTURED',
    'B3.status.declined.qr': 'a code that is DECLINED is DECLINED',
    'B3.status.expired.qr': 'a code that is EXPIRED is EXPIRED',
  }),
  built({
    'B3.status.refunded':
      'a transaction whose amount was refunded in part is PARTIALLY_REFUNDED, and in whole REFUNDED',
  }),
  built({
    'B3.status.one-per-terminal-transaction': 'each terminal transaction of area D is one transaction',
    'B3.status.captured.terminals': 'a terminal transaction that is COMPLETED is CAPTURED',
    'B3.status.declined.terminals': "a terminal transaction that FAILED with an issuer's decline code is DECLINED",
    'B3.status.voided.terminals': 'a terminal transaction that is VOIDED is VOIDED',
  }),
  built({
    'B3.transaction.terminal-details': 'terminal_details has terminal_name, activation_code and serial_number',
    'B3.transaction.terminal-values':
      'terminal_name and serial_number are the device id, and activation_code is that of the branch of the terminal',
    'B3.status.pending.terminals': 'a terminal transaction that is PENDING or AWAITING_RECONNECT is PENDING',
    'B3.status.failed.terminals': 'a terminal transaction that FAILED for another cause is FAILED',
    'B3.status.cancelled.terminals': 'a terminal transaction that is CANCELLED is CANCELLED',
    'B3.status.terminal-branch': 'a sale belongs to the branch of its terminal',
  }),
  built({
    'B3.settlement.status': 'settlement_status is UNSETTLED, SETTLED or NOT_APPLICABLE',
    'B3.settlement.midnight': 'a sandbox settles at 00:00 in Asia/Manila',
    'B3.settlement.batch-number': 'the batch_number is the date of the batch',
    'B3.settlement.sum':
      'a batch equals the sum of its transactions, and each is in one batch, whatever runs at the same time',
    'B3.settlement.refunds':
      'a refund before the batch of its payment is taken off that batch, and a later one off the batch of its own day',
    'B3.settlement.voids':
      'a void after the batch of its payment is taken off the batch of its own day, and one before it leaves the payment out of any',
    'B3.settlement.missed': 'days that were missed are settled each in its own batch',
    'B3.settlements.scoped': 'a settlement is that of the entity of the key and of everything under it',
    'B3.settlements.unknown': 'a batch number that is no day is 400 BAD_REQUEST, and one without a batch 404 NOT_FOUND',
    'B3.settlements.list': 'listing settlements gives the daily batches with count, gross, refunds and net',
    'B3.settlements.retrieve': 'retrieving a settlement by its batch number gives that batch',
  }),
)
