import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { addressesOf } from './addresses.ts'
import { readConfig, settings, unknownSettings } from './config.ts'
import { StartFault } from './kernel/fault.ts'
import { leaseSeconds } from './payments/inquiry.ts'

const key = randomBytes(32)
const live = { KAHA_MODE: 'live', KAHA_MASTER_KEY: key.toString('base64'), KAHA_BASE_URL: 'https://api.example.com' }

test('without any setting it is a sandbox on this machine, with an embedded database', () => {
  const { dataDir, urls, ...rest } = readConfig({})
  assert.equal(dataDir, resolve('.kaha'))
  assert.ok(Object.values(urls).every((url) => url === null))
  assert.deepEqual(rest, {
    mode: 'sandbox',
    host: '127.0.0.1',
    port: 8080,
    databaseUrl: null,
    nats: null,
    roles: ['api', 'gateway', 'worker'],
    masterKey: null,
    webhookTargets: 'any',
    currencies: ['PHP'],
    terminalCurrencies: ['USD', 'EUR', 'GBP', 'PHP', 'JPY', 'CAD', 'AUD'],
    rateLimitPerSecond: 1_000,
    confirmsPerMinute: 0,
    confirmWaitSeconds: 10,
    qrBank: { bic: 'TESTPHM1XXX', notifyFlags: '010' },
    trustProxy: false,
    metrics: 'main',
    logLevel: 'info',
  })
})

test('the bank of QR Ph codes is a fictional one in a sandbox, and in live none until it is named', () => {
  assert.equal(readConfig(live).qrBank, null)
  const named = { KAHA_QR_BIC: 'KAHAPHMMXXX', KAHA_QR_TAG_28_05: '000' }
  assert.deepEqual(readConfig({ ...live, ...named }).qrBank, { bic: 'KAHAPHMMXXX', notifyFlags: '000' })
  assert.throws(() => readConfig({ ...live, KAHA_QR_BIC: 'TESTPHM1XXX' }), /KAHA_QR_BIC is the fictional bank/)
  for (const bic of ['x', 'kahaphmmxxx', 'KAHAPHMMX', 'KAHAPHMMXXXX'])
    assert.throws(() => readConfig({ KAHA_QR_BIC: bic }), /KAHA_QR_BIC must be a BIC/)
  for (const flags of ['x', '0100', ' 010'])
    assert.throws(() => readConfig({ KAHA_QR_TAG_28_05: flags }), /KAHA_QR_TAG_28_05 must be one to three digits/)
})

test('live mode is stricter where nothing else was said', () => {
  const { masterKey, ...config } = readConfig(live)
  assert.deepEqual(masterKey, key)
  assert.deepEqual(
    [config.mode, config.webhookTargets, config.rateLimitPerSecond, config.confirmsPerMinute],
    ['live', 'public', 100, 30],
  )
})

test('a sandbox that others can reach sends webhooks to public addresses alone and keeps its metrics to itself', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5']) {
    const config = readConfig({ KAHA_HOST: host })
    assert.deepEqual([config.webhookTargets, config.metrics], ['public', 'off'])
  }
  for (const host of ['localhost', '::1', '127.0.0.2'])
    assert.equal(readConfig({ KAHA_HOST: host }).webhookTargets, 'any')
  assert.equal(readConfig({ KAHA_HOST: '0.0.0.0', KAHA_WEBHOOK_TARGETS: 'any' }).webhookTargets, 'any')
})

