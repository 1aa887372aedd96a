import assert from 'node:assert/strict'
import { test } from 'node:test'
import { platform } from '../platform.ts'
import { disagreements } from '../reconciliation.ts'
import { threeDays } from '../reconciliation-days.ts'

const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)

test('after days of mixed traffic over midnight in Manila, transactions, receipts, refunds, webhooks, the export and the settlements tell the same story, to the centavo', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const p = await platform(t, { choices: { confirmWaitMsMax: 50 } })
  const days = await threeDays(p, { seed, crowds: true })
  const story = await days.read()
  assert.deepEqual(disagreements(story), [])

  // It was a day as days are: nothing of all this is missing.
  const kinds = new Set(story.transactions.map(({ status }) => status))
  for (const status of ['CAPTURED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'DECLINED', 'FAILED', 'CANCELLED', 'EXPIRED'])
    assert.ok(kinds.has(status as 'CAPTURED'), `nothing was ${status}`)
  assert.deepEqual(new Set(story.refunds.map(({ status }) => status)), new Set(['SUCCEEDED', 'FAILED']))
  const told = new Set(days.journal.webhooks.map(({ type }) => type))
  assert.deepEqual([...told].toSorted(), ['payment.declined', 'payment.expired', 'payment.failed', 'payment.succeeded'])
  for (const day of days.days) {
    const settled = story.settlements.find(({ batch_number: number }) => number === day)
    assert.equal(settled?.merchants.length, 2, `not everybody was settled on ${day}`)
  }
})
