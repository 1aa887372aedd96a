import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createCheckout } from '@kaha/sdk'
import { keysCommand } from '../../src/commands/keys.ts'
import { readConfig } from '../../src/config.ts'
import { StartFault } from '../../src/kernel/fault.ts'
import { cardOf } from '../platform.ts'
import { commandsUnder, folder, launch, merchantOf, start, stop } from './program.ts'

// What an operator does who changes the master key, and what goes on as before.

const newKey = (): string => randomBytes(32).toString('base64')

function keyFile(t: TestContext, text: string = newKey()): string {
  const path = join(folder(t), 'next.key')
  writeFileSync(path, `${text}\n`)
  return path
}

const order = { amount: 9800, currency: 'PHP', merchant_branch_reference_number: 'KAPE-1' }

test('another master key beside a running sandbox: it goes on, and so does the next start, with all that was sealed and derived', async (t) => {
  const dataDir = join(folder(t), 'data')
  const { kaha } = commandsUnder(t, { KAHA_DATA_DIR: dataDir })
  const kept = join(dataDir, 'master.key')
  const first = await start(t, dataDir, { args: ['--empty'] })
  const before = readFileSync(kept, 'utf8')
  const idempotencyKey = 'order-of-before'
  const intent = await merchantOf(first.sandbox).paymentIntents.create(order, { idempotencyKey })

  const next = keyFile(t)
  const said = await kaha('keys', 'master', '--to', next)
  assert.match(said, /^The database opens with that key from now on, and with no other\. Processes that run go on\.\n/)
  assert.ok(said.includes(`${kept} holds it.\n`))
  assert.equal(readFileSync(kept, 'utf8'), readFileSync(next, 'utf8'))
  assert.equal(statSync(kept).mode & 0o777, 0o600)
  assert.deepEqual(
    readdirSync(dataDir).filter((name) => name.startsWith('master.key')),
    ['master.key'],
  )
  assert.match(await kaha('keys', 'master', '--to', next), /^The database opens with that key already\.\n/)
  assert.deepEqual(JSON.parse(await kaha('keys', 'master', '--to', next, '--json')), { changed: false })

  const later = await merchantOf(first.sandbox).paymentIntents.create(order)
  assert.equal(await stop(first), 0)

  const old = launch(t, {
    args: ['start'],
    settings: { KAHA_DATA_DIR: dataDir, KAHA_MASTER_KEY: before.trim() },
  })
  assert.equal(await old.ended, 1)
  assert.match(old.stderr(), /^kaha: the secrets in this database are sealed with another master key/m)

  const second = await start(t, dataDir)
  assert.deepEqual(second.sandbox.merchants, first.sandbox.merchants)
  const replayed = await merchantOf(second.sandbox).paymentIntents.create(order, { idempotencyKey })
  assert.deepEqual([replayed.id, replayed.client_secret], [intent.id, intent.client_secret])
  assert.equal((await fetch(second.sandbox.base_url + new URL(intent.checkout_url).pathname)).status, 200)
  const payer = createCheckout({ baseUrl: second.sandbox.base_url })
  for (const { id, client_secret } of [intent, later]) {
    const card = { type: 'card' as const, card: cardOf() }
    const paid = await payer.confirm(id, { client_secret: client_secret ?? '', payment_method: card })
    assert.equal(paid.status, 'SUCCEEDED')
  }
  assert.equal(await stop(second), 0)

  // Where the key is set, it is the operator's to set.
  const [from, to] = [readFileSync(kept, 'utf8').trim(), keyFile(t)]
  const wrong = commandsUnder(t, { KAHA_DATA_DIR: dataDir, KAHA_MASTER_KEY: newKey() })
  await wrong.refused(/sealed with another master key/, 'keys', 'master', '--to', to)
  assert.match(
    await commandsUnder(t, { KAHA_DATA_DIR: dataDir, KAHA_MASTER_KEY: from }).kaha('keys', 'master', '--to', to),
    /\nSet KAHA_MASTER_KEY to it wherever Kaha is started next\.\nKeep the key before it as long as a backup from before\.\n$/,
  )
  assert.equal(readFileSync(kept, 'utf8').trim(), from)
  const third = { KAHA_DATA_DIR: dataDir, KAHA_MASTER_KEY: readFileSync(to, 'utf8').trim() }
  await commandsUnder(t, third).kaha('keys', 'issue', '--entity', first.sandbox.partner.id)
})

test('what is no master key, or has no database, is told in one line', async (t) => {
  const dataDir = join(folder(t), 'nowhere')
  const refused = (words: RegExp, ...args: string[]) =>
    assert.rejects(
      keysCommand(readConfig({ KAHA_DATA_DIR: dataDir }), args),
      (fault) => fault instanceof StartFault && words.test(fault.message) && !fault.message.includes('\n'),
    )
  const change = (...args: string[]) => ['master', ...args]
  await refused(/^say which key is the next: --to and a file that holds it, as `openssl rand/, ...change())
  await refused(/^\/nowhere\.key cannot be read \(ENOENT\)/, ...change('--to', '/nowhere.key'))
  await refused(/^--to takes a file that holds the key, not the key: others may read/, ...change('--to', newKey()))
  const short = keyFile(t, randomBytes(16).toString('base64'))
  await refused(/next\.key holds no key of 32 bytes in base64/, ...change('--to', short))
  await refused(/^`kaha keys master` takes no --entity/, ...change('--to', short, '--entity', 'x'))
  await refused(/^`kaha keys list` takes no --to/, 'list', '--to', short)
  await refused(/^there is no .*\/nowhere: start Kaha first/, ...change('--to', keyFile(t)))
})
