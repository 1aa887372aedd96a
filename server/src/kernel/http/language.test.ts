import assert from 'node:assert/strict'
import { test } from 'node:test'
import { languageOf } from './language.ts'

const asked = (accept: string | undefined, url = '/pay/l/x') =>
  languageOf({ url, headers: { 'accept-language': accept } })

test('a page speaks the language of the address, else the one that the browser likes most', () => {
  assert.equal(asked('en', '/pay/l/x?lang=fil'), 'fil')
  assert.equal(asked('fil', '/pay/l/x?lang=en'), 'en')
  for (const [accept, language] of [
    [undefined, 'en'],
    ['', 'en'],
    ['de, fr;q=0.9', 'en'],
    ['fil', 'fil'],
    ['tl-PH, en;q=0.8', 'fil'],
    ['FIL-ph;Q=0.5', 'fil'],
    ['en-US,en;q=0.9,fil;q=0.8', 'en'],
    ['en;q=0.5, fil;q=0.6', 'fil'],
    ['fil;q=0', 'en'],
    ['en;q=0, fil', 'fil'],
    ['en, fil', 'en'],
    ['fil;q=much', 'en'],
  ] as const)
    assert.equal(asked(accept), language, accept)
})
