import assert from 'node:assert/strict'
import { test } from 'node:test'
import { platform } from '../platform.ts'
import { disagreements } from '../reconciliation.ts'
import { threeDays } from '../reconciliation-days.ts'
import { rowsOf } from './shop.ts'

test('the reconciliation can fail: whatever is taken away or made up by a centavo, it does not add up any more', async (t) => {
  const p = await platform(t, { choices: { confirmWaitMsMax: 50 } })
  const days = await threeDays(p, { seed: 1, crowds: false })
  assert.deepEqual(disagreements(await days.read()), [])

  // What is made up stays; each asks for its own sentence.
  for (const [what, text, sentence] of falsehoods) {
    await t.test(`it is found out when ${what}`, async () => {
      await rowsOf(p, text)
      const found = disagreements(await days.read())
      assert.ok(
        found.some((one) => sentence.test(one)),
        found.join('\n'),
      )
    })
  }
  await t.test('it is found out when a webhook never came', async () => {
    const webhooks = days.journal.webhooks.filter(({ type }) => type === 'payment.succeeded').slice(1)
    const found = disagreements({ ...(await days.read()), journal: { ...days.journal, webhooks } })
    assert.ok(found.some((one) => one.endsWith('was told: nothing')))
  })
})

const somePayment = `(select max(id::text)::uuid from payments.transactions where status = 'CAPTURED')`

const falsehoods: readonly (readonly [what: string, text: string, sentence: RegExp])[] = [
  [
    'a settlement is a centavo short',
    `update payments.settlement_shares set gross = gross - 1 where ctid = (select min(ctid) from payments.settlement_shares where gross > 0)`,
    /^the settlement of .* is not the sum of its transactions/,
  ],
  [
    'a payment has received a centavo more',
    `update payments.transactions set amount_received = amount_received + 1, amount_authorized = amount_authorized + 1 where id = ${somePayment}`,
    /^the amounts of the transaction .* do not add up/,
  ],
  [
    'a payment says that a refund was made, and none was',
    `update payments.refunds set state = 'FAILED' where id = (select max(id::text)::uuid from payments.refunds where state = 'SUCCEEDED')`,
    /^the refunds of the transaction /,
  ],
  [
    'a receipt has the number of another',
    `update payments.attempts set approval_code = 'X' || substr(approval_code, 2) where id = ${somePayment}`,
    /^the receipt of the intent .* is not that of its transaction/,
  ],
  [
    'a payment is in the batch of another day',
    `update payments.transactions set settled_at = settled_at + interval '1 day' where id = ${somePayment}`,
    /^the transaction .* is settled in /,
  ],
  [
    'an attempt has no transaction',
    `delete from payments.transactions where id = (select max(id::text)::uuid from payments.transactions where status = 'DECLINED')`,
    /^the attempt .* has no transaction/,
  ],
]
