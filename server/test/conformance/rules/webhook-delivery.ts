import { built, joined } from './rule.ts'

/** From the payment that causes an event to the receiver that acknowledges it. */
export const webhookDelivery = joined(
  built({
    'A2.sent.succeeded': 'payment.succeeded is sent when an attempt ends SUCCEEDED',
    'A2.sent.declined': 'payment.declined is sent when an attempt ends DECLINED',
    'A2.sent.failed': 'payment.failed is sent when an attempt ends FAILED',
    'A2.sent.expired-link': 'payment.expired is sent when a link has expired before any successful payment',
    'A2.sent.expired-intent':
      'payment.expired is sent when an intent without a link has expired before any successful payment',
    'A2.sent.once': 'each of these events is written once, however often its cause is looked at',
    'A2.sent.same-transaction':
      'an event is written as PENDING in the transaction of the payment change that causes it: both exist or neither',
    'A2.sent.descendants': 'an endpoint of an entity receives the events of every entity under it',
    'A2.sent.subscribed': 'an endpoint receives the types in its enabled_events, and no other',
    'A2.sent.enabled': 'an endpoint receives events only while it is ENABLED',
    'A2.sent.expired-processing':
      'payment.expired waits while an attempt is PROCESSING, and is not sent if that attempt succeeds',
  }),

  built({
    'A2.events.state.pending-taken': 'PENDING becomes SUBMITTING when a dispatcher takes the event',
    'A2.events.state.submitting-not-subscribed':
      'SUBMITTING becomes NOT_SUBSCRIBED when no ENABLED endpoint takes the type',
    'A2.events.state.submitting-queued': 'SUBMITTING becomes SUBMITTED when the deliveries are queued',
    'A2.events.state.submitting-lease':
      'SUBMITTING is taken over by another dispatcher when the lease of the first has run out',
    'A2.events.state.submitting-failed':
      'SUBMITTING becomes SUBMIT_FAILED when queueing fails for a cause of ours, and no delivery attempt is spent',
    'A2.events.state.submit-failed-retried': 'SUBMIT_FAILED becomes SUBMITTING again after a back-off',
    'A2.events.state.submitted-delivered': 'SUBMITTED becomes DELIVERED when every targeted endpoint has acknowledged',
    'A2.events.state.submitted-exhausted':
      'SUBMITTED becomes EXHAUSTED when no delivery is open any more and at least one has used up its attempts',
    'A2.events.state.submitted-deleted':
      'SUBMITTED becomes EXHAUSTED when its last open delivery was closed because the endpoint was deleted',
    'A2.events.state.submitted-disabled':
      'SUBMITTED becomes EXHAUSTED when its last open delivery was closed because the endpoint was disabled for failing',
    'A2.attempts.gone': 'an endpoint that answers 410 is disabled at once',
    'A2.attempts.five-days': 'an endpoint that has only failed for 5 days is disabled, and shows why',
    'A2.attempts.disabled-closes': 'disabling an endpoint for failing closes its open deliveries',
    'A2.attempts.retry-after':
      'Retry-After moves the next attempt, never before the scheduled wait and never beyond twice that wait',
    'A2.events.state.delivered-resent': 'DELIVERED becomes SUBMITTED on an explicit resend or recovery',
    'A2.events.state.exhausted-resent': 'EXHAUSTED becomes SUBMITTED on an explicit resend or recovery',
    'A2.events.state.not-subscribed-resent': 'NOT_SUBSCRIBED becomes SUBMITTED on an explicit resend or recovery',
    'A2.events.state.submitted-resent':
      'SUBMITTED stays SUBMITTED on an explicit resend, and a waiting retry is replaced by an attempt now',
    'A2.events.state.latest': 'the status of an event tells of its latest dispatch',

    'A2.resend.accepted': 'resending an event is 202 with the event',
    'A2.resend.one-endpoint': 'a resend that names endpoint_id goes to that endpoint alone',
    'A2.resend.same-id': 'a resend carries the same webhook-id and the same body',
    'A2.resend.too-early': 'a resend of an event that is PENDING, SUBMITTING or SUBMIT_FAILED is 409 CONFLICT',
    'A2.resend.endpoint-deleted': 'a resend to a deleted endpoint is 409 CONFLICT',
    'A2.resend.endpoint-disabled': 'a resend to a DISABLED endpoint is 409 CONFLICT',
    'A2.resend.endpoint-foreign': 'a resend to an endpoint of another entity is 404 NOT_FOUND',
    'A2.recover.accepted': 'recovering an endpoint is 202 with the number of events',
    'A2.recover.missed':
      'a recovery sends again what did not reach the endpoint between date_from and date_to, NOT_SUBSCRIBED events included',
    'A2.recover.at-once':
      'a process does one recovery of an endpoint at a time, two of a merchant and its branches, or of a partner, and four in all; one more is 429 RATE_LIMITED with Retry-After',
    'A2.recover.until-now': 'a recovery without date_to reaches to the present',
    'A2.pause.recover': 'events that an endpoint missed while it was paused can be recovered',
    'A2.test.accepted': 'a test of an endpoint with a type is 202 with the event',
    'A2.test.marked': 'the payload of a test event says test true in data',
    'A2.test.not-reported': 'a test event is in no report',
  }),

  built({
    'A2.payload.envelope': 'a payload is an object with id, type, created_at and data',
    'A2.payload.payment-intent-id': 'data has payment_intent_id',
    'A2.payload.payment-link-id': 'data has payment_link_id where the payment came through a link',
    'A2.payload.payment-attempt-id': 'data has payment_attempt_id where there was an attempt',
    'A2.payload.amount': 'data has amount in minor units',
    'A2.payload.currency': 'data has currency',
    'A2.payload.status': 'data has the status of the payment',
    'A2.payload.order-reference': 'data has order_reference where one was given',
    'A2.payload.card-brand': 'data has card_brand where a card was used',
    'A2.payload.card-last-four': 'data has card_last_four where a card was used',
    'A2.payload.failure-category': 'data has failure_category where the payment was declined or failed',
    'A2.payload.merchant-id': 'data has merchant_id',
    'A2.payload.branch-id': 'data has branch_id',
    'A2.payload.merchant-branch-name': 'data has merchant_branch_name',
    'A2.payload.metadata': 'data has the metadata of the payment',
    'A2.payload.absent': 'a field without a value is left out of data, never null',
    'A2.payload.same-bytes': 'every attempt of an event sends the same bytes',

    'A2.signature.id': 'webhook-id is the id of the event, the same on every attempt',
    'A2.signature.timestamp': 'webhook-timestamp is the time of this attempt in whole seconds',
    'A2.signature.form':
      'webhook-signature is v1, a comma, and the base64 of HMAC-SHA256 over id, timestamp and body joined by dots, as Standard Webhooks 1.0 says',
    'A2.signature.several': 'while secrets overlap webhook-signature holds one signature of each, separated by spaces',

    'A2.attempts.schedule':
      'attempts are made at once, then 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h after the one before',
    'A2.attempts.jitter': 'each wait is longer by up to 20 percent, and never shorter than the schedule says',
    'A2.attempts.deadline': 'an attempt that has not ended after 15 s, the reading of the answer included, has failed',
    'A2.attempts.success': 'any answer from 200 to 299 is a success',
    'A2.attempts.redirect': 'a redirect is not followed and is a failure',
    'A2.attempts.ours': 'a failure of ours spends no attempt',
  }),
)