test('settings are read as they are written', () => {
  const config = readConfig({
    KAHA_PORT: '0',
    KAHA_DATA_DIR: '/var/lib/kaha',
    KAHA_DATABASE_URL: 'postgresql://u:p@db.example/kaha?sslmode=require',
    KAHA_ROLES: 'worker,api',
    KAHA_BASE_URL: 'https://api.example.com//',
    KAHA_CHECKOUT_URL: 'https://shop.example.com/pay/',
    KAHA_QR_URL: 'https://api.example.com/codes//',
    KAHA_TERMINAL_WS_URL: 'wss://terminals.example.com',
    KAHA_CURRENCIES: 'PHP,USD',
    KAHA_RATE_LIMIT: '0',
    KAHA_CONFIRM_LIMIT: '5',
    KAHA_CONFIRM_WAIT: '3',
    KAHA_TRUST_PROXY: '10.0.0.0/8,127.0.0.1',
    KAHA_METRICS: '127.0.0.1:9090',
    KAHA_LOG_LEVEL: 'silent',
  })
  assert.deepEqual(
    [config.port, config.dataDir, config.databaseUrl, config.roles],
    [0, '/var/lib/kaha', 'postgresql://u:p@db.example/kaha?sslmode=require', ['worker', 'api']],
  )
  const { base, checkout, qr, terminalWs } = config.urls
  assert.deepEqual(
    [base, checkout, qr, terminalWs],
    [
      'https://api.example.com',
      'https://shop.example.com/pay',
      'https://api.example.com/codes',
      'wss://terminals.example.com',
    ],
  )
  assert.deepEqual(
    [
      config.currencies,
      config.rateLimitPerSecond,
      config.confirmsPerMinute,
      config.confirmWaitSeconds,
      config.trustProxy,
      config.metrics,
      config.logLevel,
    ],
    [['PHP', 'USD'], 0, 5, 3, ['10.0.0.0/8', '127.0.0.1'], { host: '127.0.0.1', port: 9090 }, 'silent'],
  )
})

test('an address is taken as it is parsed, so that links and addresses made of it are whole', () => {
  const { urls } = readConfig({
    KAHA_BASE_URL: ' HTTPS://API.example.com/ ',
    KAHA_QR_URL: 'https://Q.example/my shop/',
  })
  assert.deepEqual([urls.base, urls.qr], ['https://api.example.com', 'https://q.example/my%20shop'])
  assert.equal(addressesOf({ host: '', port: 0, urls }).terminalWs, 'wss://api.example.com/terminal')
})

test('a NATS broker is named with who we are to it, and several of one cluster with the same', () => {
  const read = (url: string) => readConfig({ KAHA_NATS_URL: url }).nats
  const plain = { tls: false, user: null, secret: null }
  assert.deepEqual(read('nats://nats.example'), { ...plain, at: [{ host: 'nats.example', port: 4222 }] })
  assert.deepEqual(read('tls://token@[::1]:4333/'), {
    at: [{ host: '::1', port: 4333 }],
    tls: true,
    user: null,
    secret: 'token',
  })
  assert.deepEqual(read('nats://kaha:p%40ss%2Cword@a.example:1,nats://kaha:p%40ss%2Cword@b.example:2'), {
    at: [
      { host: 'a.example', port: 1 },
      { host: 'b.example', port: 2 },
    ],
    tls: false,
    user: 'kaha',
    secret: 'p@ss,word',
  })
})

test('a listener for metrics may have an IPv6 address, and what is named twice counts once', () => {
  const { metrics, roles: ofThis } = readConfig({ KAHA_METRICS: '[::1]:9090', KAHA_ROLES: 'api,worker,api' })
  assert.deepEqual([metrics, ofThis], [{ host: '::1', port: 9090 }, ['api', 'worker']])
})

test('an empty setting is an unset one', () => {
  const empty = Object.fromEntries(settings.map(({ name }) => [name, '']))
  assert.deepEqual(readConfig(empty), readConfig({}))
})

