import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { StartFault } from '../../src/kernel/fault.ts'
import { give, isRoot, ordinaryUser } from '../../src/kernel/postgres/test-setup.ts'
import { finish, folder, serversIn, start, stop, type Run } from './program.ts'

const home = folder({ after })
const dataDir = join(home, 'data')
const masterKey = () => randomBytes(32).toString('base64')
const live = { KAHA_MODE: 'live', KAHA_BASE_URL: 'https://pay.example.com', KAHA_MASTER_KEY: masterKey() }

/**
 * A start that a person can mend: exit code 1, nothing on standard output, and beside the log one line that names the cause and a way
 * out.
 */
async function refused(run: Run, line: RegExp): Promise<void> {
  const { code, stdout, stderr } = await finish({ after }, { args: ['start', '--empty'], ...run })
  const words = stderr.replaceAll(/^\{"level".*\}\n/gm, '')
  const told = `${JSON.stringify(run.settings)}\n${stderr}`
  assert.equal(code, 1, told)
  assert.equal(stdout, '', told)
  assert.match(words, /^kaha: [^\n]+\n$/, told)
  assert.match(words, line, told)
}

const badSettings: readonly (readonly [settings: Record<string, string>, line: RegExp])[] = [
  [{ KAHA_MODE: 'production' }, /KAHA_MODE is none of sandbox, live/],
  [{ KAHA_PORT: 'http' }, /KAHA_PORT must be a whole number from 0 to 65535/],
  [{ KAHA_PORT: '65536' }, /KAHA_PORT must be/],
  [{ KAHA_PORT: '-1' }, /KAHA_PORT must be/],
  [{ KAHA_RATE_LIMIT: '1.5' }, /KAHA_RATE_LIMIT must be a whole number/],
  [{ KAHA_CONFIRM_LIMIT: 'many' }, /KAHA_CONFIRM_LIMIT must be a whole number/],
  [{ KAHA_ROLES: 'api,cook' }, /KAHA_ROLES knows no cook: name some of api, gateway, worker/],
  [{ KAHA_ROLES: 'api,' }, /KAHA_ROLES knows no empty entry/],
  [{ KAHA_CURRENCIES: 'PHP,QQQ' }, /KAHA_CURRENCIES knows no QQQ: name some of the codes of ISO 4217/],
  [{ KAHA_BASE_URL: 'localhost:8080' }, /KAHA_BASE_URL must be an address that begins with http/],
  [{ KAHA_CHECKOUT_URL: 'https://pay.example.com/?a=1' }, /KAHA_CHECKOUT_URL must be an address .*without a query/],
  [{ KAHA_BASE_URL: 'https://example.com/kaha' }, /KAHA_BASE_URL must have no path: give it a host name of its own/],
  [{ KAHA_CHECKOUT_URL: 'https://example.com/checkout' }, /KAHA_CHECKOUT_URL must have no path but \/pay: give it/],
  [{ KAHA_TERMINAL_WS_URL: 'https://pay.example.com' }, /KAHA_TERMINAL_WS_URL must be an address .*ws/],
  [{ KAHA_MASTER_KEY: 'secret' }, /KAHA_MASTER_KEY must be 32 bytes in padded base64/],
  [{ KAHA_WEBHOOK_TARGETS: 'all' }, /KAHA_WEBHOOK_TARGETS is none of public, any/],
  [{ KAHA_LOG_LEVEL: 'loud' }, /KAHA_LOG_LEVEL is none of debug/],
  [{ KAHA_METRICS: '9090' }, /KAHA_METRICS must be HOST:PORT/],
  [{ KAHA_TRUST_PROXY: 'the load balancer' }, /KAHA_TRUST_PROXY must be none, or addresses and CIDRs/],
  [{ KAHA_TRUST_PROXY: '10.0.0.0/8,0.0.0.0/0' }, /KAHA_TRUST_PROXY has 0\.0\.0\.0\/0, .*: name .* your proxies alone/],
  [{ KAHA_TRUST_PROXY: '::/00' }, /KAHA_TRUST_PROXY has ::\/00, /],
  [{ KAHA_DATABASE_URL: 'mysql://localhost/kaha' }, /KAHA_DATABASE_URL must begin with postgres:\/\//],
  [{ KAHA_NATS_URL: 'localhost:4222' }, /KAHA_NATS_URL must be nats:\/\/HOST:PORT/],
  [{ ...live, KAHA_MASTER_KEY: '' }, /KAHA_MASTER_KEY is required in live mode/],
  [{ ...live, KAHA_BASE_URL: '' }, /KAHA_BASE_URL is required in live mode/],
  [{ ...live, KAHA_BASE_URL: 'http://pay.example.com' }, /KAHA_BASE_URL must begin with https/],
  [{ ...live, KAHA_WEBHOOK_TARGETS: 'any' }, /KAHA_WEBHOOK_TARGETS is any, which live mode does not allow/],
]

test('a bad setting of any kind is named, with what it takes', () => {
  for (const [settings, line] of badSettings) {
    assert.throws(
      () => readConfig(settings),
      (fault) => {
        assert.ok(fault instanceof StartFault, JSON.stringify(settings))
        assert.match(fault.message, line)
        return !fault.message.includes('\n')
      },
    )
  }
})

const refusedSettings: readonly (readonly [settings: Record<string, string>, line: RegExp])[] = [
  [{ KAHA_PORT: 'http' }, /KAHA_PORT must be a whole number from 0 to 65535/],
  [{ ...live, KAHA_MASTER_KEY: '' }, /KAHA_MASTER_KEY is required in live mode/],
  [{ KAHA_DATABASE_URL: 'postgres://kaha:p@ss:word@local host/kaha' }, /KAHA_DATABASE_URL is no address/],
  [{ KAHA_ROLES: 'api' }, /a process with some of the roles .* set KAHA_DATABASE_URL/],
]

test('a bad setting ends the start with one line, before anything is started', async () => {
  for (const [settings, line] of refusedSettings) {
    const unused = join(home, 'unused')
    await refused({ settings: { KAHA_DATA_DIR: unused, ...settings } }, line)
    assert.deepEqual(serversIn(unused), [])
  }
})

test('a misspelt setting does not go unnoticed', async (t) => {
  const program = await start(t, dataDir, { args: ['--empty'], settings: { KAHA_PROT: '8080' } })
  assert.equal(await stop(program), 0)
  assert.match(program.stderr(), /there is no setting KAHA_PROT; kaha start --help lists what there is/)
})

test('an argument that start does not know is named', async () => {
  await refused({ args: ['start', '--emtpy'] }, /kaha start takes no --emtpy; `kaha start --help` tells what it takes/)
})

test('a data directory that cannot be one is named', async () => {
  const file = join(home, 'file')
  writeFileSync(file, '')
  // Root may write everywhere, and still /proc keeps nothing.
  for (const path of [file, join(file, 'below'), '/dev/null/kaha', '/proc/kaha', '/proc/kaha/below', '/proc']) {
    await refused(
      { settings: { KAHA_DATA_DIR: path } },
      /the data directory .* cannot be used .*: set KAHA_DATA_DIR to a folder that you may write/,
    )
  }
  const spoilt = join(home, 'spoilt')
  mkdirSync(spoilt)
  writeFileSync(join(spoilt, 'master.key'), 'not a key')
  await refused(
    { settings: { KAHA_DATA_DIR: spoilt } },
    /master\.key holds no key of 32 bytes in base64: put the right one back/,
  )
})

test('a data directory that its user may read and not write is named, in live mode too', async (t) => {
  const user = isRoot ? await ordinaryUser() : { identity: {} }
  if (typeof user === 'string') return t.skip(`an ordinary user: ${user}`)
  const path = join(home, 'read-only')
  mkdirSync(path)
  if ('name' in user) for (const one of [home, path]) give(one, user)
  chmodSync(path, 0o500)
  for (const settings of [{ KAHA_DATA_DIR: path }, { KAHA_DATA_DIR: path, ...live }])
    await refused({ settings, identity: user.identity }, /read-only cannot be used \(EACCES: .*\): set KAHA_DATA_DIR/)
})

test('while one sandbox runs, a second one on its port or on its data directory is told so, and the first goes on', async (t) => {
  const first = await start(t, dataDir, { args: ['--empty'] })
  const { port } = new URL(first.sandbox.base_url)
  await refused({ settings: { KAHA_DATA_DIR: dataDir } }, new RegExp(`${dataDir}.*${first.pid}`))
  await refused(
    { settings: { KAHA_DATA_DIR: join(home, 'other'), KAHA_PORT: port } },
    new RegExp(`port ${port} is taken: stop the program that uses it, or set KAHA_PORT to another`),
  )
  assert.deepEqual(serversIn(join(home, 'other')), [])
  assert.equal((await fetch(`${first.sandbox.base_url}/readyz`)).status, 200)
  assert.equal(await stop(first), 0)
})

test('a host name that is none of this machine is named, and so is a port for metrics that is taken', async (t) => {
  await refused(
    { settings: { KAHA_DATA_DIR: dataDir, KAHA_HOST: '192.0.2.1' } },
    /this machine has no address 192\.0\.2\.1: set KAHA_HOST/,
  )
  await refused(
    { settings: { KAHA_DATA_DIR: dataDir, KAHA_METRICS: '192.0.2.1:9100' } },
    /this machine has no address 192\.0\.2\.1: set KAHA_METRICS to HOST:PORT/,
  )
  await refused(
    { settings: { KAHA_DATA_DIR: dataDir, KAHA_HOST: 'fe80::1' } },
    /on fe80::1 here \(\w+\): set KAHA_HOST/,
  )
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as AddressInfo
  await refused(
    { settings: { KAHA_DATA_DIR: dataDir, KAHA_METRICS: `127.0.0.1:${port}` } },
    new RegExp(`port ${port} is taken: .*KAHA_METRICS`),
  )
})

test('another master key than the one of the data directory is refused, and its own opens everything again', async (t) => {
  await refused(
    { settings: { KAHA_DATA_DIR: dataDir, KAHA_MASTER_KEY: masterKey() } },
    /sealed with another master key: set KAHA_MASTER_KEY to that one/,
  )
  const again = await start(t, dataDir, { args: ['--empty'] })
  assert.equal(await stop(again), 0)
})
