import { busSuite } from '../../test/bus-suite.ts'
import { freshDatabase } from '../../test/cluster.ts'
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