const wrong: readonly (readonly [name: string, value: string])[] = [
  ['KAHA_MODE', 'production'],
  ['KAHA_MODE', 'LIVE'],
  ['KAHA_PORT', '65536'],
  ['KAHA_PORT', '-1'],
  ['KAHA_PORT', '8080 '],
  ['KAHA_PORT', 'http'],
  ['KAHA_DATABASE_URL', 'mysql://db.example/kaha'],
  ['KAHA_NATS_URL', 'localhost:4222'],
  ['KAHA_NATS_URL', 'ws://localhost:4222'],
  ['KAHA_NATS_URL', 'nats://'],
  ['KAHA_NATS_URL', 'nats://localhost/subject'],
  ['KAHA_NATS_URL', 'nats://localhost?a=1'],
  ['KAHA_NATS_URL', 'nats://localhost,'],
  ['KAHA_NATS_URL', 'nats://a@one,nats://b@two'],
  ['KAHA_NATS_URL', 'nats://one,tls://two'],
  ['KAHA_ROLES', 'api,clerk'],
  ['KAHA_ROLES', 'api,'],
  ['KAHA_MASTER_KEY', 'short'],
  ['KAHA_MASTER_KEY', key.toString('hex')],
  ['KAHA_MASTER_KEY', key.toString('base64url')],
  ['KAHA_BASE_URL', 'api.example.com'],
  ['KAHA_BASE_URL', 'ftp://api.example.com'],
  ['KAHA_BASE_URL', 'https://api.example.com?x=1'],
  ['KAHA_BASE_URL', 'https://api.example.com/#x'],
  ['KAHA_BASE_URL', 'https://user@api.example.com'],
  ['KAHA_BASE_URL', 'https://:secret@api.example.com'],
  ['KAHA_BASE_URL', 'https:api.example.com'],
  ['KAHA_BASE_URL', 'https://example.com/kaha'],
  ['KAHA_BASE_URL', 'https://example.com/pay'],
  ['KAHA_CHECKOUT_URL', 'https://example.com/pay/more'],
  ['KAHA_DASHBOARD_URL', 'https://example.com/pay'],
  ['KAHA_SANDBOX_URL', 'https://example.com/try'],
  ['KAHA_BASE_URL', 'https:/api.example.com'],
  ['KAHA_BASE_URL', 'https://api.example.com/?'],
  ['KAHA_BASE_URL', 'https://api.example.com/#'],
  ['KAHA_TERMINAL_WS_URL', 'https://terminals.example.com'],
  ['KAHA_WEBHOOK_TARGETS', 'private'],
  ['KAHA_CURRENCIES', 'PHP,XXX'],
  ['KAHA_CURRENCIES', 'php'],
  ['KAHA_RATE_LIMIT', '1.5'],
  ['KAHA_RATE_LIMIT', '1e3'],
  ['KAHA_CONFIRM_LIMIT', 'off'],
  ['KAHA_CONFIRM_WAIT', '16'],
  ['KAHA_METRICS', '9090'],
  ['KAHA_METRICS', 'localhost:port'],
  ['KAHA_METRICS', 'localhost:70000'],
  ['KAHA_METRICS', 'localhost:0'],
  ['KAHA_LOG_LEVEL', 'trace'],
]
for (const [name, value] of wrong) {
  test(`${name}=${value.slice(0, 30)} is refused in one line that names the setting`, () => {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error) => error instanceof StartFault && error.message.startsWith(`${name} `) && !error.message.includes('\n'),
    )
  })
}

test('a call of the processor ends before its lease does, however long it may wait', () => {
  assert.ok(readConfig({ KAHA_CONFIRM_WAIT: '15' }).confirmWaitSeconds < leaseSeconds)
})

test('the line about an address that cannot be names what it may begin with', () => {
  assert.throws(() => readConfig({ KAHA_BASE_URL: 'api.example.com' }), /begins with http:\/\/ or https:\/\/, without/)
  assert.throws(() => readConfig({ KAHA_TERMINAL_WS_URL: 'https://a.example' }), /begins with ws:\/\/ or wss:\/\/,/)
})

