import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import type { WebSocket } from 'ws'
import type { TerminalPrincipal } from '../../../identity/terminal-keys.ts'
import type { Bus, Words } from '../../../kernel/bus.ts'
import { createClock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { TerminalCases } from '../service-terminal.ts'
import { createDeliverer } from './deliver.ts'
import { createLinks, Link } from './links.ts'

test('a read for a desktop that fails while the desktop has its turn is told in the next one, and ends no process', async () => {
  const told: unknown[] = []
  const onError = (error: unknown) => void told.push(error)
  const links = createLinks()
  const socket = new EventEmitter() as WebSocket
  const principal = { role: 'desktop', groupId: 'g', keyId: 'k' } as TerminalPrincipal
  const about = { connectionId: 'c', principal, terminalId: null, deviceId: null }
  const link = new Link(socket, about, 0, onError, 1_000)
  links.add(link)
  let hear: (words: Words) => void = () => {}
  const bus = { hear: (_topic, heard) => ((hear = heard), () => {}), listen: () => () => {} } as Partial<Bus> as Bus
  const db = { run: () => Promise.reject(new Error('gone')) } as Partial<Db> as Db
  const clock = createClock(() => 0)
  createDeliverer({ db, bus, clock, links, cases: {} as TerminalCases, unsent() {}, onError })
  const turn = Promise.withResolvers<void>()
  link.inTurn(() => turn.promise)
  hear(['push', 'g', 'id', 'paymentComplete'])
  hear(['terminal', 'g', 'id', 'c', 'connected'])
  await sleep(20)
  assert.equal(told.length, 0)
  turn.resolve()
  await sleep(20)
  assert.deepEqual(
    told.map((error) => (error as Error).message),
    ['gone', 'gone'],
  )
})
