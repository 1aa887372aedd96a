import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { startPostgresProxy } from '../../test/postgres-proxy.ts'
import { until } from '../../test/until.ts'
import { postgresBus, type Bus, type Topic } from './bus.ts'
import { createDb } from './db.ts'

/** A database, and processes on it that hear each other through lines of their own. */
async function network(t: TestContext) {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const errors: Error[] = []
  return {
    errors,
    async process() {
      const proxy = held.use(await startPostgresProxy(target))
      const db = held.use(createDb({ target, onError: () => {} }))
      const options = {
        db,
        target: proxy.target,
        debounceMs: 1,
        reconnectMs: 5,
        onError: (error: Error) => errors.push(error),
      }
      const bus = held.use(await postgresBus(options))
      return { bus, proxy }
    },
  }
}

/** Resolves with the next hint of a topic. */
function next(bus: Bus, topic: Topic): Promise<void> {
  return new Promise((resolve) => {
    const forget = bus.listen(topic, () => {
      forget()
      resolve()
    })
  })
}

test('a hint is heard at once in the process that gives it, and soon in every other', async (t) => {
  const { process } = await network(t)
  const [here, there, elsewhere] = [await process(), await process(), await process()]
  const far = [next(there.bus, 'keys'), next(elsewhere.bus, 'keys')]
  let heard = 0
  here.bus.listen('keys', () => (heard += 1))
  here.bus.hint('keys')
  assert.equal(heard, 1)
  await Promise.all(far)
})

test('a process does not hear its own hint a second time', async (t) => {
  const { process } = await network(t)
  const [here, there] = [await process(), await process()]
  let heard = 0
  here.bus.listen('clock', () => (heard += 1))
  const arrived = next(there.bus, 'clock')
  here.bus.hint('clock')
  await arrived
  const answered = next(here.bus, 'events')
  there.bus.hint('events')
  await answered
  assert.equal(heard, 1)
})

test('topics are told apart, and many hints become few', async (t) => {
  const { process } = await network(t)
  const [here, there] = [await process(), await process()]
  const heard: Topic[] = []
  for (const topic of ['keys', 'events', 'deliveries'] as const) there.bus.listen(topic, () => heard.push(topic))
  for (let hint = 0; hint < 100; hint += 1) here.bus.hint('events')
  here.bus.hint('deliveries')
  await until('a hint of deliveries', () => heard.includes('deliveries'))
  assert.deepEqual(heard.toSorted(), ['deliveries', 'events'])
})

test('who has stopped listening hears nothing more', async (t) => {
  const { process } = await network(t)
  const { bus } = await process()
  let heard = 0
  const forget = bus.listen('keys', () => (heard += 1))
  bus.hint('keys')
  forget()
  bus.hint('keys')
  assert.equal(heard, 1)
})

test('a line that breaks shows, is made anew, and hints every topic for whatever was missed', async (t) => {
  const { process, errors } = await network(t)
  const { bus, proxy } = await process()
  assert.equal(bus.connected, true)
  proxy.becomes('closed')
  await until('a broken line', () => !bus.connected)
  assert.ok(errors.length > 0)
  const missed = [next(bus, 'keys'), next(bus, 'clock')]
  proxy.becomes('passes')
  await Promise.all(missed)
  assert.equal(bus.connected, true)
})

test('a process that stops still tells what it was about to tell, and hears nothing more', async (t) => {
  const { process } = await network(t)
  const [here, there] = [await process(), await process()]
  const arrived = next(there.bus, 'keys')
  here.bus.hint('keys')
  await here.bus[Symbol.asyncDispose]()
  await arrived
  let heard = 0
  here.bus.listen('events', () => (heard += 1))
  there.bus.hint('events')
  const control = next(there.bus, 'clock')
  here.bus.hint('clock')
  there.bus.hint('clock')
  await control
  assert.equal(heard, 0)
  assert.equal(here.bus.connected, false)
})

test('words are heard at once in the process that says them, and elsewhere in their order, however many there are', async (t) => {
  const { process } = await network(t)
  const [here, there] = [await process(), await process()]
  const said = Array.from({ length: 1_000 }, (_, index) => [`word-${index}`, 'x'.repeat(40)])
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
