import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CreateQrCode,
  qrOperations,
  qrWebhookOperations,
  terminalRequests,
  terminalWebhookOperations,
  terminalsOperations,
  type Operation,
} from '@kaha/contract'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { complaintOf } from '../src/kernel/http/complaints.ts'
import { operations } from './conformance/operations.ts'

const others = [qrOperations, qrWebhookOperations, terminalsOperations, terminalWebhookOperations]
const all: readonly Operation[] = [...operations, ...others.flatMap((area) => Object.values<Operation>(area))]

// The server compiles a schema when the first request needs it, and takes for granted that it is one.

test('every schema of the contract is a JSON Schema that compiles, so that no request is the first to find out', () => {
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  for (const { id, params, query, body, success } of all) {
    const answers = Object.values(success).flatMap(({ schema, empty }) => (empty === true ? [] : [schema]))
    for (const schema of [params, query, body, ...answers].filter((one) => one !== undefined)) {
      assert.equal(ajv.validateSchema(schema), true, `${id}: ${ajv.errorsText()}`)
      ajv.compile(schema)
    }
  }
})

test('a field of a request whose form is a pattern is told that form in words', () => {
  const requests = [
    ...all.flatMap(({ query, body }) => [query, body]),
    CreateQrCode,
    ...Object.values(terminalRequests),
  ]
  const patterns = new Set(requests.flatMap(patternsIn))
  patterns.delete('\\S')
  assert.ok(patterns.size > 5)
  for (const allowed of patterns)
    assert.doesNotMatch(complaintOf({ field: 'x', rule: 'format', allowed }), /wrong form/, allowed)
})

const patternsIn = (schema: unknown): string[] =>
  typeof schema !== 'object' || schema === null
    ? []
    : Object.entries(schema).flatMap(([name, inner]) =>
        name === 'pattern' && typeof inner === 'string' ? [inner] : patternsIn(inner),
      )
