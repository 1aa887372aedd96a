import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import pg from 'pg'
import { startTestCluster, targetOf } from '../../test/cluster.ts'
import { connectionConfig, createDb, isAway, statement, type DbTarget } from './db.ts'
import { Fault } from './fault.ts'

const environment = {
  PGHOST: '/nowhere',
  PGPORT: '1',
  PGUSER: 'nobody',
  PGDATABASE: 'nothing',
  PGSSLMODE: 'require',
  PGSSLNEGOTIATION: 'direct',
  PGOPTIONS: '-c search_path=nowhere',
  PGAPPNAME: 'psql',
}

test('what the environment says for psql and others does not count for the embedded database', async (t) => {
  // Not the run's own, which may be on TCP.
  await using cluster = await startTestCluster({ quick: true })
  const target = targetOf(JSON.parse(cluster.handle) as DbTarget, 'postgres')
  Object.assign(process.env, environment)
  t.after(() => Object.keys(environment).forEach((name) => delete process.env[name]))
  const shown = `select current_setting('search_path') as path, current_setting('application_name') as name`
  const asThere = [{ path: '"$user", public', name: 'kaha' }]
  await using db = createDb({ target, onError: assert.fail })
  assert.deepEqual(await db.run(statement('test.shown', shown), []), asThere)
  const client = new pg.Client(connectionConfig(target))
  await client.connect()
  assert.deepEqual((await client.query(shown)).rows, asThere)
  await client.end()
})

test('a database with which no TLS comes about is away, whatever it answers instead', async (t) => {
  for (const answer of ['N', 'Sno TLS at all\n']) {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(answer))
    })
    t.after(() => server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const told: unknown[] = []
    const url = `postgres://kaha@127.0.0.1:${(server.address() as AddressInfo).port}/kaha?ssl=true`
    await using db = createDb({ target: { url }, onError: assert.fail, onAway: (error) => told.push(error) })
    const one = statement('test.one', 'select 1')
    for (const asked of [db.run(one, []), db.tx((tx) => tx.run(one, []))])
      await assert.rejects(asked, (error) => {
        assert.ok(error instanceof Fault && isAway(error), String(error))
        assert.equal(error.code, 'UNAVAILABLE')
        return true
      })
    assert.equal(told.length, 1)
    assert.ok(!(told[0] instanceof Fault))
  }
})
