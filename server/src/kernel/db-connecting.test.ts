import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../test/cluster.ts'
import { connectionConfig, createDb, statement } from './db.ts'

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
  await using database = await freshDatabase()
  const { target } = database
  if ('url' in target) return t.skip('the database of this run is on TCP')
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
