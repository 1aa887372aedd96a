import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditInTheEnd } from '../ecommerce-audit.ts'
import { startWalk } from '../ecommerce-walk.ts'
import { platform } from '../platform.ts'
import { hourMs, jump, withoutWorker } from './shop.ts'

const seed = Number(process.env['KAHA_TEST_SEED'] ?? Date.now() & 0x7fffffff)
const steps = Number(process.env['KAHA_TEST_STEPS'] ?? 2_000)
const compareEvery = 400

test(`links and intents do as the model says, step by step, whatever payers, crowds, sweepers and the clock do (seed ${seed})`, async (t) => {
  t.diagnostic(`seed ${seed}, ${steps} steps`)
  const p = await platform(t, withoutWorker)
  const walk = startWalk(p, seed)
  const done: string[] = []
  try {
    for (let compared = 0; walk.steps < steps;) {
      done.push(await walk.move())
      if (walk.steps < compared + compareEvery && walk.steps < steps) continue
      compared = walk.steps
      await walk.compareAll()
    }
  } catch (error) {
    t.diagnostic(`seed ${seed}, after ${walk.steps} steps; the last moves before it:\n${done.slice(-15).join('\n')}`)
    throw error
  }
  const paid = walk.world.intents.filter(({ latest }) => latest?.state === 'SUCCEEDED').length
  t.diagnostic(`${walk.world.links.length} links, ${walk.world.intents.length} intents, ${paid} paid`)
  assert.ok(steps < 500 || (paid > 10 && walk.world.links.some(({ consumed }) => consumed)), 'hardly anything was paid')

  // In the end everything's time is over, and a worker comes by.
  await jump(p, 48 * hourMs)
  await p.another({ KAHA_ROLES: 'worker' })
  await p.idle()
  await auditInTheEnd(p)
})
