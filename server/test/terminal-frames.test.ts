import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminalAnswers, terminalRequests, type TerminalMessage } from '@kaha/contract'
import type { TSchema } from 'typebox'
import { readFiles } from '../../scripts/source.ts'
import { compile } from '../src/kernel/http/validation.ts'

// On the page a frame is a block of JSON with an `action`. Behind the language stands whose it is: `from` or `to`, and `till` or `terminal`.

const path = 'docs/terminals.md'

test('every frame on the page on terminals is one that a terminal or a till sends or is sent, with no field that those do not have', () => {
  const told = complaintsOf(readFiles([path]).get(path) ?? '')
  assert.ok(told.length > 0)
  assert.deepEqual(
    told.filter(({ complaint }) => complaint !== null),
    [],
  )
})

test('a frame of no known action, of another sender, or with a field too few or too many is told', () => {
  const ping = '```json from till\n{ "action": "ping" }\n```\n'
  const told = (page: string) => complaintsOf(page).map(({ complaint }) => complaint)
  assert.deepEqual(told(ping), [null])
  for (const [what, otherwise] of [
    ['"ping"', '"pang"'],
    ['from till', 'to till'],
    [' from till', ''],
  ] as const)
    assert.deepEqual(told(ping.replace(what, otherwise)), ['no such message'])
  assert.deepEqual(told(ping.replace('"ping"', '"cancelPayment"')), [{ field: 'transactionId', rule: 'required' }])
  assert.deepEqual(told(ping.replace('"ping"', '"ping", "id": 1')), [
    { field: 'id', rule: 'unknown', allowed: 'action, requestId' },
  ])
  assert.throws(() => told(ping.replace('}', '')), SyntaxError)
})

const messages: readonly TerminalMessage[] = [...Object.values(terminalRequests), ...Object.values(terminalAnswers)]
const namesOf = { desktop: ['till'], terminal: ['terminal'], any: ['till', 'terminal'] } as const

function complaintsOf(page: string) {
  return [...page.matchAll(/^```json(?: (.*))?\n([^]*?)^```$/gm)].flatMap(([, whose = '', text = '']) => {
    const frame = JSON.parse(text) as { readonly action?: unknown }
    if (whose === '' && frame.action === undefined) return []
    const one = messages.find((message) => {
      const { const: action } = message.schema.properties['action'] as { const?: unknown }
      return action === frame.action && isOf(message, whose)
    })
    return [{ whose, frame, complaint: one === undefined ? 'no such message' : compile(closed(one.schema))(frame) }]
  })
}

const isOf = ({ from, to = 'any' }: TerminalMessage, whose: string): boolean => {
  const [way, who] = from === 'server' ? (['to', to] as const) : (['from', from] as const)
  return namesOf[who].some((name) => whose === `${way} ${name}`)
}

/** Takes what the schema names and no other property. */
const closed = (schema: TSchema): TSchema =>
  JSON.parse(JSON.stringify(schema), (_, inner: { properties?: unknown } | null) =>
    inner?.properties === undefined ? inner : { ...inner, additionalProperties: false },
  ) as TSchema
