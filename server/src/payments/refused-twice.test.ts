import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { bodyOf, rowsOf } from '../../test/conformance/shop.ts'
import { approval, card, paymentsRoom, processorThat, runDue } from '../../test/payments-room.ts'
import { until } from '../../test/until.ts'
import type { Answer } from './connectors/connector.ts'

const room = await paymentsRoom({ after })

test('a refusal that two processes hear gives back the use of its own payment, and not that of another', async () => {
  const link = bodyOf(await room.shop.createLink({ type: 'multi_use', max_uses: 2 }), 201)
  const [refused, paid] = [
    await room.intent({ payment_link_id: link.id }),
    await room.intent({ payment_link_id: link.id }),
  ]
  const refusal = { kind: 'declined', reason: 'generic' } as const
  /** Confirms, and gives what lets the processor answer. */
  const begin = async (intent: typeof paid) => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const confirmed = room.payments(processorThat({ authorize: () => promise })).confirm(intent, card, null)
    await until('the attempt has been started', async () => (await room.attempts(intent.id)).length === 1)
    return async (answer: Answer) => {
      resolve(answer)
      await confirmed
    }
  }
  const uses = () => rowsOf(room, 'select reserved_count, success_count from ecommerce.links where id = $1', [link.id])
  const answerRefused = await begin(refused)
  await room.leasesRunOut()
  const answerPaid = await begin(paid)
  await runDue(room.payments(processorThat({ inquire: async () => refusal })))
  assert.deepEqual(await uses(), [{ reserved_count: 1, success_count: 0 }])
  await answerRefused(refusal)
  assert.deepEqual(await uses(), [{ reserved_count: 1, success_count: 0 }])
  await answerPaid(approval())
  assert.deepEqual(await uses(), [{ reserved_count: 0, success_count: 1 }])
})
