import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busSuite } from '../../test/bus-suite.ts'
import { freshDatabase } from '../../test/cluster.ts'
import { startMutePostgres } from '../../test/mute-servers.ts'
import { startPostgresProxy } from '../../test/postgres-proxy.ts'
import { postgresBus } from './bus-postgres.ts'
import { createDb } from './db.ts'

busSuite({
  over: 'PostgreSQL',
  async carrier(held) {
    const { target } = held.use(await freshDatabase())
    return async () => {
      const line = await startPostgresProxy(target)
      const db = held.use(createDb({ target: line.target, onError: () => {} }))
      return { line, open: (options) => postgresBus({ ...options, db, target: line.target }) }
    }
  },
})

test('a database that lets the line in and then says nothing holds up nobody for long: it is an outage', async () => {
  await using mute = await startMutePostgres()
  const target = { url: `postgres://kaha@127.0.0.1:${mute.port}/kaha` }
  await using db = createDb({ target, onError: () => {} })
  const lost: Error[] = []
  await using bus = await postgresBus({ db, target, connectMsMax: 200, onLost: (error) => lost.push(error) })
  assert.deepEqual([bus.connected, bus.outages], [false, 1])
  assert.match(String(lost[0]), /timeout/)
})
