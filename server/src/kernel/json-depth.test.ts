import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { nestingMax, nestsTooDeep } from './json-depth.ts'

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

test('as many levels as are allowed are not too deep, and one more is', () => {
  equal(nestsTooDeep(nested(nestingMax)), false)
  equal(nestsTooDeep(nested(nestingMax + 1)), true)
  equal(nestsTooDeep('{"a":'.repeat(nestingMax) + '1' + '}'.repeat(nestingMax)), false)
  equal(nestsTooDeep('{"a":'.repeat(nestingMax + 1) + '1' + '}'.repeat(nestingMax + 1)), true)
})

test('what stands one after the other is no level, nor is what stands in a string', () => {
  equal(nestsTooDeep(`[${'[],{},'.repeat(1_000)}0]`), false)
  equal(nestsTooDeep(JSON.stringify({ text: `"\\"${'['.repeat(1_000)}`, key: '{\\'.repeat(1_000) })), false)
  equal(nestsTooDeep(`{"a\\"":${nested(nestingMax)}}`), true)
})
