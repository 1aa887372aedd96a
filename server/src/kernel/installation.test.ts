import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { sql } from '../../test/sql.ts'
import { createDb } from './db.ts'
import { StartFault } from './fault.ts'
import { holdInstallation, refuseOtherMode } from './installation.ts'
import { createKeyring } from './seal.ts'

test('a database belongs to the master key and the mode of its first start, and says so to any other', async (t) => {
  const database = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const db = createDb({ target: database.target, onError: () => {} })
  t.after(() => db[Symbol.asyncDispose]())
  const key = randomBytes(32)
  const [own, other] = [createKeyring(key), createKeyring(randomBytes(32))]
  // Two first starts at once: one of them has it.
  const both = await Promise.allSettled([holdInstallation(db, own, 'sandbox'), holdInstallation(db, own, 'sandbox')])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'fulfilled'],
  )
  await holdInstallation(db, createKeyring(Buffer.from(key)), 'sandbox')
  await assert.rejects(
    holdInstallation(db, other, 'sandbox'),
    (error) => error instanceof StartFault && /another master key/.test(error.message),
  )
  await assert.rejects(
    holdInstallation(db, own, 'live'),
    (error) => error instanceof StartFault && /set KAHA_MODE to sandbox/.test(error.message),
  )
  // Another key goes with another mode: what is wrong is the mode.
  for (const attempt of [() => holdInstallation(db, other, 'live'), () => refuseOtherMode(db, 'live')])
    await assert.rejects(
      attempt,
      (error) => error instanceof StartFault && /set KAHA_MODE to sandbox/.test(error.message),
    )
  await refuseOtherMode(db, 'sandbox')
  const [row] = await sql<{ text: string }>(db, 'select i::text as text from kernel.installation i')
  assert.ok(row !== undefined && !row.text.includes(key.toString('hex')))
})
