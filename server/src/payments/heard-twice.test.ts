import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, rowsOf } from '../../test/conformance/shop.ts'
import { approval, card, paymentsRoom, processorThat, runDue } from '../../test/payments-room.ts'
import { until } from '../../test/until.ts'
import type { Answer } from './connectors/connector.ts'

const room = await paymentsRoom({ after })
const refusal = { kind: 'declined', reason: 'generic' } as const

for (const [says, first, spent] of [
  ['a refusal', refusal, 0],
  ['an approval', approval(), 1],
] as const) {
  test(`${says} that two processes hear ends the use of its own payment once, and not that of another`, async () => {
    const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 3 }), 201)
    const [twice, other] = [
      await room.intent({ payment_link_id: link.id }),
      await room.intent({ payment_link_id: link.id }),
    ]
    /** Confirms, and gives what lets the processor answer. */
    const begin = async (intent: typeof twice) => {
      const { promise, resolve } = Promise.withResolvers<Answer>()
      const confirmed = room.payments(processorThat({ authorize: () => promise })).confirm(intent, card, null)
      await until('the attempt has been started', async () => (await room.attempts(intent.id)).length === 1)
      return async (answer: Answer) => {
        resolve(answer)
        await confirmed
      }
    }
    const uses = () =>
      rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [link.id])
    const answerTwice = await begin(twice)
    await room.leasesRunOut()
    const answerOther = await begin(other)
    await runDue(room.payments(processorThat({ inquire: async () => first })))
    assert.deepEqual(await uses(), [{ reserved_count: 1, success_count: spent }])
    await answerTwice(first)
    assert.deepEqual(await uses(), [{ reserved_count: 1, success_count: spent }])
    await answerOther(approval())
    assert.deepEqual(await uses(), [{ reserved_count: 0, success_count: spent + 1 }])
  })
}
