import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { card, paymentsRoom, processorThat } from '../../test/payments-room.ts'

const room = await paymentsRoom({ after })

test('C4.checkout.twice: a form that is submitted again after its payment was declined pays nothing: it was shown for the first attempt', async () => {
  const { id } = await room.intent()
  const asShown = await room.read(id)
  const declining = processorThat({ authorize: async () => ({ kind: 'declined', reason: 'generic' }) })
  const first = await room.payments(declining).confirm(asShown, card, null, 0)
  assert.equal(first.shown.status, 'DECLINED')

  const approving = processorThat()
  const payments = room.payments(approving)
  await assert.rejects(payments.confirm(asShown, card, null, 0), { code: 'INTENT_PROCESSING' })
  assert.ok(!approving.asked.includes('authorize'))
  assert.equal((await room.attempts(id)).length, 1)
  // The control: the form as it is shown now pays.
  const paid = await payments.confirm(await room.read(id), card, null, 1)
  assert.equal(paid.shown.status, 'SUCCEEDED')
})
