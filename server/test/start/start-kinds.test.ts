import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { give, isRoot, ordinaryUser } from '../../src/kernel/postgres/test-setup.ts'
import {
  commandsUnder,
  folder,
  freePort,
  keysIn,
  launch,
  merchantOf,
  serversIn,
  start,
  stop,
  type SandboxFile,
} from './program.ts'

const home = folder({ after })
const keysOfAnother: string[] = []
const branchOf = ({ merchants: [merchant] }: SandboxFile) => merchant?.branches[0]?.id ?? ''

test('an empty start plays nothing, and no later start plays the story in that sandbox, which may be in use', async (t) => {
  const dataDir = join(home, 'empty')
  const empty = await start(t, dataDir, { args: ['--empty'] })
  assert.deepEqual((await merchantOf(empty.sandbox).paymentLinks.list()).data, [])
  await playsNothing(empty)
  assert.doesNotMatch(empty.stdout(), /\/pay\/l\//)
  assert.equal(await stop(empty), 0)

  const later = await start(t, dataDir)
  await playsNothing(later)
  keysOfAnother.push(...keysIn(later.sandbox))
  assert.equal(await stop(later), 0)
})

async function playsNothing({ sandbox, stdout }: Awaited<ReturnType<typeof start>>): Promise<void> {
  assert.doesNotMatch(stdout(), /A first order/)
  const { webhooks, reports } = merchantOf(sandbox)
  assert.deepEqual((await webhooks.listEndpoints()).data, [])
  assert.deepEqual((await webhooks.listEvents({ branch_id: branchOf(sandbox) })).data, [])
  assert.deepEqual((await reports.listTransactions()).data, [])
}

test('a sandbox whose keys may ask once a second tells the whole story all the same, and has a link to try', async (t) => {
  const program = await start(t, join(folder(t), 'data'), { settings: { KAHA_RATE_LIMIT: '1' } })
  assert.doesNotMatch(program.stderr(), /left out/)
  assert.match(
    program.stdout(),
    /A first order .*\nOne sale .*, and one QR Ph code .*\nAnother terminal .*\n\nPay this link/,
  )
})

const limits = '/proc/self/limits'
const toldHere = { skip: existsSync(limits) ? false : `${limits}: it is not there` }
test('a start that may open so few files that connections would be cut says so', toldHere, async (t) => {
  const main = join(import.meta.dirname, '../../src/main.ts')
  const command = ['/bin/sh', '-c', 'ulimit -n 512; exec "$0" "$@"', process.execPath, main]
  const few = await start(t, join(folder(t), 'data'), { command, args: ['--empty'] })
  assert.match(few.stderr(), /this process may open 512 files, and cuts connections beyond that/)
  assert.equal(await stop(few), 0)
})

test('a sandbox in another currency whose webhooks go to public addresses alone tells the story without its inbox, and what it says can be done', async (t) => {
  const program = await start(t, join(home, 'public'), {
    settings: { KAHA_WEBHOOK_TARGETS: 'public', KAHA_CURRENCIES: 'USD' },
  })
  assert.match(program.stdout(), /one card was refused, the next one went through\.\n/)
  assert.doesNotMatch(program.stdout(), /webhook/)
  assert.doesNotMatch(program.stderr(), /left out/)
  const { data } = await merchantOf(program.sandbox).webhooks.listEvents({ branch_id: branchOf(program.sandbox) })
  assert.deepEqual(
    data.map(({ status }) => status),
    ['NOT_SUBSCRIBED', 'NOT_SUBSCRIBED'],
  )
  const [, body = ''] = /-d '(.*)'/.exec(program.stdout()) ?? []
  const link = await merchantOf(program.sandbox).paymentLinks.create({
    ...JSON.parse(body),
    merchant_branch_reference_number: program.sandbox.merchants[0]?.branches[0]?.reference_number,
  })
  assert.equal(link.currency, 'USD')
  assert.equal(await stop(program), 0)
})

test('a sandbox on a port that fetch blocks runs, and says why it has no link to try', async (t) => {
  const program = await start(t, join(folder(t), 'data'), { settings: { KAHA_PORT: '10080' } })
  assert.match(program.stderr(), /^kaha: the link to try was left out: fetch failed \(bad port\)$/m)
})

test('a live installation says that it takes no card payments yet, and knows no sandbox', async (t) => {
  const dataDir = join(home, 'live')
  const settings = {
    KAHA_DATA_DIR: dataDir,
    KAHA_MODE: 'live',
    KAHA_PORT: String(await freePort()),
    KAHA_BASE_URL: 'https://pay.example.com',
    KAHA_MASTER_KEY: randomBytes(32).toString('base64'),
  }
  const live = launch(t, { args: ['start'], settings })
  await live.says(
    /Kaha is running in live mode on https:\/\/pay\.example\.com\. No card connector is configured: card payments are refused\./,
  )
  await live.says(
    new RegExp(
      `This process has the roles api, gateway, worker, and listens on 127\\.0\\.0\\.1:${settings.KAHA_PORT}\\.`,
    ),
  )
  const base = `http://127.0.0.1:${settings.KAHA_PORT}`
  assert.match(await (await fetch(`${base}/readyz`)).text(), /no card connector is configured/)
  assert.equal((await fetch(`${base}/sandbox/clock`)).status, 404)
  const asSandbox = commandsUnder(t, { KAHA_DATA_DIR: dataDir })
  const asLive = commandsUnder(t, settings)
  const otherMode = /this database belongs to a live installation .* set KAHA_MODE to live/
  const partner = ['entities', 'create', '--level', 'partner', '--name', 'Ours', '--json']
  await asSandbox.refused(otherMode, ...partner)
  assert.equal(await asLive.kaha('entities', 'list'), 'There are no entities yet: `kaha entities create` makes some.\n')
  const { id } = JSON.parse(await asLive.kaha(...partner)) as { id: string }
  await asSandbox.refused(otherMode, 'keys', 'issue', '--entity', id)
  assert.match(await asLive.kaha('keys', 'issue', '--entity', id), /^sk_live_/)
  assert.deepEqual([existsSync(join(dataDir, 'sandbox.json')), existsSync(join(dataDir, 'master.key'))], [false, false])
  assert.equal(await stop(live), 0)
  assert.match(
    live.stderr(),
    /^\{"level":30,.*"Kaha is running"\}\n(?:.*\n)*\{"level":30,.*"msg":"Kaha is stopping"\}$/m,
  )
  const [started = ''] = live.stderr().match(/^.*"Kaha is running".*$/m) ?? []
  const { version, mode, roles, listening, base: ofMerchants, metrics } = JSON.parse(started)
  assert.match(version, /^\d+\.\d+\.\d+$/)
  assert.deepEqual(
    { mode, roles, listening, ofMerchants, metrics },
    {
      mode: 'live',
      roles: ['api', 'gateway', 'worker'],
      listening: `127.0.0.1:${settings.KAHA_PORT}`,
      ofMerchants: 'https://pay.example.com',
      metrics: 'main',
    },
  )
})

test('an ordinary user starts and stops a sandbox as root does, and a new data directory has keys of its own', async (t) => {
  const user = isRoot ? await ordinaryUser() : { identity: {} }
  if (typeof user === 'string') return t.skip(`an ordinary user: ${user}`)
  const dataDir = join(home, 'ordinary')
  mkdirSync(dataDir)
  if ('name' in user) for (const path of [home, dataDir]) give(path, user)
  const program = await start(t, dataDir, { identity: user.identity })
  assert.match(program.stdout(), /A first order has been paid already/)
  assert.equal(statSync(join(dataDir, 'sandbox.json')).uid, statSync(dataDir).uid)
  assert.deepEqual(
    keysIn(program.sandbox).filter((key) => keysOfAnother.includes(key)),
    [],
  )
  assert.equal(await stop(program), 0)
  assert.deepEqual(serversIn(dataDir), [])
})
