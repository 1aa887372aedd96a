import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shown, tale, tellEnd } from './words.ts'

const all = { order: true, sale: true, drop: true, code: true }

test('a greeting tells what was played of the story, and nothing that was left out', () => {
  const told = (story: Partial<typeof all>, inboxHears = true) => tale({ ...all, ...story }, inboxHears).join('\n')
  assert.match(told({}), /both webhooks arrived.*\nOne sale was paid .*, and one QR Ph code .*\nAnother terminal lost/)
  assert.doesNotMatch(told({}, false), /webhook/)
  assert.match(told({ code: false }), /\nOne sale was paid at a virtual terminal\.\nAnother/)
  assert.match(told({ sale: false }), /\nOne QR Ph code was paid by a simulated bank\.\nA terminal lost/)
  assert.doesNotMatch(told({ drop: false }), /lost its line/)
  assert.doesNotMatch(told({ sale: false, code: false }), /sale|QR Ph/)
  assert.equal(told({ order: false, sale: false, drop: false, code: false }), '')
})

test('what others have said neither steers a screen nor turns round what stands beside it, and every other letter stays', () => {
  assert.equal(
    shown('\u001b[2J a\nb \u202eOMAN\u202c \u2066x\u2069'),
    '\ufffd[2J a\ufffdb \ufffdOMAN\ufffd \ufffdx\ufffd',
  )
  for (const name of ['Kapé ni Ñora', 'مقهى', '👩\u200d🍳']) assert.equal(shown(name), name)
})

test('a list that may go on says so on standard error, and one that does not says nothing', (t) => {
  const { mock } = t.mock.method(process.stderr, 'write', () => true)
  tellEnd(Array.from({ length: 999 }), 1_000, 'settle some')
  assert.equal(mock.callCount(), 0)
  tellEnd(Array.from({ length: 1_000 }), 1_000, 'settle some')
  const said = mock.calls.map((call) => call.arguments[0])
  assert.deepEqual(said, ['kaha: the list ends after 1,000, and there may be more: settle some\n'])
})
