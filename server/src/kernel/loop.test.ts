import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busOver, type Line } from './bus.ts'
import { Fault } from './fault.ts'
import { createLog, type Log } from './log.ts'
import { countLoops, startLoop } from './loop.ts'
import { createMetrics } from './metrics.ts'

function recorded(): { log: Log; lines: string[] } {
  const lines: string[] = []
  return { lines, log: createLog('info', { write: (line: string) => void lines.push(line) }) }
}

/** A turn that says when it was taken, and ends as it is told. */
function turns(answers: readonly (number | Error)[]) {
  let taken = 0
  const waiting: (() => void)[] = []
  return {
    turn: async () => {
      const answer = answers[Math.min(taken, answers.length - 1)]
      taken += 1
      for (const wake of waiting.splice(0)) wake()
      if (answer instanceof Error) throw answer
      return answer ?? Infinity
    },
    get taken() {
      return taken
    },
    async reach(count: number) {
      for (let left = count - taken; left > 0; left = count - taken)
        await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}

test('a turn that says that there is more is followed by the next at once', async () => {
  const work = turns([0, 0, 0, Infinity])
  await using loop = startLoop('test', { log: recorded().log }, work.turn)
  await work.reach(4)
  assert.ok(loop)
})

test('a wake ends the wait, and one that comes in the middle of a turn is not lost', async () => {
  const work = turns([Infinity])
  const gate = Promise.withResolvers<void>()
  let calls = 0
  await using loop = startLoop('test', { log: recorded().log }, async () => {
    calls += 1
    if (calls === 1) await gate.promise
    return work.turn()
  })
  loop.wake()
  loop.wake()
  gate.resolve()
  await work.reach(2)
  loop.wake()
  await work.reach(3)
})

test('a hint of a topic that it is woken by ends the wait, one of another topic does not, and none once it is stopped', async () => {
  const line: Line = {
    open: async () => ({ broken: new Promise(() => {}), close: async () => {} }),
    send: async () => {},
  }
  await using bus = await busOver(line, { onLost: () => {} })
  const work = turns([Infinity])
  const loop = startLoop('test', { log: recorded().log, bus, wokenBy: ['clock', 'payments'] }, work.turn)
  await work.reach(1)
  bus.hint('keys')
  bus.hint('clock')
  await work.reach(2)
  bus.hint('payments')
  await work.reach(3)
  await loop[Symbol.asyncDispose]()
  bus.hint('clock')
  assert.equal(work.taken, 3)
})

test('a turn that is due in a while is taken then', async () => {
  const work = turns([10, Infinity])
  await using loop = startLoop('test', { log: recorded().log }, work.turn)
  await work.reach(2)
  assert.ok(loop)
})

test('a turn that fails is told of and taken again', async () => {
  const { log, lines } = recorded()
  const work = turns([new Error('no such thing'), new Error('no such thing'), Infinity])
  await using loop = startLoop('ledger', { log }, work.turn)
  await work.reach(3)
  assert.equal(lines.length, 2)
  assert.match(lines[0] ?? '', /no such thing.*"loop":"ledger"/)
  assert.ok(loop)
})

test('the failures of a loop are counted, from 0', async () => {
  const metrics = createMetrics()
  const log = countLoops(recorded().log, metrics)
  const work = turns([new Error('no such thing'), new Error('no such thing'), Infinity])
  await using failing = startLoop('ledger', { log }, work.turn)
  await using well = startLoop('well', { log }, turns([Infinity]).turn)
  await work.reach(3)
  const text = await metrics.registry.metrics()
  assert.match(text, /^kaha_loop_failures_total\{loop="ledger"\} 2$/m)
  assert.match(text, /^kaha_loop_failures_total\{loop="well"\} 0$/m)
  assert.ok(failing && well)
})

test('a database that is away is no news: the turn is taken again without a word', async () => {
  const metrics = createMetrics()
  const { log: plain, lines } = recorded()
  const log = countLoops(plain, metrics)
  const work = turns([new Fault('UNAVAILABLE', 'away'), Infinity])
  await using loop = startLoop('test', { log }, work.turn)
  await work.reach(2)
  assert.deepEqual(lines, [])
  assert.match(await metrics.registry.metrics(), /^kaha_loop_failures_total\{loop="test"\} 0$/m)
  assert.ok(loop)
})

test('stopping waits for the turn in hand, ends a wait at once, and takes no further turn', async () => {
  const gate = Promise.withResolvers<void>()
  const order: string[] = []
  let taken = 0
  const loop = startLoop('test', { log: recorded().log }, async () => {
    taken += 1
    await gate.promise
    order.push('turn')
    return 0
  })
  const stopped = loop[Symbol.asyncDispose]().then(() => order.push('stopped'))
  gate.resolve()
  await stopped
  assert.deepEqual([order, taken], [['turn', 'stopped'], 1])

  const idle = turns([Infinity])
  const waiting = startLoop('test', { log: recorded().log }, idle.turn)
  await idle.reach(1)
  await waiting[Symbol.asyncDispose]()
  waiting.wake()
  assert.equal(idle.taken, 1)
})

test('stopping ends the pause after a failure as well', async () => {
  const work = turns([new Error('always')])
  const loop = startLoop('test', { log: recorded().log }, work.turn)
  await work.reach(3)
  await loop[Symbol.asyncDispose]()
})
