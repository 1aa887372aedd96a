import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { until } from '../../test/until.ts'
import { postgresBus } from '../kernel/bus-postgres.ts'
import { createDb, statement } from '../kernel/db.ts'
import { createLog } from '../kernel/log.ts'
import { terminalTaskStore, type HeldRow } from './store-terminals.ts'
import { createTerminalLeases, nameOf } from './terminal-leases.ts'

const log = createLog('silent')
const [partnerId, groupId, deviceId] = [randomUUID(), randomUUID(), 'sim-approve']
const asking = { partnerId, groupId, deviceId }

/** Two processes, of which the first does what `answer` does when the second asks something of it. */
async function twoProcesses(t: { after(close: () => Promise<void>): void }, answer: (held: HeldRow) => Promise<void>) {
  const held = new AsyncDisposableStack()
  t.after(() => held.disposeAsync())
  const { target } = held.use(await freshDatabase())
  const db = held.use(createDb({ target, connectionsMax: 4, onError: () => {} }))
  const bus = held.use(await postgresBus({ db, target, debounceMs: 1, onLost: () => {} }))
  await terminalTaskStore.insertKey(db, groupId, deviceId, Buffer.from('sealed'), new Date())
  const running = new Set<string>()
  const lost = (name: string) => void running.delete(name)
  const between = { db, bus, log, answerMsMax: 200 }
  const first = held.use(
    createTerminalLeases({ ...between, nodeId: randomUUID(), running: () => [...running], answer, lost }),
  )
  const second = held.use(
    createTerminalLeases({ ...between, nodeId: randomUUID(), running: () => [], answer: async () => {}, lost }),
  )
  return { db, bus, first, second, running }
}

test('who asks a process that does not answer is told so in time', async (t) => {
  const { first, second } = await twoProcesses(t, async () => {})
  assert.equal(await first.claim(partnerId, groupId, deviceId), true)
  assert.equal(await second.claim(partnerId, groupId, deviceId), false)
  for (const what of ['stop', 'start'] as const) await assert.rejects(second.ask(what, asking), { code: 'UNAVAILABLE' })
})

test("a partner asks for no other's virtual terminal", async (t) => {
  const { first, second } = await twoProcesses(t, async () => {})
  await first.claim(partnerId, groupId, deviceId)
  assert.equal(await second.ask('stop', { ...asking, partnerId: randomUUID() }), 0)
  assert.equal(await second.ask('stop', { ...asking, groupId: randomUUID() }), 0)
})

test('a process that was taken for dead lets go of what another has begun to run since', async (t) => {
  const { db, bus, first, second, running } = await twoProcesses(t, async () => {})
  await first.claim(partnerId, groupId, deviceId)
  running.add(nameOf(groupId, deviceId))
  // As a third has claimed it once the lease had run out.
  const nodeId = randomUUID()
  await db.run(statement('test.take', 'update sandbox.virtual_terminals set node_id = $1'), [nodeId])
  bus.hint('terminals')
  await until('that it is let go', () => running.size === 0)
  assert.deepEqual(await second.elsewhere(asking), { comesBack: false })
})
