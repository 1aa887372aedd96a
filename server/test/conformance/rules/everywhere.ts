import { built, joined, later } from './rule.ts'

/** What holds in every area. A rule that only some areas can show yet is told once per area. */
export const everywhere = joined(
  built({
    'X0.addresses.one-process': 'one process serves every area',
    'X0.addresses.defaults':
      'unset, base_url is http://localhost:8080 and the other addresses are /terminal (http and ws), /webhooks, /qr, /pay, /dashboard and /sandbox below it',
    'X0.addresses.settings':
      'each address is a setting, and the one that was set is the one that answers and pages show',
    'X0.addresses.own-host.qr': 'the QR service on a host name of its own answers there without its prefix',
    'X0.versions.prefix.qr': 'every path of area E except ping begins with /v1 after its address',
    'X0.time.format.qr': 'timestamps of area E are ISO 8601 in UTC with milliseconds and Z',
    'X0.input.unknown-property.qr': 'an unknown property in a body or in a decrypted Token is refused in area E',
    'X0.input.unknown-parameter.qr': 'an unknown query parameter is refused in area E',
    'X0.limits.body.qr': 'the largest body that area E reads is 64 KiB',
    'X0.routes.method.qr': 'a known route of area E with a wrong method names the right ones in the Allow header',
    'X0.clocks.business.codes': 'QR codes expire by business time',
    'X0.addresses.own-host.webhooks':
      'the encrypted webhook service on a host name of its own answers there without its prefix',
  }),
  built({
    'X0.addresses.own-host.terminals':
      'the terminal service on a host name of its own answers there without its prefix',
    'X0.addresses.socket-version': 'the socket address is given without the /v1 that clients add to it',
  }),

  built({
    'X0.versions.prefix': 'every path of areas A and C carries its major version: /v1 and /ecom/v1',
    'X0.json.answers': 'every body of an answer of areas A and C is JSON, errors included',
    'X0.ids.uuidv7': 'every id that the platform makes as a uuid is a UUIDv7',
    'X0.time.format': 'timestamps of areas A and C are RFC 3339 in UTC with milliseconds and Z',
  }),
  built({
    'X0.versions.prefix.reporting': 'every path of area B begins with /reports/v1',
    'X0.time.format.reporting': 'timestamps of area B are RFC 3339 in UTC with milliseconds and Z',
  }),
  built({
    'X0.versions.prefix.terminals': 'every path of area D, the socket included, begins with /v1 after its address',
    'X0.time.format.terminals': 'timestamps of area D are ISO 8601 in UTC with milliseconds and Z',
  }),

  built({
    'X0.lists.parameters': 'lists page by the parameters page_size and cursor',
    'X0.lists.envelope': 'a list answers data, an array, and pagination with page_size, has_more and next_cursor',
    'X0.lists.next': 'next_cursor, passed back unchanged, gives the page that follows',
    'X0.lists.last-page': 'on the last page has_more is false and next_cursor is null',
    'X0.lists.newest-first': 'rows come newest first by created_at, then by id, unless an operation says otherwise',
    'X0.lists.by-key':
      'pages continue after the last row seen: rows that are added meanwhile cause no gap and no double',
    'X0.lists.cursor.filters': 'a cursor used with other filters than those that made it is a 400',
    'X0.lists.cursor.entity': 'a cursor used by another entity than the one that got it is a 400',
    'X0.lists.cursor.altered': 'a cursor with a changed character is a 400',
    'X0.lists.cursor.truncated': 'a cursor that was cut short is a 400',
    'X0.lists.filter.foreign':
      "a filter that names another entity's branch or merchant gives an empty page, not an error",
  }),

  built({
    'X0.input.unknown-property': 'an unknown property in a body is a 400 in areas A and C',
    'X0.input.unknown-parameter': 'an unknown query parameter is a 400 in areas A and C',
    'X0.input.exact': 'a body value of the wrong type is refused: nothing is converted, nothing is dropped in silence',
  }),
  built({
    'X0.input.unknown-parameter.reporting': 'an unknown query parameter is a 400 in area B',
  }),
  built({
    'X0.input.unknown-property.terminals': 'area D ignores unknown body properties, because tills send extras',
    'X0.input.unknown-property.terminals-unstored':
      'an unknown body property of area D is stored and returned nowhere, unless it stands in metadata',
  }),

  built({
    'X0.correlation.header': 'every answer of areas A and C carries x-correlation-id, a uuid',
    'X0.correlation.body': 'correlation_id in an error body equals the x-correlation-id of that answer',
  }),
  built({
    'X0.correlation.header.reporting': 'every answer of area B carries x-correlation-id, a uuid',
  }),
  built({
    'X0.correlation.header.terminals':
      'every answer of area D carries x-request-id, and its error bodies the same value as requestId',
  }),

  built({
    'X0.limits.body.webhooks': 'a body over 64 KiB in area A is 413 PAYLOAD_TOO_LARGE; one of exactly 64 KiB is read',
    'X0.limits.body.ecommerce':
      'a body over 256 KiB in area C is 413 PAYLOAD_TOO_LARGE; one of exactly 256 KiB is read',
    'X0.limits.content-type': 'a body that is not declared as JSON is 415 UNSUPPORTED_MEDIA_TYPE',
    'X0.limits.amount': 'an amount in minor units is at most 999,999,999,999',
    'X0.routes.unknown': "an unknown route below an area's prefix is 404 NOT_FOUND in that area's envelope",
    'X0.routes.method': 'a known route with a wrong method is 405 METHOD_NOT_ALLOWED with the Allow header',
  }),
  built({
    'X0.routes.unknown.reporting': "an unknown route of area B is 404 NOT_FOUND in that area's envelope",
  }),
  later('an operation of area B that takes a body', {
    'X0.limits.body.reporting': 'a body over 64 KiB in area B is 413 PAYLOAD_TOO_LARGE',
  }),
  built({
    'X0.limits.body.terminals': 'a body over 256 KiB in area D is 400 INVALID_REQUEST',
    'X0.limits.content-type.terminals': 'a body in area D that is not declared as JSON is 400 INVALID_REQUEST',
    'X0.routes.unknown.terminals': "an unknown route of area D is 404 in that area's envelope",
    'X0.routes.method.terminals': 'a known route of area D with a wrong method is 405 with the Allow header',
  }),

  built({
    'X0.rate.bucket': 'each key has a token bucket of its own: what one key spends is not missing for another',
    'X0.rate.answer': 'a request over the limit is 429 RATE_LIMITED with Retry-After',
    'X0.rate.default.sandbox': 'a sandbox allows each key 1,000 requests a second and a burst of 2,000',
    'X0.rate.default.live': 'a live installation allows each key 100 requests a second and a burst of 200',
    'X0.rate.setting': 'the limit is a setting, and 0 turns it off',
  }),

  built({
    'X0.clocks.business': 'business time is real time plus the offset of the sandbox, and a live installation has none',
    'X0.clocks.business.links': 'payment links expire by business time',
    'X0.clocks.business.intents': 'payment intents expire by business time',
    'X0.clocks.business.keys': 'keys expire by business time',
    'X0.clocks.business.cards': 'whether a card has expired is judged by business time',
    'X0.clocks.business.retries': 'retries of a delivery fall due by business time',
    'X0.clocks.business.idempotency': 'an idempotency key is forgotten by business time',
    'X0.clocks.business.created-at': 'created_at is business time',
    'X0.clocks.system.webhook-timestamp':
      'the webhook-timestamp header is system time, however far the sandbox clock was advanced',
    'X0.clocks.system.rate-limit': 'rate limits refill by system time',
    'X0.clocks.system.leases': 'leases run by system time: advancing the clock takes no work from its owner',
    'X0.clocks.system.deadlines': 'the deadline of one network call runs by system time',
    'X0.clocks.system.tls': 'certificates are judged by system time',
    'X0.clocks.system.log': 'log lines carry system time',
    'X0.clocks.exact': 'whatever is handled after a business deadline finds the deadline already applied',
  }),
  built({
    'X0.clocks.business.retention': 'what is kept for a time is kept by business time',
  }),
  built({
    'X0.clocks.business.settlement': 'settlement runs by business time',
  }),
  built({
    'X0.clocks.business.terminals': 'waits, grace and voids of terminal payments run by business time',
    'X0.clocks.system.signature-window': 'the window of a signed request is judged by system time',
  }),
  built({
    'X0.clocks.system.heartbeats': 'heartbeats of the processes are counted in system time',
  }),
  built({
    'X0.clocks.system.sockets': 'the liveness of a socket is judged by system time',
  }),

  built({
    'X0.keys.prefix.sandbox': 'secret keys of a sandbox begin with sk_test_',
    'X0.keys.prefix.live': 'secret keys of a live installation begin with sk_live_',
    'X0.metadata.strings': 'metadata of areas A and C with a value that is no string is 400 INVALID_METADATA',
  }),
  built({
    'X0.metadata.terminals': 'metadata of area D may be any JSON object',
  }),
)
