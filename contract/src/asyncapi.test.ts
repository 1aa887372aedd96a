import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Parser } from '@asyncapi/parser'
import { asyncapiDocument } from './asyncapi.ts'
import { terminalAnswers, terminalRequests } from './index.ts'

const isError = ({ severity }: { readonly severity: number }): boolean => severity === 0

const text = JSON.stringify(asyncapiDocument())

test('the document of the sockets is valid AsyncAPI 3', async () => {
  const { document, diagnostics } = await new Parser().parse(text)
  const errors = diagnostics.filter(isError).map(({ message, path }) => [message, path])
  assert.deepEqual(errors, [])
  assert.equal(document?.version(), '3.0.0')
  const messages = document.allMessages().all()
  assert.equal(messages.length, Object.keys({ ...terminalRequests, ...terminalAnswers }).length)
})

test('the document names each status that refuses a handshake', () => {
  const { description } = asyncapiDocument()['info'] as { description: string }
  const [, refused = ''] = /A refused handshake is HTTP([^]*?)\n\n/.exec(description) ?? []
  assert.deepEqual(refused.match(/\b\d{3}\b/g), ['400', '401', '403', '404', '429', '503'])
})

test('a document that is none is told, so the parser looks', async () => {
  const { diagnostics } = await new Parser().parse(text.replace('"channels"', '"chanels"'))
  assert.ok(diagnostics.some(isError))
})

test('the document is the same whenever it is made, and the one that is checked in', () => {
  assert.equal(JSON.stringify(asyncapiDocument()), text)
  const kept = readFileSync(new URL('../asyncapi/terminals.json', import.meta.url), 'utf8')
  assert.deepEqual(JSON.parse(kept), JSON.parse(text))
})
