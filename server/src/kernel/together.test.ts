import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { mock, test, type TestContext } from 'node:test'
import { isFull } from './db.ts'
import { Fault } from './fault.ts'
import { together } from './together.ts'

const noneFree = () => new Fault('UNAVAILABLE', 'full', { cause: new Error('timeout exceeded when trying to connect') })

/** Work that says what it was given, and waits to be let through. */
function gate(itemsMax: number, apart: (item: string) => readonly string[] = () => []) {
  const batches: (readonly string[])[] = []
  const waiting: PromiseWithResolvers<void>[] = []
  const refused = new Set<string>()
  const broken = new Set<string>()
  const away = { now: false }
  const full = { now: false }
  const does = together({
    async work(items: readonly string[]) {
      batches.push(items)
      const one = Promise.withResolvers<void>()
      waiting.push(one)
      await one.promise
      if (away.now) throw new Fault('UNAVAILABLE', 'away')
      if (full.now) throw noneFree()
      if (items.some((item) => broken.has(item))) throw new Error('broken')
      return items.map((item) => (refused.has(item) ? new Fault('CONFLICT', item) : `did ${item}`))
    },
    itemsMax,
    apart,
  })
  const pass = async () => {
    while (waiting.length === 0) await turn()
    waiting.shift()?.resolve()
  }
  return { does, pass, batches, refused, broken, away, full }
}

/** Makes lines over which one byte can be sent to this process itself. */
async function openLine(t: TestContext) {
  const server = createServer()
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return async () => {
    const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [[Socket], unknown]
    t.after(() => (near.destroy(), far.destroy()))
    return { send: () => void far.write('x'), next: (come: () => void) => void near.once('data', come) }
  }
}

test('what comes in while a batch is under way is the next batch, each with its own result', async () => {
  const { does, pass, batches } = gate(10)
  const first = does('a')
  while (batches.length === 0) await turn()
  const others = [does('b'), does('c')]
  await pass()
  assert.equal(await first, 'did a')
  await pass()
  assert.deepEqual(await Promise.all(others), ['did b', 'did c'])
  assert.deepEqual(batches, [['a'], ['b', 'c']])
})

test('the next batch is under way before those of the last one go on', async () => {
  const { does, pass, batches } = gate(10)
  const wentOn: number[] = []
  const one = async (item: string) => {
    await does(item)
    wentOn.push(batches.length)
  }
  const first = [one('a'), one('b')]
  while (batches.length === 0) await turn()
  const others = [one('c'), one('d')]
  await pass()
  await Promise.all(first)
  await pass()
  await Promise.all(others)
  assert.deepEqual(wentOn, [2, 2, 2, 2])
})

test('what comes in just after the answer of the database finds those told who waited for it', async (t) => {
  const line = await openLine(t)
  const lines = [await line(), await line()]
  const answered = Promise.withResolvers<void>()
  const does = together({
    async work(items: readonly string[]) {
      await answered.promise
      return items
    },
    itemsMax: 10,
  })
  const seen: string[] = []
  const stored = does('a').then(() => seen.push('told'))
  const heard = lines.map(
    ({ next }) =>
      new Promise<void>((done) =>
        next(() => {
          // The first of the two is the answer, whichever it is.
          seen.push(seen.length === 0 ? 'answer' : 'word')
          answered.resolve()
          done()
        }),
      ),
  )
  await turn()
  for (const { send } of lines) send()
  // Both have arrived before this process looks.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
  await Promise.all([stored, ...heard])
  assert.deepEqual(seen, ['answer', 'told', 'word'])
})

test('a batch has so many at most, and the others come after it in their order', async () => {
  const { does, pass, batches } = gate(2)
  const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map(does))
  for (let batch = 0; batch < 3; batch += 1) await pass()
  await all
  assert.deepEqual(batches, [['a', 'b'], ['c', 'd'], ['e']])
})

test('what waits for another is not overtaken by what must wait for it', async () => {
  const { does, pass, batches } = gate(10, (item) => item.split(''))
  const all = Promise.all(['a', 'ab', 'b'].map(does))
  for (const expected of [['a'], ['ab'], ['b']]) {
    await pass()
    assert.deepEqual(batches.shift(), expected)
  }
  await all
})

test('what must stay apart is done one after the other, and holds up nobody else', async () => {
  const { does, pass, batches } = gate(10, (item) => [item.slice(0, 1)])
  const all = Promise.all(['a1', 'a2', 'b1', 'a3', 'b2'].map(does))
  for (let batch = 0; batch < 3; batch += 1) await pass()
  await all
  assert.deepEqual(batches, [['a1', 'b1'], ['a2', 'b2'], ['a3']])
})

