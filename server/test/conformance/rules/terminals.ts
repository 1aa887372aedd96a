import { joined, later } from './rule.ts'

/** Area D over HTTP: fields, operations, signatures, amounts and errors. */
export const terminals = joined(
  later('terminals', {
    'D5.request.transaction-id': 'a payment request may carry transactionId; a UUIDv7 is made where it is left out',
    'D5.request.amount': 'a payment request must carry amount, a string or a number',
    'D5.request.currency': 'a payment request must carry currency, an ISO 4217 code',
    'D5.request.payment-method': 'a payment request must carry paymentMethod: CARD, CASH, MOBILE or OTHER',
    'D5.request.products': 'a payment request may carry products',
    'D5.request.customer-info':
      'a payment request may carry customerInfo with customerId, email and phone, each optional',
    'D5.request.metadata': 'a payment request may carry metadata, which is stored',
    'D5.product.id': 'a product must have an id',
    'D5.product.name': 'a product must have a name',
    'D5.product.price': 'a product must have a price for one unit, a string or a number',
    'D5.product.quantity': 'a product must have a quantity, a number',
    'D5.product.optional': 'a product may have category, sku, brand, tax and discount',

    'D5.response.transaction-id': 'a payment response has transactionId',
    'D5.response.status': 'the status of a payment response is SUCCESS, FAILED, PENDING or CANCELLED',
    'D5.response.echo': 'a payment response has the amount, currency and paymentMethod of the request',
    'D5.response.authorization-code': 'a payment response with SUCCESS has authorizationCode',
    'D5.response.error': 'a payment response with FAILED has errorCode and errorMessage',
    'D5.response.receipt-data': 'receiptData of the terminal is passed on as it is',
    'D5.response.timestamp': 'a payment response has a timestamp',
    'D5.response.metadata': 'metadata of the request comes back unchanged in responses and webhooks',

    'D5.terminal.connection-id': 'a terminal has a connectionId, which changes when it connects anew',
    'D5.terminal.terminal-id': 'terminalId is the device id, or the connection id where there is none',
    'D5.terminal.device-id': 'deviceId is what the terminal gave as X-Device-Id when it connected',
    'D5.terminal.times': 'a terminal has connectedAt and lastActivity',
    'D5.terminal.status': 'the status of a terminal is online, offline or reconnecting',
    'D5.terminal.metadata': 'a terminal may have metadata',

    'D5.record.fields':
      'a transaction record has transactionId, status, request, createdAt, updatedAt and timestamp, the time of this answer',
    'D5.record.response': 'a transaction record has response once the payment has one',
    'D5.record.completed-at': 'a transaction record has completedAt once the payment has ended',
    'D5.record.terminal-device-id': 'a transaction record names the device in terminalDeviceId',
    'D5.record.voided': 'a transaction record of a VOIDED payment has voidedAt and voidReason',
    'D5.record.voided-automatically': 'the response of a record that was voided automatically holds no SUCCESS',
    'D5.void-result.fields': 'a void result has success, transactionId and reason',
    'D5.void-result.voided-at': 'a void result with success has voidedAt',
    'D5.void-result.error': 'a void result without success has error',

    'D5.list.ok': 'listing terminals is 200 with terminals, count and timestamp',
    'D5.list.connected': 'the list shows terminals that are online or reconnecting',
    'D5.list.group': "the list shows terminals of the caller's group alone",
    'D5.list.role': 'a key whose role is terminal is 403 GROUP_MISMATCH',
    'D5.resolve.device-first':
      "a terminalId is looked up in the caller's group as a device id first, then as a connection id",

    'D5.pay.ok': 'a payment that the terminal answers is 200 with the payment response',
    'D5.pay.webhook-mode': 'webhookMode true answers 202 at once with a whole payment response that says PENDING',
    'D5.pay.webhook-mode-no-endpoint':
      'webhookMode true in a group without an active webhook endpoint is 400 NO_WEBHOOK_ENDPOINTS',
    'D5.pay.hang-up': 'a caller that hangs up cancels nothing',
    'D5.pay.server-stops': 'a server that stops answers waiting calls with 200 and PENDING, and gives nothing up',

    'D5.id.form': 'a transactionId is 1 to 64 letters, digits, dots, underscores or hyphens, and need not be a uuid',
    'D5.id.unique': 'a transactionId is unique within its group for good',
    'D5.id.joins': 'the same id with the same terminal and body joins the running wait, and charges nothing',
    'D5.id.replays':
      'the same id with the same terminal and body gives the stored answer once there is one, and charges nothing',
    'D5.id.other-body': 'the same id with another body is 409 TRANSACTION_CONFLICT',
    'D5.id.other-terminal': 'the same id with another terminal is 409 TRANSACTION_CONFLICT',
    'D5.id.past-retention': 'the id of a transaction past its retention is 409 TRANSACTION_CONFLICT',
    'D5.id.voided-automatically':
      'a repeat after an automatic void gives what the first caller was given, never SUCCESS',
    'D5.id.voided-on-request': 'a repeat after a requested void is 200 with FAILED and errorCode VOIDED',

    'D5.transaction.ok': 'a transaction is read by its id as a transaction record',
    'D5.transactions.ok': 'transactions are listed by status, terminalId, dateFrom, dateTo, pageSize and cursor',
    'D5.void.ok': 'a void that was understood is 200 with a void result',
    'D5.void.reason': 'the reason of a void has at most 255 characters and is requested where it is left out',
    'D5.cancel.ok': 'a cancel answers with the transaction record',
    'D5.retention.socket': 'a transaction started over WebSocket is gone from this API 7 days after its end',
    'D5.retention.http': 'a transaction started over HTTP is gone from this API 30 days after its end',

    'D5.keys.pair': 'the operator issues keys as pairs of key and secret',
    'D5.keys.role': 'a key has the role desktop or terminal',
    'D5.keys.binding': 'a key is bound to a group, and one of a terminal to a branch too',
    'D5.keys.group-header': "an x-group-id that is not the key's group is 403 GROUP_MISMATCH",

    'D5.signature.headers': 'a request must carry x-api-key, x-timestamp and x-signature',
    'D5.signature.string':
      'signed are the upper-case method, the path, x-timestamp and the lower-case hex SHA-256 of the body, joined by line feeds without one at the end',
    'D5.signature.empty-body': 'a request without a body is signed with the hash of the empty string',
    'D5.signature.exact-body': 'the hash is taken over the body exactly as sent',
    'D5.signature.path-as-sent': 'the signed path is the path as sent',
    'D5.signature.path-prefix': 'where the service lives under a prefix, the path after the prefix is accepted too',
    'D5.signature.query': 'the query string is not part of the signed path',
    'D5.signature.base64':
      'x-signature is canonical padded Base64 of 32 bytes, and any other form is 401 INVALID_SIGNATURE',
    'D5.signature.constant-time': 'signatures are compared in constant time',
    'D5.signature.window': 'an x-timestamp more than 5 minutes before or after server time is 401 TIMESTAMP_EXPIRED',
    'D5.signature.replay':
      'a signed POST that is repeated within the window joins or replays the first and never charges twice',
    'D5.signature.replay-committed':
      'a used signature is stored in the transaction of its payment until its timestamp leaves the window',

    'D5.amount.form':
      'an amount is a decimal string or a JSON number over 0, with no more decimals than the currency has',
    'D5.amount.digits': 'an amount has at most 12 integer digits',
    'D5.amount.number': 'an amount given as a number has at most 15 significant digits and no exponent',
    'D5.amount.echo':
      'an amount given as a string comes back as it was sent, one given as a number as a number of the same value',
    'D5.amount.webhook': "a webhook carries the amount as a string with the currency's decimals",
    'D5.amount.line': "a product line is price times quantity, rounded half up to the currency's decimals",
    'D5.amount.quantity': 'a quantity is over 0 and has at most 3 decimals',
    'D5.amount.tax-discount': 'tax and discount are amounts for the whole line',
    'D5.amount.sum':
      'the amount equals the sum of the lines, or that sum plus tax minus discount, else 400 INVALID_AMOUNT',
    'D5.amount.currencies': 'USD, EUR, GBP, PHP, JPY, CAD and AUD are taken; the list is a setting',

    'D5.errors.envelope': 'an error is an object error with code, message and details, beside timestamp and requestId',
    'D5.errors.details': 'details is an object or null',
    'D5.errors.invalid-request': 'a malformed body or a missing field is 400 INVALID_REQUEST',
    'D5.errors.invalid-amount': 'an amount that is not valid is 400 INVALID_AMOUNT',
    'D5.errors.unauthorized': 'a missing or unknown key is 401 UNAUTHORIZED',
    'D5.errors.invalid-signature': 'a signature that does not match is 401 INVALID_SIGNATURE',
    'D5.errors.group-mismatch': 'a resource of another group is 403 GROUP_MISMATCH',
    'D5.errors.transaction-not-found': 'a transaction that does not exist is 404 TRANSACTION_NOT_FOUND',
    'D5.errors.rate-limited': 'too many requests are 429 RATE_LIMITED',
    'D5.errors.internal': 'a defect of ours is 500 INTERNAL_ERROR and tells nothing of its cause in area D',
    'D5.errors.invalid-state': 'a cancel in a state that allows none is 409 INVALID_TRANSACTION_STATE',
  }),
  later('terminal webhooks', {
    'D5.webhook.fields':
      'a terminal webhook endpoint has endpointId, url, events, status, createdAt, updatedAt and, where given, description and metadata',
    'D5.webhook.secret-once': 'the signing secret is in the answer to the create and in no other',
    'D5.webhook.status': 'the status of a terminal webhook endpoint is active or disabled',
    'D5.webhook.events': 'the events are payment.completed, payment.failed, payment.cancelled and payment.timeout',
    'D5.webhook.https': 'the url must be https; a sandbox also takes http on a loopback address',
    'D5.webhook.role': 'the operations of terminal webhooks take desktop keys alone',
    'D5.webhook.create': 'creating an endpoint is 201',
    'D5.webhook.list': 'listing endpoints gives endpoints, count and timestamp',
    'D5.webhook.retrieve': 'an endpoint can be retrieved by its id',
    'D5.webhook.update': 'a PUT takes any of url, events, description, status and metadata',
    'D5.webhook.delete': 'deleting an endpoint is 204',
    'D5.webhook.ping': 'a create and a change of url first send a signed ping, which must get a 2xx',
    'D5.webhook.ping-failed': 'a ping that fails is one and the same 400, whatever the cause',
    'D5.webhook.limit': 'a group has at most 16 endpoints; one more is 409 ENDPOINT_LIMIT_REACHED',
    'D5.webhook.ids': 'ids of endpoints are wh_ and those of events evt_, each with a ULID',
    'D5.webhook.secret-form': 'the secret begins with whsec_',
    'D5.webhook.always-sent': 'webhooks are sent for every payment of a group with endpoints, in any mode',
    'D5.webhook.signature': 'signature, attempts and retries are those of area A, and webhook-id is the eventId',
    'D5.webhook.payload': 'a payload has eventType, eventId, timestamp and data',
    'D5.webhook.data':
      'data has transactionId, status, amount, currency, paymentMethod and terminalId, and where they exist authorizationCode, errorCode, errorMessage, receiptData and metadata',
    'D5.webhook.data-status': 'the status in data is SUCCESS, FAILED, CANCELLED or TIMEOUT',
    'D5.webhook.completed': 'payment.completed is sent when the terminal returns SUCCESS that is kept',
    'D5.webhook.failed': 'payment.failed is sent when the terminal returns FAILED, never got the payment, or lost it',
    'D5.webhook.cancelled': 'payment.cancelled is sent when the terminal returns CANCELLED',
    'D5.webhook.timeout':
      'payment.timeout is sent when 90 s pass without a result that counts, and also covers a success that came too late',
    'D5.webhook.one': 'each payment has exactly one webhook event',
  }),
)
