import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createPaymentLink, type Operation } from '@kaha/contract'
import { platform } from '../platform.ts'
import { badTimes, badValues, namesElsewhere, type Bad, type Schema } from './bad-values.ts'
import { areaOf, assertRefused, call, catalogues, type Call } from './call.ts'
import { operations, rightCall, subjectsOf } from './operations.ts'
import { idempotent } from './people.ts'

// Bad input, made from the schemas of the contract: whatever is wrong, the answer names it in the area's own words.

const p = await platform({ after })
const subjects = await subjectsOf(p)
const key = p.seed.partner.secret_key
const ask = (request: Call) => call(p.url, { key, ...request })
const withBody = operations.filter(({ body }) => body !== undefined)
const withQuery = operations.filter(({ query }) => query !== undefined)
const byId = operations.filter(({ params }) => params !== undefined)

/** The code that completions promise for a broken rule of a field. */
function codeFor({ area }: Operation, { path, kind }: Pick<Bad, 'path' | 'kind'>): string {
  if (area === 'reporting' || kind === 'unknown') return 'BAD_REQUEST'
  const [top = '', second] = path
  if (kind === 'value' && (top === 'date_from' || top === 'date_to')) return 'INVALID_DATE_RANGE'
  if (top === 'cursor') return 'INVALID_CURSOR'
  if (kind === 'value' && top === 'payment_method' && second === 'card') return 'INVALID_CARD'
  if (area === 'ecommerce' && path.includes('metadata')) return 'INVALID_METADATA'
  const own = `INVALID_${top.toUpperCase()}`
  return kind === 'value' && own in catalogues[area] ? own : 'BAD_REQUEST'
}

for (const operation of withBody) {
  test(`[X0.input.unknown-property, X0.input.exact, A2.errors.unknown-property, A2.errors.field] ${operation.id} refuses every body that breaks a rule, and says which`, async () => {
    const right = await rightCall(operation, subjects)
    // A field that may be left out is tried too; without one of these two the clock would be asked for nothing.
    let tried = 0
    for (const bad of badValues(operation.body as Schema, right.body)) {
      const request = { ...right, headers: { ...right.headers, ...idempotent() }, body: bad.value }
      const answer = await ask(request)
      const isTooLarge = Buffer.byteLength(JSON.stringify(bad.value)) > (operation.bodyBytesMax ?? Infinity)
      const code = isTooLarge ? 'PAYLOAD_TOO_LARGE' : codeFor(operation, bad)
      assert.equal(answer.json?.error?.code, code, `${bad.what}: ${answer.status} ${answer.text}`)
      assertRefused(right.path, answer, isTooLarge ? 413 : 400, code)
      tried += 1
    }
    assert.ok(tried > 20, String(tried))
  })
}

test('X0.input.exact: what was refused changed nothing', async () => {
  const { data } = (await ask({ path: '/v1/webhook_endpoints' })).json
  assert.equal(data.length, 1)
  const links = (await ask({ path: '/ecom/v1/payment-links' })).json
  // The subject, and the one that cancelPaymentLink was not allowed to cancel.
  assert.equal(links.data.length, 2)
  for (const { status, created_at, updated_at } of links.data)
    assert.deepEqual([status, updated_at], ['ACTIVE', created_at])
})

test('X0.input.exact: a number with more digits than memory holds is refused, and told by its name, where another would be taken for it', async () => {
  const { path, method = 'POST', body } = await rightCall(createPaymentLink, subjects)
  const json = JSON.stringify(body)
  const sends = (from: string, to: string) =>
    ask({ method, path, headers: idempotent(), bytes: json.replace(from, to) })
  const tooFine = '9800.0000000000000000001'
  for (const [from, code, field] of [
    ['"amount":9800', 'INVALID_AMOUNT', 'amount'],
    ['"unit_price":9800', 'INVALID_LINE_ITEMS', 'line_items.0.unit_price'],
  ] as const) {
    const answer = await sends(from, from.replace('9800', tooFine))
    assertRefused(path, answer, 400, code)
    assert.deepEqual(answer.json.error.details, { field, rule: 'digits' })
    assert.equal(answer.json.error.message, `${field}: has more digits than a number can hold.`)
  }
  const same = await sends('"amount":9800', '"amount": 98.000000000000000000e2')
  assert.deepEqual([same.status, same.json.amount], [201, 9800])
  const seconds = { method: 'POST', path: '/sandbox/clock/advance', bytes: '{"seconds":1.00000000000000000001}' }
  assertRefused(seconds.path, await ask(seconds), 400, 'INVALID_SECONDS')
})

