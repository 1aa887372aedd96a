import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Parser } from '@asyncapi/parser'
import { Value } from 'typebox/value'
import { asyncapiDocument, type AsyncApiDocument } from './asyncapi.ts'
import { terminalAnswers, terminalRequests, type TerminalMessage } from './index.ts'

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

const messages: Readonly<Record<string, TerminalMessage>> = { ...terminalRequests, ...terminalAnswers }

interface Shown {
  readonly message: string
  readonly name: string
  readonly summary: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** Every example of the document, with the message that it is of. */
const examplesIn = ({ components }: AsyncApiDocument): Shown[] => {
  const { messages: shown } = components as { messages: Record<string, { examples?: Omit<Shown, 'message'>[] }> }
  return Object.entries(shown).flatMap(([message, { examples = [] }]) => examples.map((one) => ({ message, ...one })))
}

/** What is wrong with an example by itself: a message takes more than it names, and none of that is shown. */
const wrongIn = ({ message, payload }: Pick<Shown, 'message' | 'payload'>): readonly unknown[] => {
  const { schema } = messages[message] as TerminalMessage
  const errors = Value.Errors(schema, payload).map(({ instancePath, message: says }) => `${instancePath} ${says}`)
  const known = Value.Clean(schema, structuredClone(payload))
  return isDeepStrictEqual(known, payload) ? errors : [...errors, 'has a field that the message does not name']
}

test('every message is shown by examples, each of them such a message with no field that it does not name', () => {
  const shown = examplesIn(asyncapiDocument())
  assert.deepEqual([...new Set(shown.map(({ message }) => message))], Object.keys(messages))
  assert.deepEqual(
    shown.filter((example) => wrongIn(example).length > 0).map((example) => [example, wrongIn(example)]),
    [],
  )
})

test('an example with another action, a bad time, a field too few or a field too many is found', () => {
  for (const { message, payload } of examplesIn(asyncapiDocument())) {
    const { action: _, ...less } = payload
    for (const wrong of [less, { ...payload, action: 'other' }, { ...payload, surprise: 1 }])
      assert.notDeepEqual(wrongIn({ message, payload: wrong }), [], message)
    if ('timestamp' in payload) {
      assert.notDeepEqual(wrongIn({ message, payload: { ...payload, timestamp: '10:30' } }), [], message)
    }
  }
})

/** What does not fit of those that belong together: they tell of one payment, and an answer has the requestId of what was asked. */
const unlikeIn = (shown: readonly Shown[]): string[] =>
  [...Map.groupBy(shown, ({ name }) => name)].flatMap(([name, those]) => {
    const payments = new Set(JSON.stringify(those).match(/"transactionId":"[^"]+"/g))
    const asked = those.filter(({ message }) => message in terminalRequests).map(({ payload }) => payload['requestId'])
    const answered = those.filter(({ message, payload }) => message in terminalAnswers && 'requestId' in payload)
    return [
      ...(payments.size > 1 ? [`${name} tells of several payments`] : []),
      ...answered
        .filter(({ payload }) => !asked.includes(payload['requestId']))
        .map(({ message }) => `${message} ${name} answers nothing`),
    ]
  })

test('examples of one name belong together', () => {
  const shown = examplesIn(asyncapiDocument())
  assert.deepEqual(unlikeIn(shown), [])
  const changed = (message: string, fields: object) =>
    shown.map((one) => (one.message === message ? { ...one, payload: { ...one.payload, ...fields } } : one))
  const accepted = 'paymentAccepted approved answers nothing'
  assert.deepEqual(unlikeIn(changed('paymentAccepted', { requestId: 'x' })), [accepted])
  const several = 'approved tells of several payments'
  assert.deepEqual(unlikeIn(changed('paymentAccepted', { transactionId: 'x' })), [several])
})
