import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { busOver, type Kind } from './bus.ts'

/** A bus over a line that sends nothing until it is let go. */
async function slowBus() {
  const sent: [Kind, string][] = []
  const { promise: free, resolve: letGo } = Promise.withResolvers<void>()
  const line = {
    open: async () => ({ broken: new Promise<Error>(() => {}), close: async () => {} }),
    async send(kind: Kind, payloads: readonly string[]) {
      // Without the name of who sends it.
      for (const payload of payloads) sent.push([kind, payload.replace(/^\S+\s/, '')])
      await free
    },
  }
  const bus = await busOver(line, { debounceMs: 1, onLost: () => {} })
  return { sent, letGo, bus }
}

test('hints that come while some are on their way go in one message after it, and a word waits for none of them', async () => {
  const { sent, letGo, bus } = await slowBus()
  for (let times = 0; times < 20; times += 1) {
    bus.hint(times % 2 === 0 ? 'events' : 'deliveries')
    await sleep(3)
  }
  bus.say('terminals', ['changed', 'id'])
  await sleep(10)
  assert.deepEqual(sent, [
    ['hints', 'events'],
    ['words', 'terminals changed id'],
  ])
  letGo()
  await sleep(20)
  assert.deepEqual(sent.slice(2), [['hints', 'deliveries events']])
  await bus[Symbol.asyncDispose]()
})

test('a bus that is closed sends the hints that waited for others', async () => {
  const { sent, letGo, bus } = await slowBus()
  bus.hint('events')
  await sleep(10)
  bus.hint('keys')
  const closed = bus[Symbol.asyncDispose]()
  letGo()
  await closed
  assert.deepEqual(sent, [
    ['hints', 'events'],
    ['hints', 'keys'],
  ])
})