/** Texts that a query parameter of this schema does not take. */
function* badTexts({ type, format, enum: values, items, maximum, minLength, maxLength }: Schema): Generator<string> {
  if (type === 'integer') {
    if (maximum !== undefined) yield* [String(maximum + 1), '9'.repeat(400)]
    yield* ['0', '-1', '1.5', '1.0', '1e1', '0x10', ' 1', '1 ', '+1', '01', '', 'ten']
    yield* ['NaN', 'Infinity', '१']
  }
  if (format === 'uuid')
    yield* ['', 'x', `{${subjects.branchId}}`, `urn:uuid:${subjects.branchId}`, `${subjects.branchId} `]
  if (format === 'date-time') yield* badTimes
  if (values !== undefined)
    yield* ['', 'x', `${String(values[0])},${String(values[1])}`, String(values[0]).toUpperCase() + 'X']
  if (items?.enum !== undefined)
    yield* [
      '',
      ',',
      'x',
      `${String(items.enum[0])},`,
      `${String(items.enum[0])},x`,
      String(items.enum[0]).toLowerCase(),
    ]
  if (minLength !== undefined) yield ''
  if (maxLength !== undefined) yield 'a'.repeat(maxLength + 1)
}

const withParameter = ({ path }: Call, text: string): string => `${path}${path.includes('?') ? '&' : '?'}${text}`

test('a query that is not UTF-8 in percent-encoding is refused in the envelope of its area, and not read as another text', async () => {
  for (const operation of withQuery) {
    const right = await rightCall(operation, subjects)
    for (const text of ['%D1', '%ff', '%ed%a0%80', '%c0%af', '%e0%a4', '%', '%zz', '%u0041']) {
      const path = withParameter(right, `cursor=${text}`)
      const answer = await ask({ path })
      assertRefused(path, answer, 400, 'BAD_REQUEST')
      assert.equal(answer.json.error.message, 'The query is not UTF-8 in percent-encoding.')
    }
  }
})

for (const operation of withQuery) {
  test(`[X0.input.unknown-parameter, X0.input.unknown-parameter.reporting, A2.errors.field, B3.errors.bad-request] ${operation.id} refuses every query that breaks a rule, and says which`, async () => {
    const right = await rightCall(operation, subjects)
    const refuses = async (query: string, code: string) => {
      const path = withParameter(right, query)
      assertRefused(path, await ask({ path }), 400, code)
    }
    for (const [name, schema] of Object.entries(operation.query?.properties ?? {})) {
      // One of these is in the path already where it is needed.
      const { path } = { path: name === 'branch_id' ? operation.path : right.path }
      for (const text of badTexts(schema)) {
        const answer = await ask({ path: withParameter({ path }, `${name}=${encodeURIComponent(text)}`) })
        const code = codeFor(operation, { path: [name], kind: 'value' })
        assert.equal(answer.json?.error?.code, code, `${name}=${text}: ${answer.status} ${answer.text}`)
        assertRefused(path, answer, 400, code)
      }
      if (name !== 'branch_id') await refuses(`${name}=x&${name}=x`, 'BAD_REQUEST')
      await refuses(`${name.toUpperCase()}=x`, 'BAD_REQUEST')
      await refuses(`${name}[]=x`, 'BAD_REQUEST')
    }
    const known = Object.keys(operation.query?.properties ?? {})
    const unknown = [
      ...namesElsewhere.filter((name) => !known.includes(name)).map((name) => `${name}=x`),
      'unknown=1',
      '__proto__=1',
      'constructor=1',
      'created_after=2026-01-01T00:00:00Z',
      'page_token=x',
      '=x',
      'x',
    ]
    for (const query of [...unknown, '%00=1', 'cursor=%00', '%ff=1', 'page_size%00=5', '__proto__[x]=1'])
      await refuses(query, 'BAD_REQUEST')
  })
}

