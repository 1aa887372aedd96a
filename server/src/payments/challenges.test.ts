import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, hourMs, jump, rowsOf, whileHeld } from '../../test/conformance/shop.ts'
import { aChallenge, card, paymentsRoom, processorThat } from '../../test/payments-room.ts'

const room = await paymentsRoom({ after })

// A challenge that is passed in the moment in which it is over: whoever brings its result has to wait for the intent.
for (const [says, meanwhile, shown] of [
  ['its own time', (_id: string) => jump(room, 16 * 60_000), 'DECLINED'],
  ["its intent's time", (_id: string) => jump(room, hourMs), 'EXPIRED'],
] as const) {
  test(`a challenge that is passed, and gets hold of its intent only after ${says}, is late: nothing is charged, and its use of the link is free again`, async () => {
    const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 2 }), 201)
    const expires_at = new Date(room.kaha.clock.now().getTime() + hourMs / 2).toISOString()
    const { id } = await room.intent({ payment_link_id: link.id, expires_at })
    const processor = processorThat({ verify: async () => aChallenge, challenge: async () => ({ kind: 'passed' }) })
    const payments = room.payments(processor)
    const waiting = await payments.confirm(await room.read(id), card, null)
    assert.equal(waiting.shown.status, 'REQUIRES_ACTION')
    const hold = { text: 'select from payments.intents where id = $1 for update', values: [id] }
    const take = () => payments.takeChallenge(waiting, waiting.latestAttempt?.id ?? '')
    const [taken] = await whileHeld(room, hold, [take], () => meanwhile(id))
    assert.deepEqual([taken?.intent.shown.status, taken?.linkFull], [shown, false])
    assert.deepEqual(processor.asked, ['eligibility', 'verify', 'challenge'])
    assert.deepEqual(
      await rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [link.id]),
      [{ reserved_count: 0, success_count: 0 }],
    )
  })
}

test('a question about a challenge that breaks off has told nothing: the challenge goes on waiting, and the card is not charged', async () => {
  const { id } = await room.intent()
  const broken = async () => {
    throw new Error('the connection is gone')
  }
  const processor = processorThat({ verify: async () => aChallenge, challenge: broken })
  const payments = room.payments(processor)
  const waiting = await payments.confirm(await room.read(id), card, null)
  const { intent } = await payments.takeChallenge(waiting, waiting.latestAttempt?.id ?? '')
  assert.equal(intent.shown.status, 'REQUIRES_ACTION')
  assert.equal((await room.read(id)).shown.status, 'REQUIRES_ACTION')
  assert.deepEqual(processor.asked, ['eligibility', 'verify', 'challenge'])
})
