import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  qrOperations,
  qrWebhookOperations,
  terminalWebhookOperations,
  terminalsOperations,
  type Operation,
} from '@kaha/contract'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { operations } from './conformance/operations.ts'

// The server compiles a schema when the first request needs it, and takes for granted that it is one.

test('every schema of the contract is a JSON Schema that compiles, so that no request is the first to find out', () => {
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  const others = [qrOperations, qrWebhookOperations, terminalsOperations, terminalWebhookOperations]
  const all: readonly Operation[] = [...operations, ...others.flatMap((area) => Object.values<Operation>(area))]
  for (const { id, params, query, body, success } of all) {
    const answers = Object.values(success).flatMap(({ schema, empty }) => (empty === true ? [] : [schema]))
    for (const schema of [params, query, body, ...answers].filter((one) => one !== undefined)) {
      assert.equal(ajv.validateSchema(schema), true, `${id}: ${ajv.errorsText()}`)
      ajv.compile(schema)
    }
  }
})
