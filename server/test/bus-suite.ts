import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Bus, BusOptions, Topic } from '../src/kernel/bus.ts'
import type { LineProxy } from './line-proxy.ts'
import { until } from './until.ts'

/** A line of one process to what carries its installation's messages, and a bus over it. */
export interface Wired {
  readonly line: LineProxy
  open(options: BusOptions & { pingMs?: number }): Promise<Bus>
}

/** What carries one installation's messages: a database, or a broker under a name. */
export type Carrier = () => Promise<Wired>

export interface BusSuite {
  /** Begins the title of each test. */
  readonly over: string
  /** Why it is left out, where it is. */
  readonly missing?: string | undefined
  carrier(held: AsyncDisposableStack): Promise<Carrier>
}

interface Process {
  readonly bus: Bus
  readonly line: LineProxy
  readonly lost: Error[]
  /** How often the line came back. */
  readonly back: number
}

/** Resolves with the next hint of a topic. */
export function nextHint(bus: Bus, topic: Topic): Promise<void> {
  return new Promise((resolve) => {
    const forget = bus.listen(topic, () => {
      forget()
      resolve()
    })
  })
}

/** What every bus must do, whatever carries it. */
export function busSuite({ over, missing, carrier }: BusSuite): void {
  /** Processes of one installation, each with a line of its own that can be cut. */
  const suite = (
    promise: string,
    check: (room: {
      process: (options?: { pingMs?: number }) => Promise<Process>
      elsewhere: () => Promise<Process>
    }) => Promise<void>,
  ) =>
    void test(`over ${over}, ${promise}`, async (t) => {
      if (missing !== undefined) return t.skip(missing)
      await using held = new AsyncDisposableStack()
      const start = async (from: Carrier, { pingMs = 60_000 } = {}): Promise<Process> => {
        const { line, open } = await from()
        held.use(line)
        const lost: Error[] = []
        let back = 0
        const options = {
          debounceMs: 1,
          retryMs: 5,
          pingMs,
          onLost: (error: Error) => lost.push(error),
          onBack: () => (back += 1),
        }
        const bus = held.use(await open(options))
        return {
          bus,
          line,
          lost,
          get back() {
            return back
          },
        }
      }
      const ours = await carrier(held)
      await check({
        process: (options) => start(ours, options),
        elsewhere: async () => start(await carrier(held)),
      })
    })

  suite('a hint is heard at once in the process that gives it, and soon in every other', async ({ process }) => {
    const [here, there, elsewhere] = [await process(), await process(), await process()]
    const far = [nextHint(there.bus, 'keys'), nextHint(elsewhere.bus, 'keys')]
    let heard = 0
    here.bus.listen('keys', () => (heard += 1))
    here.bus.hint('keys')
    assert.equal(heard, 1)
    await Promise.all(far)
  })

  suite('a process does not hear its own hint a second time', async ({ process }) => {
    const [here, there] = [await process(), await process()]
    let heard = 0
    here.bus.listen('clock', () => (heard += 1))
    const arrived = nextHint(there.bus, 'clock')
    here.bus.hint('clock')
    await arrived
    const answered = nextHint(here.bus, 'events')
    there.bus.hint('events')
    await answered
    assert.equal(heard, 1)
  })

  suite('topics are told apart, and many hints become few', async ({ process }) => {
    const [here, there] = [await process(), await process()]
    const heard: Topic[] = []
    for (const topic of ['keys', 'events', 'deliveries'] as const) there.bus.listen(topic, () => heard.push(topic))
    for (let hint = 0; hint < 100; hint += 1) here.bus.hint('events')
    here.bus.hint('deliveries')
    await until('a hint of deliveries', () => heard.includes('deliveries'))
    assert.deepEqual(heard.toSorted(), ['deliveries', 'events'])
  })

  suite('who has stopped listening hears nothing more', async ({ process }) => {
    const { bus } = await process()
    let heard = 0
    const forget = bus.listen('keys', () => (heard += 1))
    bus.hint('keys')
    forget()
    bus.hint('keys')
    assert.equal(heard, 1)
  })

  suite('one installation does not hear another', async ({ process, elsewhere }) => {
    const [here, there, stranger] = [await process(), await process(), await elsewhere()]
    stranger.bus.listen('keys', () => assert.fail('this hint is not for it'))
    stranger.bus.hear('terminals', () => assert.fail('these words are not for it'))
    const arrived = nextHint(there.bus, 'keys')
    const control = nextHint(here.bus, 'events')
    here.bus.say('terminals', ['changed', 'one'])
    here.bus.hint('keys')
    await arrived
    there.bus.hint('events')
    await control
  })

  suite('words are heard here at once, and elsewhere in their order, however many there are', async ({ process }) => {
    const [here, there] = [await process(), await process()]
    const said = Array.from({ length: 1_000 }, (_, index) => [`word-${index}`, 'x'.repeat(40), ''])
    const heard: (readonly string[])[] = []
    let near = 0
    here.bus.hear('terminals', () => (near += 1))
    there.bus.hear('terminals', (words) => heard.push(words))
    there.bus.hear('payments', () => assert.fail('these words are of another topic'))
    for (const words of said) here.bus.say('terminals', words)
    assert.equal(near, said.length)
    await until('the words', () => heard.length >= said.length)
    assert.deepEqual(heard, said)
  })

  suite('the words of each process keep their order while all of them speak', async ({ process }) => {
    const ear = await process()
    const heard = new Map<string, number[]>()
    ear.bus.hear('terminals', ([who = '', what]) => heard.set(who, [...(heard.get(who) ?? []), Number(what)]))
    const speakers = [await process(), await process(), await process()]
    const count = 300
    const speak = async ({ bus }: Process, who: number) => {
      for (let what = 0; what < count; what += 1) {
        bus.say('terminals', [`${who}`, `${what}`])
        // So that they go in many messages.
        if (what % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await Promise.all(speakers.map(speak))
    await until('the words', () => [...heard.values()].flat().length === count * speakers.length)
    const inOrder = Array.from({ length: count }, (_, what) => what)
    for (const one of heard.values()) assert.deepEqual(one, inOrder)
  })

  suite('what is said is words: data, spaces and more than 500 bytes are refused at once', async ({ process }) => {
    const [here, there] = [await process(), await process()]
    const heard: (readonly string[])[] = []
    for (const { bus } of [here, there]) bus.hear('terminals', (words) => heard.push(words))
    for (const words of [['two words'], ['line\nfeed'], ['x'.repeat(491)], ['é'.repeat(246)], ['a', 'x'.repeat(490)]])
      assert.throws(() => here.bus.say('terminals', words), RangeError)
    const longest = ['x'.repeat(490)]
    here.bus.say('terminals', longest)
    await until('the words', () => heard.length === 2)
    assert.deepEqual(heard, [longest, longest])
  })

  suite(
    'a line that breaks shows, is made anew, and hints every topic for whatever was missed',
    async ({ process }) => {
      const one = await process()
      assert.deepEqual([one.bus.connected, one.bus.outages], [true, 0])
      one.line.becomes('closed')
      await until('a broken line', () => !one.bus.connected)
      const missed = [nextHint(one.bus, 'keys'), nextHint(one.bus, 'clock')]
      one.line.becomes('passes')
      await Promise.all(missed)
      assert.equal(one.bus.connected, true)
      await until('the end of the outage', () => one.back === 1)
    },
  )

  suite('an outage is told once, however long it lasts and however often the line is tried', async ({ process }) => {
    const one = await process()
    one.bus.hear('terminals', () => {})
    one.line.becomes('closed')
    await until('a broken line', () => !one.bus.connected)
    const before = one.line.tried
    await until('some tries', () => {
      one.bus.say('terminals', ['changed', 'one'])
      return one.line.tried > before + 5
    })
    one.line.becomes('passes')
    await until('the end of the outage', () => one.back === 1)
    assert.deepEqual([one.lost.length, one.bus.outages, one.back], [1, 1, 1])
  })

  suite(
    'words that may be lost on the way are made up for by a hint of their topic to all others',
    async ({ process }) => {
      const [here, there] = [await process(), await process()]
      here.line.becomes('closed')
      await until('a broken line', () => !here.bus.connected)
      there.bus.hear('terminals', ([what]) => assert.equal(what, 'later'))
      let near = 0
      here.bus.hear('terminals', () => (near += 1))
      const madeUp = nextHint(there.bus, 'terminals')
      here.bus.say('terminals', ['lost', 'one'])
      assert.equal(near, 1)
      await until('tries to open the line', () => here.line.tried > 3)
      here.line.becomes('passes')
      await madeUp
      // From here on words arrive again.
      const heard = once(hearing(there.bus, 'terminals'), 'words')
      here.bus.say('terminals', ['later', 'one'])
      await heard
    },
  )

  suite('a hint that could not be given is given when the line is back', async ({ process }) => {
    const [here, there] = [await process(), await process()]
    here.line.becomes('closed')
    await until('a broken line', () => !here.bus.connected)
    const arrived = nextHint(there.bus, 'keys')
    here.bus.hint('keys')
    await until('tries to open the line', () => here.line.tried > 3)
    here.line.becomes('passes')
    await arrived
  })

  suite('a line that says nothing any more is found out and made anew', async ({ process }) => {
    const one = await process({ pingMs: 50 })
    one.line.becomes('silent')
    await until('the loss of the line', () => !one.bus.connected)
    one.line.becomes('closed')
    one.line.becomes('passes')
    await until('a new line', () => one.bus.connected)
    assert.equal(one.bus.outages, 1)
  })

  suite('a process that is slow to hear holds up no other, and misses nothing', async ({ process }) => {
    const [here, slow, quick] = [await process(), await process(), await process()]
    const count = 5_000
    const heard = { slow: [] as number[], quick: [] as number[] }
    slow.bus.hear('terminals', ([what]) => heard.slow.push(Number(what)))
    quick.bus.hear('terminals', ([what]) => heard.quick.push(Number(what)))
    slow.line.becomes('held')
    for (let what = 0; what < count; what += 1) here.bus.say('terminals', [`${what}`, 'x'.repeat(100)])
    await until('the words at the quick one', () => heard.quick.length === count)
    assert.equal(heard.slow.length, 0)
    slow.line.becomes('passes')
    await until('the words at the slow one', () => heard.slow.length === count)
    assert.deepEqual(heard.slow, heard.quick)
  })

  suite('a process that stops still tells what it was about to tell, and hears nothing more', async ({ process }) => {
    const [here, there] = [await process(), await process()]
    const said = once(hearing(there.bus, 'terminals'), 'words')
    const arrived = nextHint(there.bus, 'keys')
    here.bus.say('terminals', ['changed', 'one'])
    here.bus.hint('keys')
    await here.bus[Symbol.asyncDispose]()
    await Promise.all([said, arrived])
    let heard = 0
    here.bus.listen('events', () => (heard += 1))
    there.bus.hint('events')
    const control = nextHint(there.bus, 'clock')
    here.bus.hint('clock')
    there.bus.hint('clock')
    await control
    assert.deepEqual([heard, here.bus.connected, here.lost.length], [0, false, 0])
  })

  suite('a process stops while the line is away, or says nothing', async ({ process }) => {
    for (const behaviour of ['closed', 'silent'] as const) {
      const one = await process()
      one.line.becomes(behaviour)
      one.bus.say('terminals', ['changed', 'one'])
      one.bus.hint('keys')
      await one.bus[Symbol.asyncDispose]()
      assert.equal(one.bus.connected, false)
    }
  })
}

/** Words as events of Node. */
function hearing(bus: Bus, topic: Topic): EventTarget {
  const target = new EventTarget()
  bus.hear(topic, () => target.dispatchEvent(new Event('words')))
  return target
}
