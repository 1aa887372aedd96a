import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { sql } from '../../test/sql.ts'
import { createDb, type Db } from './db.ts'
import { StartFault } from './fault.ts'
import { changeMasterKey, openInstallation, refuseOtherMode } from './installation.ts'
import { createKeyring } from './seal.ts'

async function emptyDatabase(t: TestContext): Promise<Db> {
  const database = await freshDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const db = createDb({ target: database.target, onError: () => {} })
  t.after(() => db[Symbol.asyncDispose]())
  return db
}

const refusal = (words: RegExp) => (error: unknown) => error instanceof StartFault && words.test(error.message)
const otherKey = refusal(/sealed with another master key: set KAHA_MASTER_KEY to that one/)
const otherMode = refusal(/set KAHA_MODE to sandbox/)

test('a database belongs to the master key and the mode of its first start, and says so to any other', async (t) => {
  const db = await emptyDatabase(t)
  const [own, other] = [randomBytes(32), randomBytes(32)]
  // Two first starts at once: one of them has it, and the other what that one has made.
  const [first, second] = await Promise.all([
    openInstallation(db, own, 'sandbox'),
    openInstallation(db, own, 'sandbox'),
  ])
  const sealed = first.seal('a secret', 'place')
  assert.equal(second.open(sealed, 'place'), 'a secret')
  assert.equal((await openInstallation(db, Buffer.from(own), 'sandbox')).open(sealed, 'place'), 'a secret')
  await assert.rejects(openInstallation(db, other, 'sandbox'), otherKey)
  await assert.rejects(openInstallation(db, own, 'live'), otherMode)
  // Another key goes with another mode: what is wrong is the mode.
  for (const attempt of [() => openInstallation(db, other, 'live'), () => refuseOtherMode(db, 'live')])
    await assert.rejects(attempt, otherMode)
  await refuseOtherMode(db, 'sandbox')
  const [row] = await sql<{ text: string }>(db, 'select i::text as text from kernel.installation i')
  assert.ok(row !== undefined && !row.text.includes(own.toString('hex')))
  // Who has the master key without the database has no key to anything in it.
  assert.throws(() => createKeyring(own).open(sealed, 'place'), /sealed with another key/)
})

test('of two first starts with keys of their own one is refused', async (t) => {
  const db = await emptyDatabase(t)
  const both = await Promise.allSettled([
    openInstallation(db, randomBytes(32), 'sandbox'),
    openInstallation(db, randomBytes(32), 'sandbox'),
  ])
  const refused = both.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  assert.equal(refused.length, 1)
  assert.ok(otherKey(refused[0]))
})

test('another master key takes the place of the one before, and opens all that was sealed and derived', async (t) => {
  const db = await emptyDatabase(t)
  const [from, to] = [randomBytes(32), randomBytes(32)]
  await assert.rejects(
    changeMasterKey(db, { from, to, mode: 'sandbox' }),
    refusal(/has no master key yet: the first `kaha start` gives it one/),
  )
  const before = await openInstallation(db, from, 'sandbox')
  const sealed = before.seal('a secret', 'place')

  await assert.rejects(changeMasterKey(db, { from: randomBytes(32), to, mode: 'sandbox' }), otherKey)
  await assert.rejects(changeMasterKey(db, { from, to, mode: 'live' }), otherMode)
  await openInstallation(db, from, 'sandbox')

  assert.equal(await changeMasterKey(db, { from, to, mode: 'sandbox' }), true)
  await assert.rejects(openInstallation(db, from, 'sandbox'), otherKey)
  const after = await openInstallation(db, to, 'sandbox')
  assert.equal(after.open(sealed, 'place'), 'a secret')
  assert.equal(before.open(after.seal('another', 'place'), 'place'), 'another')
  assert.deepEqual(after.mac('purpose', 'data'), before.mac('purpose', 'data'))
  assert.equal(await changeMasterKey(db, { from, to, mode: 'sandbox' }), false)
  assert.equal(await changeMasterKey(db, { from: to, to, mode: 'sandbox' }), false)

  // Two at once: one of them is last, and its key alone opens.
  const keys = [randomBytes(32), randomBytes(32)]
  const said = await Promise.allSettled(keys.map((key) => changeMasterKey(db, { from: to, to: key, mode: 'sandbox' })))
  assert.deepEqual(said.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  for (const [index, key] of keys.entries()) {
    const opening = openInstallation(db, key, 'sandbox')
    if (said[index]?.status === 'rejected') await assert.rejects(opening, otherKey)
    else assert.equal((await opening).open(sealed, 'place'), 'a secret')
  }
})

test('an installation from before data keys opens with its master key, and with the next', async (t) => {
  const db = await emptyDatabase(t)
  const [from, to] = [randomBytes(32), randomBytes(32)]
  const { keyId, fingerprint, seal } = createKeyring(from)
  await sql(db, `insert into kernel.installation (key_id, fingerprint, mode) values ($1, $2, 'live')`, [
    keyId,
    fingerprint,
  ])
  const sealed = seal('a secret', 'place')
  assert.equal((await openInstallation(db, from, 'live')).open(sealed, 'place'), 'a secret')
  await assert.rejects(openInstallation(db, to, 'live'), otherKey)
  assert.equal(await changeMasterKey(db, { from, to, mode: 'live' }), true)
  assert.equal((await openInstallation(db, to, 'live')).open(sealed, 'place'), 'a secret')
  await assert.rejects(openInstallation(db, from, 'live'), otherKey)
})
