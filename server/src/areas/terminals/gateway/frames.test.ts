import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminalFrameBytesMax as most } from '@kaha/contract'
import { framesOf } from './frames.ts'

test('a message is one frame as long as it fits, and else as few as hold it', () => {
  for (const [text, frames] of [
    ['{}', 1],
    ['x'.repeat(most), 1],
    ['x'.repeat(most + 1), 2],
    ['€'.repeat(most), 3],
    ['€'.repeat(most - 1), 3],
  ] as const) {
    const parts = framesOf(text)
    assert.equal(parts.length, frames)
    assert.ok(parts.every(({ part }) => Buffer.byteLength(part) <= most))
    assert.deepEqual(
      parts.map(({ fin }) => fin),
      [...Array.from({ length: frames - 1 }, () => false), true],
    )
    assert.equal(Buffer.concat(parts.map(({ part }) => Buffer.from(part))).toString(), text)
  }
})
