import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { mock, test } from 'node:test'
import { createClock } from '../../../kernel/clock.ts'
import type { Connections, Seen } from '../connections.ts'
import type { Link, Links } from './links.ts'
import { startLiveness } from './liveness.ts'

const beatMs = 5_000

test('what a terminal said is stored once, also where that could not be at first; one that has only connected has nothing to store', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  const link = { connectionId: 'c1', terminalId: 't1', lastFrameMs: 1_000, storedFrameMs: 1_000 } as Link
  const till = { connectionId: 'c2', terminalId: null, lastFrameMs: 2_000, storedFrameMs: 1_000 } as Link
  const stored: string[][] = []
  let locked = false
  const connections = {
    beat: async () => {},
    async touch(seen: readonly Seen[]) {
      stored.push(seen.map(({ connectionId, at }) => `${connectionId} ${at.toISOString()}`))
      return locked ? [...seen] : []
    },
    leave: async () => {},
  } as Partial<Connections> as Connections
  const liveness = startLiveness({
    links: { all: () => [link, till].values() } as Partial<Links> as Links,
    clock: createClock(() => 0),
    connections,
    onError: (error) => assert.fail(String(error)),
    pingMs: 1_000_000,
    dismiss: () => assert.fail('nobody is silent'),
    settle: async () => {},
  })
  const beat = async () => {
    mock.timers.tick(beatMs)
    for (let turns = 0; turns < 5; turns += 1) await turn()
  }
  try {
    await beat()
    link.lastFrameMs = 3_000
    locked = true
    await beat()
    locked = false
    await beat()
    await beat()
    const said = 'c1 1970-01-01T00:00:03.000Z'
    assert.deepEqual(stored, [[], [said], [said], []])
  } finally {
    await liveness[Symbol.asyncDispose]()
    mock.timers.reset()
  }
})

test('a process says that it lives while what is left to do takes long, and checks whom it lost only after that', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  const did: string[] = []
  const settling = Promise.withResolvers<void>()
  const connections = {
    beat: async () => void did.push('beat'),
    touch: async () => [],
    async missing() {
      did.push('check')
      return []
    },
    leave: async () => {},
  } as Partial<Connections> as Connections
  const liveness = startLiveness({
    links: { all: () => [].values() } as Partial<Links> as Links,
    clock: createClock(() => 0),
    connections,
    onError: (error) => assert.fail(String(error)),
    pingMs: 1_000_000,
    dismiss: () => assert.fail('nobody is lost'),
    settle: async () => {
      did.push('settle')
      await settling.promise
    },
  })
  liveness.checkSoon()
  const beat = async () => {
    mock.timers.tick(beatMs)
    for (let turns = 0; turns < 5; turns += 1) await turn()
  }
  try {
    for (let beats = 0; beats < 3; beats += 1) await beat()
    assert.deepEqual(did, ['beat', 'settle', 'beat', 'beat'])
    settling.resolve()
    await beat()
    assert.deepEqual(did.slice(4, 6), ['beat', 'check'])
  } finally {
    settling.resolve()
    await liveness[Symbol.asyncDispose]()
    mock.timers.reset()
  }
})
