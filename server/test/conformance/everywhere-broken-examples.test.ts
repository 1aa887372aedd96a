import { test } from 'node:test'
import { assertBroken } from './example-refusals.ts'
import { shownOperations } from './examples.ts'

// Areas B and C: what their documents show of a platform that is in no state to do anything.
const operations = [...shownOperations('ecommerce'), ...shownOperations('reporting')]

test('a key over its rate gets what every operation of areas B and C shows of it, with Retry-After', (t) =>
  assertBroken(t, 429, operations))

test('a defect of ours looks as every operation of areas B and C shows it', (t) => assertBroken(t, 500, operations))

test('a database that is away looks as every operation of areas B and C shows it, with Retry-After', (t) =>
  assertBroken(t, 503, operations))
