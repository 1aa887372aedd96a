import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db, Queries } from '../kernel/db.ts'
import { clockTurns } from './clock-turns.ts'

test('a turn is held by one question at a time, and ends after the last, for a connection takes one query', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const answers: (() => void)[] = []
  let isTaken = false
  const run = async () => {
    if (isTaken) await new Promise<void>((resolve) => answers.push(resolve))
    isTaken = true
    return [{ taken: true }]
  }
  const order: string[] = []
  const tx = async (work: (tx: Queries) => Promise<unknown>) => {
    await work({ run } as unknown as Queries)
    order.push('the transaction ends')
  }
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const turn = clockTurns({ tx } as unknown as Db)(() => {
    begun.resolve()
    return end.promise
  })
  await begun.promise
  t.mock.timers.tick(5_000)
  assert.equal(answers.length, 1)
  answers[0]?.()
  await new Promise(setImmediate)
  t.mock.timers.tick(5_000)
  assert.equal(answers.length, 2)
  end.resolve()
  await new Promise(setImmediate)
  order.push('the last question is answered')
  answers[1]?.()
  await turn
  assert.deepEqual(order, ['the last question is answered', 'the transaction ends'])
})

test('what was done while the turn was lost is done again, and what failed is not', async () => {
  const tx = { run: async () => [{ taken: true }] } as unknown as Queries
  let lost = 1
  const db = {
    async tx(work: (on: Queries) => Promise<unknown>) {
      await work(tx)
      lost -= 1
      if (lost >= 0) throw new Error('the transaction was ended')
    },
  } as unknown as Db
  const inTurn = clockTurns(db)
  let done = 0
  await inTurn(async () => void (done += 1))
  assert.equal(done, 2)
  const failing = inTurn(async () => {
    done += 1
    throw new Error('work is due')
  })
  await assert.rejects(failing, /work is due/)
  assert.equal(done, 3)
})
