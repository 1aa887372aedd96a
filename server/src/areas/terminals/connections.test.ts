import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bus } from '../../kernel/bus.ts'
import { createClock } from '../../kernel/clock.ts'
import type { Db, Statement } from '../../kernel/db.ts'
import { createConnections } from './connections.ts'
import type { Ledger } from './ledger.ts'

test('the sockets of a silent process are ended at once, but not after a time in which nobody could say anything', async () => {
  let isAway = false
  let ended = 0
  const row = { key_id: 'k', connection_id: 'c', node_id: 'n', group_id: 'g', terminal_id: null }
  const db = {
    async run({ name }: Statement) {
      if (isAway) throw new Error('away')
      return name === 'terminals.silentSockets' ? [row] : []
    },
    async tx(work: (tx: Db) => Promise<unknown>) {
      ended += 1
      return work(db)
    },
  } as unknown as Db
  const ledger = { follow: async () => {}, changeIn: async () => [] } as unknown as Ledger
  const said: string[][] = []
  const bus = { say: (...[topic, words]) => void said.push([topic, ...words]) } as Partial<Bus> as Bus
  const connections = createConnections({ db, bus, clock: createClock(() => 0), ledger, nodeId: 'own' })
  assert.deepEqual([await connections.reap(), ended], [1, 1])
  // Whoever holds it still, since it lives after all, must let it come anew.
  assert.deepEqual(said, [['terminals', 'close', 'c', 'other']])
  isAway = true
  await assert.rejects(connections.reap(), /away/)
  isAway = false
  assert.deepEqual([await connections.reap(), ended], [0, 1])
})