test('two services at one address are refused, and both settings named', () => {
  const host = 'https://q.example'
  const clash = (names: readonly string[]) => () => readConfig(Object.fromEntries(names.map((name) => [name, host])))
  assert.throws(
    clash(['KAHA_BASE_URL', 'KAHA_CHECKOUT_URL']),
    /^StartFault: KAHA_CHECKOUT_URL is at the address of KAHA_BASE_URL/,
  )
  assert.throws(clash(['KAHA_QR_URL', 'KAHA_WEBHOOKS_URL']), /KAHA_QR_URL is at the address of KAHA_WEBHOOKS_URL/)
  const sockets = { KAHA_TERMINAL_WS_URL: 'wss://q.example' }
  assert.throws(
    () => readConfig({ KAHA_BASE_URL: host, ...sockets }),
    /KAHA_TERMINAL_WS_URL is at the address of KAHA_BASE_URL/,
  )
  const path = (name: string, at: string) => ({ [name]: `${host}${at}` })
  assert.throws(
    () => readConfig({ ...path('KAHA_TERMINAL_URL', '/x'), ...path('KAHA_QR_URL', '/x/') }),
    /KAHA_QR_URL is at the address of KAHA_TERMINAL_URL/,
  )
  // One that is where the other is by default is the one to change.
  for (const [set, other] of [
    ['QR', 'TERMINAL'],
    ['TERMINAL', 'QR'],
  ] as const) {
    assert.throws(
      () => readConfig({ KAHA_BASE_URL: host, ...path(`KAHA_${set}_URL`, `/${other.toLowerCase()}`) }),
      new RegExp(`KAHA_${set}_URL is at the address of KAHA_${other}_URL`),
    )
  }
  // Both of one service, and whatever has a path or another port.
  assert.ok(readConfig({ KAHA_TERMINAL_URL: host, ...sockets }))
  assert.ok(readConfig({ KAHA_BASE_URL: host, KAHA_QR_URL: `${host}/qr`, KAHA_CHECKOUT_URL: `${host}:8443` }))
})

const liveWrong: readonly (readonly [name: string, value: string])[] = [
  ['KAHA_MASTER_KEY', ''],
  ['KAHA_BASE_URL', ''],
  ['KAHA_BASE_URL', 'http://api.example.com'],
  ['KAHA_CHECKOUT_URL', 'http://pay.example.com'],
  ['KAHA_TERMINAL_WS_URL', 'ws://terminals.example.com'],
  ['KAHA_WEBHOOK_TARGETS', 'any'],
]
for (const [name, value] of liveWrong) {
  test(`live mode refuses ${name}=${value || 'nothing'}`, () => {
    assert.throws(
      () => readConfig({ ...live, [name]: value }),
      (error) => error instanceof StartFault && error.message.startsWith(`${name} `),
    )
  })
}

test('a fault never repeats a master key or a password', () => {
  const secret = randomBytes(33).toString('base64')
  assert.throws(
    () => readConfig({ KAHA_MASTER_KEY: secret }),
    (error) => !String(error).includes(secret),
  )
  assert.throws(
    () => readConfig({ KAHA_DATABASE_URL: 'mysql://u:hunter2@db/x' }),
    (error) => !String(error).includes('hunter2'),
  )
})

test('a name that looks like a setting and is none is told; those of tests and of others are not', () => {
  assert.deepEqual(unknownSettings({ KAHA_PROT: '1', KAHA_PORT: '1', KAHA_TEST_CLUSTER: '{}', PATH: '/bin' }), [
    'KAHA_PROT',
  ])
})

test('every setting that is described is read, and every one that is read is described', () => {
  const asked = new Set<string>()
  readConfig(new Proxy<Record<string, string>>({}, { get: (_all, name) => void asked.add(String(name)) }))
  assert.deepEqual([...asked].toSorted(), settings.map(({ name }) => name).toSorted())
})

test('every setting is described, once', () => {
  const names = settings.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const { name, default: otherwise, says } of settings)
    assert.ok(/^KAHA_[A-Z0-9_]+$/.test(name) && otherwise !== '' && says !== '')
})

test('an address that is not set names localhost where that is reached, else the host itself', () => {
  const baseOf = (host: string) => addressesOf(readConfig({ KAHA_HOST: host })).base
  for (const host of ['localhost', '127.0.0.1', '0.0.0.0', '::'])
    assert.equal(baseOf(host), 'http://localhost:8080', host)
  assert.equal(baseOf('127.0.0.2'), 'http://127.0.0.2:8080')
  assert.equal(baseOf('::1'), 'http://[::1]:8080')
  assert.equal(baseOf('::ffff:127.0.0.1'), 'http://[::ffff:127.0.0.1]:8080')
})