test('[X0.input.unknown-parameter] an operation without parameters refuses any', async () => {
  for (const operation of operations.filter(({ query }) => query === undefined)) {
    const right = await rightCall(operation, subjects)
    for (const query of ['x=1', 'page_size=5', '__proto__=1', ...namesElsewhere.map((name) => `${name}=x`)]) {
      const path = withParameter(right, query)
      assertRefused(path, await ask({ ...right, path }), 400, 'BAD_REQUEST')
    }
  }
})

test('a parameter or property whose name is empty is refused in words that fit', async () => {
  const message = 'A name that is empty is not known here; leave it out.'
  const path = '/v1/webhook_endpoints'
  const nobody = `${path}/01a1fcef-9ed7-78da-86e8-e01924f01831`
  for (const request of [{ path: `${path}?=1` }, { method: 'PATCH', path: nobody, body: { '': 1 } }])
    assert.equal((await ask(request)).json.error.message, message)
})

test('a text in a query that the database could not keep finds nothing or is refused, and is no defect', async () => {
  const path = (text: string) => `/ecom/v1/payment-links?merchant_branch_reference_number=${text}`
  for (const text of ['%f0%9f%98%80', '%27%3b--', '%25%5f', '', 'a'.repeat(10_000), '%e2%80%ae', '%ef%bf%bd']) {
    const answer = await ask({ path: path(text) })
    assert.deepEqual([answer.status, answer.json.data], [200, []], text)
  }
  assertRefused('/ecom/v1/', await ask({ path: path('%00') }), 400, 'BAD_REQUEST')
})

test('[A2.retrieve.malformed, A2.errors.field] an id in a path that is none is 400 INVALID_ID, in area B 400 BAD_REQUEST, however it is written', async () => {
  const id = subjects.endpointId
  const odd = ['x', '0', '%20', '%00', '%2e%2e', '..%2f', `${id}%00`, `${id}x`, `%7b${id}%7d`, `urn:uuid:${id}`]
  const long = [
    'a'.repeat(499),
    'a'.repeat(501),
    'a'.repeat(10_000),
    '%41'.repeat(3_000),
    '%F0%9F%98%80',
    '@',
    "'",
    '*',
    ':id',
  ]
  for (const operation of byId) {
    for (const text of [...odd, ...long]) {
      const path = operation.path.replace(/\{\w+\}/, text)
      const answer = await ask({ ...(await rightCall(operation, subjects)), path })
      const code = ['reporting', 'sandbox'].includes(operation.area) ? 'BAD_REQUEST' : 'INVALID_ID'
      assert.equal(answer.json?.error?.code, code, `${operation.id} ${text.slice(0, 60)}: ${answer.text}`)
      assertRefused(path, answer, 400, code)
    }
  }
})

test('an upper-case uuid names the same resource', async () => {
  for (const operation of byId.filter(({ params }) => params?.properties['id'] !== undefined)) {
    const right = await rightCall(operation, subjects)
    const id = /[0-9a-f-]{36}/.exec(right.path)?.[0] ?? ''
    const answer = await ask({ ...right, path: right.path.replace(id, id.toUpperCase()) })
    assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
    // A recovery tells a number alone, a test an event of its own.
    const tellsAnother = ['recoverWebhookEndpoint', 'testWebhookEndpoint'].includes(operation.id)
    assert.ok((tellsAnother || answer.text.includes(id)) && !answer.text.includes(id.toUpperCase()))
  }
})

test('a path that does not decode is told in the envelope of its area', async () => {
  for (const { path } of byId) {
    for (const text of ['%', '%zz', '%e0%a4%a', '%ff', 'a%', '%u0041', '%c0%80', '%ed%a0%80']) {
      const broken = path.replace(/\{\w+\}/, text)
      const answer = await ask({ path: broken })
      assert.equal(answer.status, 400, `${broken}: ${answer.status} ${answer.text}`)
      assert.ok(['BAD_REQUEST', 'INVALID_ID'].includes(answer.json.error.code), answer.text)
      assertRefused(broken, answer, 400, answer.json.error.code)
      assert.match(answer.json.error.message, /percent-encoding|must be/)
    }
  }
})

test('the server serves as before after all of that', async () => {
  for (const operation of operations) {
    const answer = await ask(await rightCall(operation, subjects))
    assert.ok(answer.status in operation.success, `${operation.id}: ${answer.status} ${answer.text}`)
    assert.ok(areaOf(operation.path))
  }
  assert.ok(!p.logged.some((line) => line.includes('a request failed for a cause of ours')))
})