test('a refusal is that of one alone', async () => {
  const { does, pass, refused } = gate(10)
  refused.add('b')
  const all = Promise.allSettled(['a', 'b', 'c'].map(does))
  await pass()
  const [a, b, c] = await all
  assert.deepEqual([a?.status, b?.status, c?.status], ['fulfilled', 'rejected', 'fulfilled'])
})

test('one that cannot be done fails alone: the others of its batch are done without it', async () => {
  const { does, pass, broken, batches } = gate(10)
  broken.add('c')
  const all = Promise.allSettled(['a', 'b', 'c', 'd'].map(does))
  for (let batch = 0; batch < 5; batch += 1) await pass()
  const results = (await all).map(({ status }) => status)
  assert.deepEqual(results, ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  assert.deepEqual(batches, [['a', 'b', 'c', 'd'], ['a', 'b'], ['c', 'd'], ['c'], ['d']])
})

test('where the database is away, everybody who waits is told at once', async () => {
  const { does, pass, away, batches } = gate(2)
  away.now = true
  const all = Promise.allSettled(['a', 'b', 'c', 'd'].map(does))
  await pass()
  assert.deepEqual(
    (await all).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected', 'rejected'],
  )
  assert.equal(batches.length, 1)
})

test('where no connection came free, those who waited as long as the batch are told so, and those who came since have their turn', async () => {
  const { does, pass, full, batches } = gate(2)
  full.now = true
  const first = Promise.allSettled(['a', 'b', 'c'].map(does))
  while (batches.length === 0) await turn()
  const since = Promise.all(['d', 'e'].map(does))
  await pass()
  assert.deepEqual(
    (await first).map((one) => one.status === 'rejected' && isFull(one.reason)),
    [true, true, true],
  )
  full.now = false
  await pass()
  assert.deepEqual(await since, ['did d', 'did e'])
  assert.deepEqual(batches, [
    ['a', 'b'],
    ['d', 'e'],
  ])
})

const turns = async () => {
  for (let left = 10; left > 0; left -= 1) await turn()
}

/** A batch of these takes as long as it is given, by a clock that does nothing else. */
function resting(options: { readonly restFrom: number; readonly tookMs: number }) {
  const batches: string[][] = []
  let nowMs = 0
  mock.timers.enable({ apis: ['setTimeout'] })
  const clock = mock.method(performance, 'now', () => nowMs)
  const does = together({
    async work(items: readonly string[]) {
      batches.push([...items])
      nowMs += options.tookMs
      return items
    },
    itemsMax: 40,
    restFrom: options.restFrom,
  })
  const end = () => {
    clock.mock.restore()
    mock.timers.reset()
  }
  return { batches, does, [Symbol.dispose]: end }
}

test('after a batch of a few it rests, so that the next is larger; after one alone, or many, it does not', async () => {
  using rests = resting({ restFrom: 4, tookMs: 20 })
  const several = (name: string, count: number) => Promise.all(Array.from({ length: count }, () => rests.does(name)))
  await several('alone', 1)
  await several('few', 4)
  const waiting = [rests.does('b'), rests.does('c')]
  await turns()
  waiting.push(rests.does('d'))
  assert.equal(rests.batches.length, 2)
  mock.timers.tick(10)
  await Promise.all(waiting)
  await several('many', 32)
  await rests.does('after many')
  assert.deepEqual(
    rests.batches.map((batch) => [batch[0], batch.length]),
    [
      ['alone', 1],
      ['few', 4],
      ['b', 3],
      ['many', 32],
      ['after many', 1],
    ],
  )
})

test('where a batch of one is a few already, who comes after one alone waits for others', async () => {
  using rests = resting({ restFrom: 1, tookMs: 20 })
  await rests.does('a')
  const waiting = [rests.does('b')]
  await turns()
  waiting.push(rests.does('c'))
  mock.timers.tick(10)
  await Promise.all(waiting)
  assert.deepEqual(rests.batches, [['a'], ['b', 'c']])
})

for (const [tookMs, restMs] of [
  [8, 4],
  [20, 10],
  [30, 15],
  [3_000, 15],
] as const)
  test(`after a batch that took ${tookMs} ms it rests for ${restMs}`, async () => {
    using rests = resting({ restFrom: 1, tookMs })
    await rests.does('a')
    const next = rests.does('b')
    await turns()
    mock.timers.tick(restMs - 1)
    await turns()
    assert.deepEqual(rests.batches, [['a']])
    mock.timers.tick(1)
    await next
    assert.deepEqual(rests.batches, [['a'], ['b']])
  })
