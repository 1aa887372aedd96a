import { built, joined, later } from './rule.ts'

/** Endpoints, their secrets, and the list of events. What happens to an event after it is written stands in webhook-delivery.ts. */
export const webhooks = joined(
  built({
    'A2.document.version': 'the description of area A is published as version 1.0.0',
    'A2.endpoint.id': 'an endpoint has an id, a uuid',
    'A2.endpoint.url': 'an endpoint shows its url as it was given',
    'A2.endpoint.description': 'an endpoint shows its description, null where none was given',
    'A2.endpoint.enabled-events': 'an endpoint shows the event types that it receives in enabled_events',
    'A2.endpoint.status': 'the status of an endpoint is ENABLED or DISABLED',
    'A2.endpoint.metadata': "an endpoint shows its own metadata as an object, and nothing of a payment's metadata",
    'A2.endpoint.created-at': 'an endpoint has created_at',
    'A2.endpoint.updated-at': 'an endpoint has updated_at',
    'A2.types.four':
      'the event types are payment.succeeded, payment.declined, payment.failed and payment.expired, and no other',

    'A2.metadata.keys': 'metadata has at most 50 keys, else 400 INVALID_METADATA',
    'A2.metadata.key-length': 'a metadata key has at most 40 characters, else 400 INVALID_METADATA',
    'A2.metadata.value-length': 'a metadata value has at most 500 characters, else 400 INVALID_METADATA',

    'A2.create.created': 'creating an endpoint is 201 with the endpoint',
    'A2.create.enabled': 'a new endpoint is ENABLED',
    'A2.create.no-secret': 'the answer to a create holds no signing secret',
    'A2.create.url-required': 'a create without url is 400 BAD_REQUEST',
    'A2.create.events-required': 'a create without enabled_events is 400 BAD_REQUEST',
    'A2.create.events-one': 'enabled_events with no type in it is 400 INVALID_ENABLED_EVENTS',
    'A2.create.events-distinct': 'enabled_events that names a type twice is 400 INVALID_ENABLED_EVENTS',
    'A2.create.events-known': 'enabled_events with an unknown type is 400 INVALID_ENABLED_EVENTS',
    'A2.create.description-optional': 'description may be left out',
    'A2.create.metadata-null': 'metadata that is null or left out is stored as an empty object',
    'A2.create.conflict': 'a url that another live endpoint of the same entity has is 409 CONFLICT',
    'A2.create.conflict-other-entity': 'two entities may each have an endpoint with the same url',

    'A2.url.https': 'a url that is not https is 400 INVALID_URL',
    'A2.url.user-information': 'a url with a user name or password is 400 INVALID_URL',
    'A2.url.fragment': 'a url with a fragment is 400 INVALID_URL',
    'A2.url.length': 'a url over 2,048 characters is 400 INVALID_URL; one of exactly 2,048 is taken',
    'A2.url.loopback': 'a sandbox also takes http on a loopback address; a live installation refuses it',
    'A2.url.public':
      'where only public targets are allowed, an address that is not public is never dialled, however it is spelled or resolved',
    'A2.description.blank': 'a description of nothing but spaces is 400 BAD_REQUEST',
    'A2.description.length':
      'a description over 255 code points is 400 INVALID_DESCRIPTION; one of exactly 255 is taken',

    'A2.list.accessible': 'listing endpoints shows those of the caller and of everything under it, and no other',
    'A2.list.ok': 'listing endpoints is 200 with the list envelope',
    'A2.list.page-size-default': 'a list of endpoints has pages of 20 unless page_size is given',
    'A2.list.page-size-range': 'page_size of a list of endpoints is 1 to 100, else 400 INVALID_PAGE_SIZE',
    'A2.list.cursor': 'a cursor that is not valid is 400 INVALID_CURSOR',
    'A2.retrieve.ok': 'retrieving an endpoint is 200 with the endpoint, and without its signing secret',
    'A2.retrieve.unknown': 'an id of no endpoint is 404 NOT_FOUND',
    'A2.retrieve.malformed': 'an id that is no uuid is 400 INVALID_ID',

    'A2.secret.read':
      'reading the signing secret is 200 with endpoint_id, signing_secret, created_at and previous_expires_at',
    'A2.secret.previous-none': 'previous_expires_at is null while no older secret is live',
    'A2.secret.no-store': 'the answer with a signing secret has Cache-Control no-store',
    'A2.secret.form': 'a signing secret is whsec_ and the padded base64 of 32 bytes',

    'A2.errors.envelope': 'an error is an object error with code, message and correlation_id, and nothing else',
    'A2.errors.malformed-json': 'a body that is no JSON is 400 BAD_REQUEST',
    'A2.errors.unknown-property': 'an unknown property is 400 BAD_REQUEST',
    'A2.errors.field':
      'a named field that breaks its own rule is 400 with INVALID_ and the name of the field in capitals',
    'A2.errors.unauthorized': 'a missing or invalid key is 401 UNAUTHORIZED',
    'A2.errors.internal': 'a defect of ours is 500 INTERNAL_ERROR and tells nothing of its cause',
  }),

  later('webhook management', {
    'A2.list.deleted': 'a deleted endpoint is not listed',
    'A2.create.conflict-deleted': 'the url of a deleted endpoint may be used again',

    'A2.update.ok': 'updating an endpoint is 200 with the whole endpoint',
    'A2.update.updated-at': 'an update moves updated_at',
    'A2.update.body-required': 'an update without a body is 400 BAD_REQUEST',
    'A2.update.only-supplied': 'an update changes the fields that it names and no other',
    'A2.update.url': 'a new url replaces the old one and obeys the same rules',
    'A2.update.events': 'enabled_events replaces the whole set, with at least one type and none twice',
    'A2.update.description': 'a new description obeys the same limits as on create',
    'A2.update.description-null': 'description left out or null leaves the description as it is',
    'A2.update.metadata': 'a new metadata object obeys the same limits as on create',
    'A2.update.metadata-null': 'metadata left out or null leaves the metadata as it is',
    'A2.update.disabled-true': 'disabled true makes an ENABLED endpoint DISABLED and pauses delivery to it',
    'A2.update.disabled-false': 'disabled false makes a DISABLED endpoint ENABLED and resumes delivery to it',
    'A2.update.disabled-invalid': 'disabled that is no boolean is 400 INVALID_DISABLED',
    'A2.update.unknown-property': 'an update that names any other property, status included, is 400 BAD_REQUEST',
    'A2.update.status.400': 'an update that fails validation is 400',
    'A2.update.status.401': 'an update with a missing or invalid key is 401',
    'A2.update.status.403': 'an update without the scope webhooks.write, or of an endpoint of another entity, is 403',
    'A2.update.status.404': 'an update of an endpoint that does not exist is 404',
    'A2.update.status.409': 'an update to a url that another live endpoint of the entity has is 409 CONFLICT',
    'A2.update.status.413': 'an update with too large a body is 413',
    'A2.update.status.500': 'an update that fails for a defect of ours is 500',

    'A2.delete.ok': 'deleting an endpoint is 200 with its id and deleted true',
    'A2.delete.retained': 'a deleted endpoint is kept for audit, DISABLED and with the time of its deletion',
    'A2.delete.retrieve': 'retrieving a deleted endpoint is 404 NOT_FOUND',
    'A2.delete.update': 'updating a deleted endpoint is 404 NOT_FOUND',
    'A2.delete.again': 'deleting an endpoint a second time is 404 NOT_FOUND',
    'A2.delete.deliveries': 'deleting an endpoint closes its open deliveries',

    'A2.pause.waits': 'deliveries that were queued before a pause wait',
    'A2.pause.resume': 'deliveries that waited go out when the endpoint is resumed',
    'A2.pause.not-subscribed':
      'an event that happens while an endpoint is paused is NOT_SUBSCRIBED for it, and is listed',
  }),
  later('webhook retention', {
    'A2.pause.retention': 'a delivery that waits for a paused endpoint waits until retention ends, and no longer',
  }),
  later('webhook secret rotation', {
    'A2.rotate.ok': 'rotating a signing secret gives the endpoint a new one',
    'A2.rotate.overlap-default': 'without overlap_seconds the old secret signs for 86,400 seconds more',
    'A2.rotate.overlap-range': 'overlap_seconds is 0 to 604,800, else 400',
    'A2.rotate.order': 'while secrets overlap the newest signs first and the older ones sign too',
    'A2.rotate.expires': 'an old secret signs nothing after its overlap has ended',
    'A2.rotate.three': 'at most 3 secrets of an endpoint are live',
    'A2.rotate.previous': 'previous_expires_at tells when the old secret stops signing',
  }),

  built({
    'A2.event.id': 'an event has an id, a uuid',
    'A2.event.type': 'an event shows its type',
    'A2.event.status':
      'the status of an event is PENDING, SUBMITTING, SUBMIT_FAILED, SUBMITTED, DELIVERED, EXHAUSTED or NOT_SUBSCRIBED',
    'A2.event.created-at': 'an event has created_at',
    'A2.event.merchant-id': 'an event names its merchant in merchant_id',
    'A2.event.branch-id': 'an event names its branch in branch_id',
    'A2.event.payment-intent-id': 'an event names its intent in payment_intent_id',
    'A2.event.payment-link-id': 'an event names its link in payment_link_id',
    'A2.event.updated-at': 'updated_at of an event moves with its status',
    'A2.event.delivered-at': 'delivered_at tells when an event was delivered, and is null before',
    'A2.event.attempt-count': 'attempt_count tells how many delivery attempts were spent',
    'A2.event.next-attempt-at':
      'next_attempt_at tells when the next delivery attempt is due, and is null where none is',

    'A2.events.ok': 'listing events is 200 with the list envelope',
    'A2.events.page-size-default': 'a list of events has pages of 20 unless page_size is given',
    'A2.events.page-size-range': 'page_size of a list of events is 1 to 100, else 400 INVALID_PAGE_SIZE',
    'A2.events.scoping.partner': 'a partner key must name a branch_id, else 400 INVALID_BRANCH_ID',
    'A2.events.scoping.merchant': 'a merchant key must name a branch_id, else 400 INVALID_BRANCH_ID',
    'A2.events.scoping.branch': 'a branch key may leave branch_id out and sees its own events',
    'A2.events.scoping.malformed': 'a branch_id that is no uuid is 400 INVALID_BRANCH_ID',
    'A2.events.filter.type': 'type keeps the events of one type',
    'A2.events.filter.type-invalid': 'an unknown type, or more than one, is 400 INVALID_TYPE',
    'A2.events.filter.status': 'status keeps the events in any of the states of a comma-separated list',
    'A2.events.filter.status-invalid': 'an unknown state in the list is 400 INVALID_STATUS',
    'A2.events.filter.date-from': 'date_from keeps the events created at that time or later',
    'A2.events.filter.date-to': 'date_to keeps the events created at that time or earlier',
    'A2.events.filter.date-invalid':
      'a bound that is no RFC 3339 timestamp, or a date_from after date_to, is 400 INVALID_DATE_RANGE',
  }),
  later('webhook resend and recovery', {
    'A2.event.retrieve': 'retrieving an event is 200 with the event, its deliveries and their attempts',
    'A2.event.retrieve-unknown': 'an id of no event is 404 NOT_FOUND',
  }),
)
