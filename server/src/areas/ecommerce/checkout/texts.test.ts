import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Language } from '../../../kernel/language.ts'
import { texts } from './texts.ts'

test('both languages fill in the same words', () => {
  assert.deepEqual(holes('fil'), holes('en'))
})

function holes(language: Language): [string, string[] | undefined][] {
  return Object.entries(texts(language)).map(([key, text]) => [
    key,
    JSON.stringify(text)
      .match(/\{\w+\}/g)
      ?.toSorted(),
  ])
}
