import { built, joined } from './rule.ts'

/** Intents, their attempts and the projection of both, refunds, idempotency, errors and card data. */
export const paymentIntents = joined(
  built({
    'C4.intent.id': 'an intent has an id, a UUIDv7',
    'C4.intent.amount': 'an intent shows its amount, an integer in the smallest unit of its currency',
    'C4.intent.currency': 'an intent shows its currency, an ISO 4217 code',
    'C4.intent.status': 'an intent shows one status: its own, or the one of its latest attempt',
    'C4.intent.updated-at': 'updated_at of an intent tells when the shown state came about',
    'C4.intent.order-reference': 'an intent shows order_reference, and leaves it out where none was given',
    'C4.intent.payment-attempt-id': 'payment_attempt_id names the latest attempt, and is left out until there is one',
    'C4.intent.user-message': 'user_message tells the payer of the latest outcome, and is left out where there is none',
    'C4.intent.user-message-failures': 'every failure has a user_message',
    'C4.intent.failure-category':
      'failure_category is one of the six of the contract, and is left out in any state that is no failure',
    'C4.intent.receipt': 'an intent shows a receipt once a payment has succeeded, and leaves it out before',
    'C4.receipt.fields':
      'a receipt has approval_code, transaction_id, reconciliation_id, card_scheme, card_last_four, invoice_number and completed_at; for QR Ph there is no card to tell of',

    'C4.intent-create.created': 'creating an intent is 201 with the intent, ACTIVE',
    'C4.intent-create.optional':
      'order_reference, description, metadata, payment_link_id, expires_at and redirect_urls of an intent may be left out',
    'C4.intent-create.client-secret': 'the answer to a create also has client_secret',
    'C4.intent-create.checkout-url': "the answer to a create also has checkout_url, the payer's page",
    'C4.intent-create.branch':
      'the branch of an intent without a link is named as on a link: required for partner and merchant keys',
    'C4.intent-create.amount-min': 'the amount of an intent is an integer of at least 1, else 400',
    'C4.intent-create.order-reference-length':
      'order_reference of an intent has at most 100 characters, else 400 INVALID_ORDER_REFERENCE',
    'C4.intent-create.currency': 'a currency that is not set up is 400 INVALID_CURRENCY',
    'C4.intent-create.metadata-limits':
      'metadata of an intent has the limits of that of a link, else 400 INVALID_METADATA',
    'C4.intent-create.redirect-urls': 'redirect_urls of an intent obey the rules of those of a link',
    'C4.intent-create.expires-default': 'an intent without a link and without expires_at expires after 24 hours',
    'C4.intent-create.expires-default-link':
      'an intent of a link expires after 24 hours or with the link, whichever is first',
    'C4.intent-create.link-inherits':
      'an intent of a link takes amount, currency and branch from it where they are left out',
    'C4.intent-create.link-amount': 'an amount that differs from that of the link is 400 INVALID_AMOUNT',
    'C4.intent-create.link-currency': 'a currency that differs from that of the link is 400 INVALID_CURRENCY',
    'C4.intent-create.link-branch':
      'a branch that differs from that of the link is 400 INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER',
    'C4.intent-create.link-expires': 'an expires_at later than that of the link is 400 INVALID_EXPIRES_AT',
    'C4.intent-create.link-not-active': 'an intent of a link that is not ACTIVE is 422 INVALID_STATE',
    'C4.intent-create.link-unknown': 'an intent of a link that does not exist or is foreign is 404 NOT_FOUND',
    'C4.intent-retrieve.ok': 'retrieving an intent with a secret key is 200',
    'C4.intent-retrieve.no-client-secret': 'retrieving an intent never shows client_secret',
    'C4.intent-retrieve.unknown': 'an id of no intent is 404 NOT_FOUND',
    'C4.intent-retrieve.expired':
      'an intent is EXPIRED from its expires_at on in every read, with updated_at equal to it, before any sweeper comes by',
  }),

  built({
    'C4.confirm.ok': 'a confirm that settles is 200 with the intent',
    'C4.confirm.client-secret': 'a confirm with the client_secret of the intent needs no key',
    'C4.confirm.secret-key': 'a confirm with a secret key needs no client_secret',
    'C4.confirm.pages':
      'a page of any origin may confirm with the client_secret and read the answer, and may send neither a key nor a cookie',
    'C4.confirm.client-secret-wrong': 'a client_secret that is not the one of the intent is 401 UNAUTHORIZED',
    'C4.confirm.card': 'a card has number, exp_month, exp_year of four digits, cvc and, if wanted, name',
    'C4.confirm.card-digits': 'a number that is not made of the right count of digits is 400 INVALID_CARD',
    'C4.confirm.card-luhn': 'a number that fails the Luhn check is 400 INVALID_CARD',
    'C4.confirm.card-month': 'an exp_month that is not 1 to 12 is 400 INVALID_CARD',
    'C4.confirm.card-expired': 'a card whose month has passed is 400 INVALID_CARD',
    'C4.confirm.card-cvc': 'a cvc of the wrong length for the brand is 400 INVALID_CARD',
    'C4.confirm.card-details': 'INVALID_CARD names the field and the rule in details and repeats nothing of the card',
    'C4.confirm.card-no-attempt': 'a malformed card makes no attempt',
    'C4.confirm.attempt-limit': 'an intent has at most 20 attempts; the next confirm is 409 ATTEMPT_LIMIT_REACHED',
    'C4.confirm.link-full': 'a confirm on a link without a free use is 409 LINK_FULLY_RESERVED and makes no attempt',
    'C4.confirm.order':
      'a confirm checks client_secret, state, card form, attempt limit, a use of the link, eligibility and verification in this order',
    'C4.confirm.rate-live':
      'in live, confirms with a client_secret are limited to 30 a minute for each client address: 429 RATE_LIMITED',
    'C4.confirm.rate-setting': 'the limit of confirms for each client address is a setting',
    'C4.confirm.again': 'after a decline or a failure an intent can be confirmed again with another card',
    'C4.confirm.wait':
      'a confirm waits up to 10 s, a setting, for the processor, and then answers 202 while the intent is PROCESSING',
    'C4.confirm.settles-at-once':
      'every test card other than the slow ones and those without an answer settles within the confirm',
    'C4.reconcile.asks':
      'a call that the processor did not answer is asked about until its outcome is known, and never guessed',
    'C4.challenge.next-action':
      'while a challenge is needed the answer to the confirm has next_action, a redirect with a url',
    'C4.challenge.retrieve': 'retrieving an intent never shows next_action',
    'C4.confirm.qrph': 'an intent can be confirmed with a payment_method of type qrph',
  }),

  built({
    'C4.projection.succeeded': 'an intent with an attempt that SUCCEEDED shows SUCCEEDED, whatever else is stored',
    'C4.projection.processing': 'otherwise an intent whose latest attempt is PROCESSING shows PROCESSING',
    'C4.projection.ended': 'otherwise an intent that is CANCELLED, EXPIRED or CONSUMED shows that',
    'C4.projection.latest': 'otherwise an intent shows the state of its latest attempt, and ACTIVE where it has none',
    'C4.projection.abandoned': 'an ABANDONED attempt counts as none: never shown, no user_message, no failure_category',

    'C4.machine.open.ineligible':
      'open, confirm with a card that an eligibility rule refuses before the processor: DECLINED, CARD_NOT_ELIGIBLE',
    'C4.machine.open.verification-refused':
      'open, confirm with verification refused without a challenge: DECLINED, VERIFICATION_REJECTED',
    'C4.machine.open.verification-down':
      'open, confirm while the verification service is down: FAILED, VERIFICATION_UNAVAILABLE',
    'C4.machine.open.challenge': 'open, confirm that needs a challenge: REQUIRES_ACTION',
    'C4.machine.open.confirm': 'open, confirm that passes every check: PROCESSING',
    'C4.machine.requires-action.passed': 'REQUIRES_ACTION, challenge passed and a use of the link is free: PROCESSING',
    'C4.machine.requires-action.passed-full':
      'REQUIRES_ACTION, challenge passed but no use is free: ACTIVE, and the attempt is ABANDONED',
    'C4.machine.requires-action.refused': 'REQUIRES_ACTION, challenge refused: DECLINED, VERIFICATION_REJECTED',
    'C4.machine.requires-action.abandoned':
      'REQUIRES_ACTION, challenge left alone for 15 minutes: DECLINED, VERIFICATION_REJECTED',
    'C4.machine.requires-action.down': 'REQUIRES_ACTION, challenge service down: FAILED, VERIFICATION_UNAVAILABLE',
    'C4.machine.requires-action.confirm': 'REQUIRES_ACTION, confirm: unchanged, 409 INVALID_STATE',
    'C4.machine.processing.approved': 'PROCESSING, approved: SUCCEEDED with a receipt',
    'C4.machine.processing.refused': 'PROCESSING, refused by the issuer: DECLINED, PAYMENT_REJECTED',
    'C4.machine.processing.unavailable':
      'PROCESSING, processor or issuer network says with authority that it is unavailable and authorized nothing: FAILED, PROCESSOR_UNAVAILABLE',
    'C4.machine.processing.error':
      'PROCESSING, processor error that is known to have authorized nothing: FAILED, PAYMENT_PROCESSING_ERROR',
    'C4.machine.processing.no-answer':
      'PROCESSING, no answer: stays PROCESSING until the processor has been asked and knows',
    'C4.machine.processing.confirm': 'PROCESSING, confirm: unchanged, 409 INTENT_PROCESSING',
    'C4.machine.processing.cancel': 'PROCESSING, cancel: unchanged, 409 INTENT_PROCESSING',
    'C4.machine.processing.ends':
      'PROCESSING, expires_at passes or the link ends: stays PROCESSING, and the end is stored',
    'C4.machine.processing.ended-approved': 'PROCESSING with a stored end, approved: SUCCEEDED',
    'C4.machine.processing.ended-refused':
      'PROCESSING with a stored end, refused: EXPIRED, CONSUMED or CANCELLED, as was stored',
    'C4.machine.waiting.expires':
      'open or REQUIRES_ACTION, expires_at passes: EXPIRED, and an open attempt is ABANDONED',
    'C4.machine.waiting.cancelled':
      'open or REQUIRES_ACTION, the merchant cancels: CANCELLED, and an open attempt is ABANDONED',
    'C4.machine.waiting.link-consumed': 'open or REQUIRES_ACTION, its link is consumed: CONSUMED',
    'C4.machine.waiting.link-expired': 'open or REQUIRES_ACTION, its link expires: EXPIRED',
    'C4.machine.waiting.link-cancelled': 'open or REQUIRES_ACTION, its link is cancelled: CANCELLED',
    'C4.machine.any.challenge-late':
      'any state, the result of a challenge for an attempt that is not REQUIRES_ACTION any more: unchanged, and the processor is not called',
    'C4.machine.final.confirm': 'SUCCEEDED, EXPIRED, CANCELLED or CONSUMED, confirm: unchanged, 409 INVALID_STATE',
    'C4.machine.final.cancel': 'SUCCEEDED, EXPIRED or CONSUMED, cancel: unchanged, 409 INVALID_STATE',
    'C4.machine.cancelled.cancel': 'CANCELLED, cancel: unchanged, 200',
    'C4.challenge.full-told':
      'a payer who passed the challenge when no use was free is told that the link is being used up',
  }),
  built({
    'C4.intent-cancel.ok': 'cancelling an intent with a secret key is 200 with the intent, CANCELLED',
  }),

  built({
    'C4.checkout.get-creates-nothing':
      "a GET of a link's checkout page creates nothing, so that link previews are harmless",
    'C4.checkout.first-submission': 'a visit to a link makes one intent, at its first submission',
    'C4.checkout.twice': 'a payer who submits twice pays once and sees the result, not an error',
  }),

  built({
    'C4.idempotency.required': 'creating a link or an intent without Idempotency-Key is 400 INVALID_IDEMPOTENCY_KEY',
    'C4.idempotency.form':
      'an Idempotency-Key is 8 to 64 letters, digits, dots, underscores or hyphens, else 400 INVALID_IDEMPOTENCY_KEY',
    'C4.idempotency.replay':
      'the same key with the same request gives the first answer again, with Idempotent-Replayed true',
    'C4.idempotency.same': 'two bodies are the same if they are equal as canonical JSON, and the path counts too',
    'C4.idempotency.mismatch': 'the same key with another request is 409 IDEMPOTENCY_MISMATCH',
    'C4.idempotency.in-progress': 'the same key while the first request still runs is 409 IDEMPOTENCY_IN_PROGRESS',
    'C4.idempotency.lease': 'a key whose request died with its process can be used again, after 30 s at the latest',
    'C4.idempotency.errors-free': 'a request that failed changed nothing and frees its key',
    'C4.idempotency.entity': 'two entities may use the same key without meeting',
    'C4.idempotency.operation': 'two operations may use the same key without meeting',
    'C4.idempotency.day': 'a key is remembered for 24 hours',
    'C4.idempotency.area': 'an Idempotency-Key has no effect in area A',
    'C4.idempotency.sealed': 'the kept answers are sealed, because they may hold a client_secret',
  }),
  built({
    'C4.idempotency.optional-cancel': 'a cancel may carry an Idempotency-Key and works without one',
  }),
  built({
    'C4.idempotency.required-refund': 'creating a refund without Idempotency-Key is 400 INVALID_IDEMPOTENCY_KEY',
  }),

  built({
    'C4.errors.envelope':
      'an error is an object error with code, message, correlation_id and, where a field is to blame, details',
    'C4.errors.details': 'details names the field and the rule that it broke, as in description and non_blank',
    'C4.errors.bad-request':
      'a body that is malformed, lacks a field, has a blank one or an unknown one is 400 BAD_REQUEST',
    'C4.errors.field':
      'a named field that breaks its own rule is 400 with INVALID_ and its name in capitals in area C too',
    'C4.errors.unauthorized': 'a missing or invalid key is 401 UNAUTHORIZED in area C too',
    'C4.errors.internal': 'a defect of ours is 500 and tells nothing of its cause in area C too',

    'C4.card-data.nowhere': 'a card number, CVC or expiry is never in a log, a trace, an error or the database',
    'C4.card-data.kept': 'of a card only the brand, the last four digits and an HMAC fingerprint are kept',
    'C4.card-data.confirm-bodies': 'the body of a confirm is in no request log and in no idempotency storage',
  }),

  built({
    'C4.refund-create.created': 'creating a refund is 201 with the refund',
    'C4.refund-create.fields': 'a refund has id, payment_intent_id, amount, currency, status, reason and created_at',
    'C4.refund-create.status': 'the status of a refund is PENDING, SUCCEEDED or FAILED',
    'C4.refund-create.amount-default': 'a refund without amount is of all that is left',
    'C4.refund-create.reason': 'a refund may give a reason of at most 500 characters',
    'C4.refund-create.exceeds':
      'a refund of more than is left, or of nothing, is 422 AMOUNT_EXCEEDS_REMAINING, under any concurrency',
    'C4.refund-create.not-succeeded': 'a refund of an intent that is not SUCCEEDED is 422 INVALID_STATE',
    'C4.refund-create.reserved':
      'a refund and its Idempotency-Key are committed and its amount is reserved before the processor is called',
    'C4.refund-create.resumed': 'a retry with the same key resumes the same refund',
    'C4.refund-create.no-answer':
      'a refund that the processor did not answer is 201 with PENDING, and is asked about until known',
    'C4.refund-create.failed': 'a refund that FAILED frees its amount',
    'C4.refund-create.unknown': 'a refund of an intent that is unknown, or of another entity, is 404 NOT_FOUND',
    'C4.refund-retrieve.ok': 'retrieving a refund is 200',
    'C4.refund.transaction': 'the transaction becomes REFUNDED, or PARTIALLY_REFUNDED while something is left',
  }),
)
