import assert from 'node:assert/strict'
import { hourMs, jump, withoutWorker } from './conformance/shop.ts'
import { auditInTheEnd } from './ecommerce-audit.ts'
import { moneyOf } from './ecommerce-model.ts'
import { startWalk } from './ecommerce-walk.ts'
import { platform } from './platform.ts'

const compareEvery = 400
const longFrom = 500
const longerAtMost = 3

/** One walk from the beginning to when everything has ended, on a platform of its own; what `say` hears of a failure repeats it. */
export async function walkOnce(
  t: { after(close: () => Promise<void>): void },
  { seed, steps }: { seed: number; steps: number },
  say: (line: string) => void,
): Promise<void> {
  const p = await platform(t, withoutWorker)
  const walk = startWalk(p, seed)
  const done: string[] = []
  const endsOfRefunds = () =>
    new Set(walk.world.intents.flatMap((intent) => intent.refunds).map(({ endsAs }) => endsAs)).size
  // A long walk goes on for a while where chance has not refunded in every way yet.
  const isOver = () =>
    walk.steps >= steps && (steps < longFrom || endsOfRefunds() === 2 || walk.steps >= longerAtMost * steps)
  try {
    for (let compared = 0; !isOver();) {
      done.push(await walk.move())
      if (walk.steps < compared + compareEvery && !isOver()) continue
      compared = walk.steps
      await walk.compareAll()
    }
  } catch (error) {
    say(`seed ${seed}, after ${walk.steps} steps; the last moves before it:\n${done.slice(-15).join('\n')}`)
    throw error
  }
  const { links, intents } = walk.world
  const paid = intents.filter(({ latest }) => latest?.state === 'SUCCEEDED').length
  const challenged = intents.filter(({ latest }) => latest?.state === 'ABANDONED').length
  const { refunded } = moneyOf(walk.world)
  say(
    `${links.length} links, ${intents.length} intents, ${paid} paid, ${refunded} refunded, ${challenged} challenges for a use too many`,
  )
  const ended = new Set([...links, ...intents].map((one) => one.ended))
  assert.ok(steps < longFrom || (paid > 10 && ended.size === 3), 'hardly anything was paid, used up or cancelled')
  assert.ok(steps < longFrom || endsOfRefunds() === 2, 'hardly anything was refunded')

  // In the end everything's time is over, and a worker comes by.
  await jump(p, 48 * hourMs)
  await p.another({ KAHA_ROLES: 'worker' })
  await p.idle()
  // What it has only just heard of is in the next settlement.
  await p.advance((24 * hourMs) / 1_000)
  await auditInTheEnd(p)
}
