import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, scrub } from './log.ts'

const secrets = [
  '4242424242424242',
  '4242 4242 4242 4242',
  '4242-4242-4242-4242',
  '378282246310005',
  '6200000000000005123',
  `sk_test_${'a'.repeat(24)}`,
  `sk_live_${'Z'.repeat(24)}`,
  `tk_${'a'.repeat(32)}`,
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/=',
  'cs_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG-_',
]
for (const secret of secrets) {
  test(`${secret.slice(0, 8)}… is taken out of any text that is logged`, () => {
    for (const text of [secret, `card ${secret}, please`, `{"number":"${secret}"}`, `key=${secret}&b=1`]) {
      const scrubbed = scrub(text)
      assert.ok(!scrubbed.includes(secret), scrubbed)
      assert.match(scrubbed, /\[removed\]/)
    }
  })
}

test('what is no secret stays: ids, times, amounts', () => {
  const plain = [
    '01a1fcef-9ed7-78da-86e8-e01924f01831',
    '2026-11-21T07:08:44.663Z',
    'amount 999999999999',
    'SIMJNVAFGPDVQYASSFDC',
    'at process.processTicksAndRejections (node:internal/process/task_queues:104:5)',
  ]
  for (const text of plain) assert.equal(scrub(text), text)
})

test('an error is logged with its code, stack and cause, and without the secrets in its message', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(line) })
  const cause = Object.assign(new Error('the card 4242424242424242 is odd'), { code: 'ECONNRESET' })
  log.error({ err: new Error(`no sk_test_${'a'.repeat(24)}`, { cause }) }, 'a request failed')
  log.error({ err: `only text with whsec_${'b'.repeat(43)}=` }, 'odd')
  log.error({ error: cause }, 'coded')
  const text = lines.join('')
  assert.doesNotMatch(text, /4242424242424242|sk_test_a|whsec_b/)
  assert.match(text, /caused by: Error: the card \[removed\] is odd/)
  assert.match(text, /"code":"ECONNRESET"/)
  assert.match(text, /log\.test\.ts/)
})

test('log lines carry system time, and below the level nothing is written', () => {
  const lines: string[] = []
  const log = createLog('warn', { write: (line: string) => void lines.push(line) })
  const before = new Date().toISOString()
  log.info('nothing')
  log.warn('something')
  assert.equal(lines.length, 1)
  const { time } = JSON.parse(lines[0] ?? '') as { time: string }
  assert.ok(before <= time && time <= new Date().toISOString())
})
