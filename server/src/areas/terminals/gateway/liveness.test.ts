import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { mock, test, type TestContext } from 'node:test'
import { createClock } from '../../../kernel/clock.ts'
import type { Connections, Seen } from '../connections.ts'
import type { Link, Links } from './links.ts'
import { startLiveness } from './liveness.ts'

const beatMs = 5_000

interface Surroundings {
  readonly connections: Partial<Connections>
  readonly links?: Iterable<Link>
  readonly settle?: () => Promise<void>
}

/** With timers of the test's own, of a process in which nobody is to be dismissed. */
function beating({ connections, links = [], settle = async () => {} }: Surroundings) {
  mock.timers.enable({ apis: ['setInterval'] })
  const liveness = startLiveness({
    links: { all: () => [...links].values() } as Partial<Links> as Links,
    clock: createClock(() => 0),
    connections: { beat: async () => {}, touch: async () => [], leave: async () => {}, ...connections } as Connections,
    onError: (error) => assert.fail(String(error)),
    pingMs: 1_000_000,
    dismiss: () => assert.fail('nobody is silent or lost'),
    settle,
  })
  return {
    checkSoon: () => liveness.checkSoon(),
    async beat() {
      mock.timers.tick(beatMs)
      for (let turns = 0; turns < 5; turns += 1) await turn()
    },
    async [Symbol.asyncDispose]() {
      await liveness[Symbol.asyncDispose]()
      mock.timers.reset()
    },
  }
}

test('what a terminal said is stored once, also where that could not be at first; one that has only connected has nothing to store', async () => {
  const link = { connectionId: 'c1', terminalId: 't1', lastFrameMs: 1_000, storedFrameMs: 1_000, offsetMs: 0 } as Link
  const till = { connectionId: 'c2', terminalId: null, lastFrameMs: 2_000, storedFrameMs: 1_000, offsetMs: 0 } as Link
  const stored: string[][] = []
  let locked = false
  const touch = async (seen: readonly Seen[]) => {
    stored.push(seen.map(({ connectionId, at }) => `${connectionId} ${at.toISOString()}`))
    return locked ? [...seen] : []
  }
  await using liveness = beating({ links: [link, till], connections: { touch } })
  await liveness.beat()
  link.lastFrameMs = 3_000
  link.offsetMs = 60_000
  locked = true
  await liveness.beat()
  locked = false
  await liveness.beat()
  await liveness.beat()
  const said = 'c1 1970-01-01T00:01:03.000Z'
  assert.deepEqual(stored, [[], [said], [said], []])
})

test('a process says that it lives while what is left to do takes long, and checks whom it lost only after that', async () => {
  const did: string[] = []
  const settling = Promise.withResolvers<void>()
  await using liveness = beating({
    connections: {
      beat: async () => void did.push('beat'),
      async missing() {
        did.push('check')
        return []
      },
    },
    settle: async () => {
      did.push('settle')
      await settling.promise
    },
  })
  // Its end waits for what is under way, also where an assertion fails.
  using _ = { [Symbol.dispose]: () => settling.resolve() }
  liveness.checkSoon()
  for (let beats = 0; beats < 3; beats += 1) await liveness.beat()
  assert.deepEqual(did, ['beat', 'settle', 'beat', 'beat'])
  settling.resolve()
  await liveness.beat()
  assert.deepEqual(did.slice(4, 6), ['beat', 'check'])
})

test('a check that is asked for while another is under way is made after it', async () => {
  let checks = 0
  const found = Promise.withResolvers<string[]>()
  const missing = () => {
    checks += 1
    return found.promise
  }
  await using liveness = beating({ connections: { missing } })
  using _ = { [Symbol.dispose]: () => found.resolve([]) }
  liveness.checkSoon()
  await liveness.beat()
  liveness.checkSoon()
  found.resolve([])
  await liveness.beat()
  assert.equal(checks, 2)
  await liveness.beat()
  assert.equal(checks, 2)
})

/** Sockets that come and are pinged, on timers of the test's own; what was done to them. */
function pinging(t: TestContext) {
  mock.timers.enable({ apis: ['setInterval'] })
  const stepMs = 250
  let nowMs = 0
  const did: string[] = []
  const open = new Set<Link>()
  const liveness = startLiveness({
    links: { all: () => open.values() } as Partial<Links> as Links,
    clock: createClock(() => nowMs),
    connections: {
      beat: async () => {},
      touch: async () => [],
      missing: async () => [],
      leave: async () => {},
    } as Partial<Connections> as Connections,
    onError: (error) => assert.fail(String(error)),
    pingMs: 15_000,
    dismiss: (link) => void open.delete(link),
    settle: async () => {},
  })
  t.after(async () => {
    await liveness[Symbol.asyncDispose]()
    mock.timers.reset()
  })
  return {
    did,
    comes(name: string) {
      const link = {
        connectionId: name,
        terminalId: null,
        lastFrameMs: nowMs,
        storedFrameMs: nowMs,
        unanswered: 0,
        isPaused: false,
        ping: () => did.push(`${nowMs} ping ${name}`),
        terminate: () => did.push(`${nowMs} end ${name}`),
      }
      open.add(link as Partial<Link> as Link)
      return {
        speaks: () => Object.assign(link, { lastFrameMs: nowMs, unanswered: 0 }),
        isPaused: (isPaused: boolean) => Object.assign(link, { isPaused }),
      }
    },
    untilMs(endMs: number) {
      while (nowMs < endMs) {
        nowMs += stepMs
        mock.timers.tick(stepMs)
      }
    },
    /** As a machine that is suspended: its timers are not made up for. */
    sleeps(ms: number) {
      nowMs += ms
    },
  }
}

test('a socket is pinged whenever as long again has passed since it came, and is given up at its third turn without a word', async (t) => {
  const { comes, untilMs, did } = pinging(t)
  const early = comes('early')
  untilMs(4_000)
  comes('late')
  untilMs(16_000)
  early.speaks()
  untilMs(50_000)
  assert.deepEqual(did, [
    '15250 ping early',
    '19250 ping late',
    '30250 ping early',
    '34250 ping late',
    '45250 ping early',
    '49250 end late',
  ])
})

test('what a process did not hear while it was asleep is no silence of theirs', async (t) => {
  const { comes, untilMs, sleeps, did } = pinging(t)
  comes('one')
  untilMs(10_000)
  sleeps(60_000)
  untilMs(76_000)
  assert.deepEqual(did, ['75250 ping one'])
  untilMs(110_000)
  assert.deepEqual(did.slice(1), ['90250 ping one', '105250 end one'])
})

test('nor is what waits unread of a socket that is read no further for now', async (t) => {
  const { comes, untilMs, did } = pinging(t)
  const one = comes('one')
  one.isPaused(true)
  untilMs(100_000)
  assert.deepEqual(did, [])
  one.isPaused(false)
  one.speaks()
  untilMs(106_000)
  assert.deepEqual(did, ['105250 ping one'])
})
