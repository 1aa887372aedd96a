import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import * as contract from './index.ts'
import { areaPages } from './openapi-areas.ts'
import { documents, openapiDocuments, refusalsOf, type OpenApiDocument } from './openapi.ts'
import { scopesOf, type Operation } from './operation.ts'

const all = Object.entries(openapiDocuments()) as [keyof typeof documents, OpenApiDocument][]
const operations = Object.values(areaPages).flatMap((page) => Object.values(page.operations))

// Documents are JSON of many shapes; a test looks where it likes.
const of = ({ area, id }: Operation): any =>
  Object.values(documents[area]().paths)
    .flatMap((methods: any) => Object.values(methods))
    .find(({ operationId }: any) => operationId === id)

/** Every object in a value, itself included. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Record<string, unknown>
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

const targets = (document: OpenApiDocument): string[] =>
  [...objectsIn(document)].flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []))

test('a document is the same whenever it is made', () => {
  for (const [area, document] of all) assert.equal(JSON.stringify(documents[area]()), JSON.stringify(document))
})

for (const operation of operations) {
  test(`the document shows ${operation.id} with its scopes, its answers and every status that it can give`, () => {
    const shown = of(operation)
    assert.equal(shown.operationId, operation.id)
    for (const scope of scopesOf(operation)) assert.ok(shown.description.includes(`\`${scope}\``))
    const statuses = [...Object.keys(operation.success), ...refusalsOf(operation).map(({ status }) => String(status))]
    assert.deepEqual(Object.keys(shown.responses), statuses)
    // Any path may hold what does not decode.
    if (operation.params !== undefined) assert.ok(statuses.includes('400'))
    const sends = operation.idempotency === undefined ? 0 : 1
    const named = [operation.params, operation.query, operation.headers].flatMap((schema) =>
      Object.keys(schema?.properties ?? {}),
    )
    assert.equal((shown.parameters ?? []).length, named.length + sends)
  })

  test(`the examples of ${operation.id} are bodies that it takes and answers that it gives`, () => {
    const others = Object.values(operation.success).flatMap(({ schema, example, examples = {}, empty = false }) => {
      const answers = [...(example === undefined ? [] : [example]), ...Object.values(examples).map((one) => one.answer)]
      assert.equal(answers.length === 0, empty, 'an answer without an example')
      for (const answer of answers) assert.deepEqual([...Value.Errors(schema, answer)], [])
      return Object.values(examples).flatMap(({ request }) => (request === undefined ? [] : [request]))
    })
    if (operation.body === undefined) return assert.deepEqual([operation.example, ...others], [undefined])
    assert.ok(operation.example !== undefined, 'a body without an example')
    for (const sent of [operation.example, ...others]) assert.deepEqual([...Value.Errors(operation.body, sent)], [])
  })
}

test('a schema that shows an example is one that takes it', () => {
  const shown = all.flatMap(([area, { components }]) =>
    Object.entries(components['schemas'] as Record<string, TSchema & { examples?: readonly unknown[] }>).flatMap(
      ([name, { examples = [] }]) => examples.map((example) => ({ area, name, example })),
    ),
  )
  assert.deepEqual(
    shown.map(({ area, name }) => `${area} ${name}`),
    ['qr CreateQrCode', 'qr CreatedQrCode', 'qr QrCode'],
  )
  for (const { area, name, example } of shown)
    assert.deepEqual([...Value.Errors(areaPages[area].schemas[name] ?? {}, example)], [], name)
})

test('every operation of the contract is shown, and no other', () => {
  const declared = Object.values(contract).flatMap((value) =>
    'success' in Object(value) ? [(value as Operation).id] : [],
  )
  const ids = all.flatMap(([, { paths }]) => Object.values(paths).flatMap((item) => Object.values(item)))
  assert.deepEqual(ids.map((item) => (item as { operationId: string }).operationId).toSorted(), declared.toSorted())
})

test('every reference leads somewhere, and every component is referred to', () => {
  for (const [area, document] of all) {
    const used = new Set(targets(document))
    const there = Object.entries(document.components)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, named]) => Object.keys(named).map((name) => `#/components/${kind}/${name}`))
    assert.deepEqual([...used].toSorted(), there.toSorted(), area)
  }
})

test('a named schema is referred to by its name also where it is optional', () => {
  const { components } = documents.ecommerce()
  const { PaymentLink, PaymentIntent } = components['schemas'] as Record<
    string,
    { properties: Record<string, unknown> }
  >
  assert.deepEqual(PaymentLink?.properties['redirect_urls'], { $ref: '#/components/schemas/RedirectUrls' })
  assert.deepEqual(PaymentIntent?.properties['receipt'], { $ref: '#/components/schemas/Receipt' })
})

test('the limits of metadata are in the document: number of keys, length of a key, length of a value', () => {
  const { components } = documents.webhooks()
  const { WebhookEndpoint } = components['schemas'] as Record<string, { properties: Record<string, unknown> }>
  assert.deepEqual(WebhookEndpoint?.properties['metadata'], {
    type: 'object',
    maxProperties: 50,
    propertyNames: { type: 'string', maxLength: 40 },
    additionalProperties: { type: 'string', maxLength: 500 },
    description: 'Merchant-owned configuration of the endpoint; never sent with an event.',
  })
})

test('the paths of a service with an address of its own lie under that address', () => {
  const shown = all.map(([area, { servers, paths }]) => [area, servers[0]?.['url'], Object.keys(paths)[0]])
  assert.deepEqual(shown, [
    ['webhooks', '{base_url}', '/v1/webhook_endpoints'],
    ['reporting', '{base_url}', '/reports/v1/merchants'],
    ['ecommerce', '{base_url}', '/ecom/v1/payment-links'],
    ['terminals', '{terminal_url}', '/v1/terminals'],
    ['qr', '{qr_url}', '/v1/pay/qr'],
    ['qr_webhooks', '{webhooks_url}', '/v1/webhooks'],
    ['sandbox', '{sandbox_url}', '/clock'],
  ])
})

test('a list of statuses is one comma-separated parameter', () => {
  const shown = of(areaPages.ecommerce.operations['listPaymentLinks'] as Operation)
  const { style, explode, schema } = shown.parameters[0]
  assert.deepEqual({ style, explode, type: schema.type }, { style: 'form', explode: false, type: 'array' })
})

test('two refusals that share a code on the wire are told apart by status', () => {
  const codes = (id: string, status: number) =>
    refusalsOf(areaPages.ecommerce.operations[id] as Operation)
      .find((refusal) => refusal.status === status)
      ?.codes.map(({ wire }) => wire)
  assert.ok(codes('confirmPaymentIntent', 409)?.includes('INVALID_STATE'))
  assert.deepEqual(codes('createPaymentIntent', 422), ['INVALID_STATE'])
})

test('a body is refused for its size or its type wherever one can be sent', () => {
  // Area D refuses both as INVALID_REQUEST.
  for (const operation of operations.filter(({ area }) => area !== 'terminals')) {
    const statuses = refusalsOf(operation).map(({ status }) => status)
    assert.equal(statuses.includes(413), operation.method !== 'GET', operation.id)
    assert.equal(statuses.includes(415), operation.method !== 'GET', operation.id)
  }
})

test('every answer is shown with the headers that name the request: in area D two', () => {
  for (const operation of operations) {
    const expected = operation.area === 'terminals' ? ['x-correlation-id', 'x-request-id'] : ['x-correlation-id']
    const { responses: shared }: any = documents[operation.area]().components
    for (const answer of Object.values<any>(of(operation).responses)) {
      const { headers } = answer.$ref === undefined ? answer : shared[answer.$ref.split('/').at(-1)]
      const named = Object.keys(headers).filter((header) => header.startsWith('x-'))
      assert.deepEqual(named, expected, operation.id)
    }
  }
})

test('an error code that the catalogue of the area lacks is not documented but refused', () => {
  const wrong = { ...(areaPages.webhooks.operations['listWebhookEvents'] as Operation), errors: ['INVALID_CARD'] }
  assert.throws(() => refusalsOf(wrong), /listWebhookEvents names INVALID_CARD/)
})

test('no document tells of an Idempotency-Key or a client_secret that its area does not take', () => {
  for (const word of ['Idempotency-Key', 'client_secret']) {
    const telling = all.filter(([, document]) => JSON.stringify(document).includes(word)).map(([area]) => area)
    assert.deepEqual(telling, ['ecommerce'], word)
  }
})

test('error examples are errors in the envelope of their area, with the code as it is on the wire', () => {
  for (const [area, { components }] of all) {
    const { envelope, wireCodes } = areaPages[area]
    for (const [code, example] of Object.entries(components['examples'] ?? {})) {
      const { value } = example as { value: { error: { code: string } } | { code: string } }
      assert.ok(Value.Check(envelope, value), `${area} ${code}`)
      assert.equal('code' in value ? value.code : value.error.code, wireCodes[code] ?? code)
    }
  }
})

test('a confirm and a ping may go without a key, and every other operation needs one', () => {
  for (const operation of operations) {
    const { security } = of(operation)
    const free = { confirmPaymentIntent: [{ apiKey: [] }, {}], pingQr: [], pingWebhooks: [] }[operation.id]
    assert.deepEqual(security, free)
  }
})

test('every type of event is shown as it is delivered, with its headers and a payload that fits', () => {
  const types = {
    webhooks: ['payment.succeeded', 'payment.declined', 'payment.failed', 'payment.expired'],
    terminals: ['payment.completed', 'payment.failed', 'payment.cancelled', 'payment.timeout', 'ping'],
    qr_webhooks: ['QRPH_SUCCESS', 'QRPH_DECLINED'],
  }
  const signed = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  for (const area of ['webhooks', 'terminals', 'qr_webhooks'] as const) {
    const { webhooks = {} } = documents[area]()
    const { schemas, deliveries } = areaPages[area]
    assert.ok(deliveries !== undefined)
    assert.deepEqual(Object.keys(webhooks), types[area])
    for (const { type, example, payload: own } of deliveries.events) {
      const payload: string = own ?? deliveries.payload
      assert.equal((example as Record<string, unknown>)[deliveries.typeField], type)
      assert.deepEqual([...Value.Errors(schemas[payload] as never, example)], [], type)
    }
    for (const { post } of Object.values(webhooks) as { post: { parameters: { name: string }[] } }[]) {
      assert.deepEqual(
        post.parameters.map(({ name }) => name),
        area === 'qr_webhooks' ? ['activation-code'] : signed,
      )
    }
  }
})
