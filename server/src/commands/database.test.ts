import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { createServer, type AddressInfo, type ListenOptions, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TLSSocket } from 'node:tls'
import { createAuthority, noCertificates } from '../../test/certificates.ts'
import { readConfig } from '../config.ts'
import { joinDatabase, migrateOrExplain, openDatabase } from './database.ts'
import { StartFault } from '../kernel/fault.ts'
import { DirectoryHeld, lockDirectory } from '../kernel/postgres/lock.ts'
import { pidFilePath } from '../kernel/postgres/pid-file.ts'
import { folder } from '../kernel/postgres/test-setup.ts'

/** An ErrorResponse of PostgreSQL's protocol. */
function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

/** A PostgreSQL that refuses every session so, until the test is over. */
async function refusing(t: TestContext, at: ListenOptions, code: string, message: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(fatal(code, message)))
  })
  server.listen(at)
  await once(server, 'listening')
  t.after(() => server.close())
  return server
}
const socketIn = (path: string): ListenOptions => ({ path: join(path, '.s.PGSQL.5432') })

test('a command whose database is stopped under it says so in a line', async (t) => {
  const socketDir = folder(t)
  await refusing(t, socketIn(socketDir), '57P03', 'the database system is shutting down')
  await assert.rejects(
    migrateOrExplain({ socketDir, user: 'kaha', database: 'postgres' }),
    (error) =>
      error instanceof StartFault &&
      /^the database is lost \(.*shutting down\): .*try again when it has$/.test(error.message),
  )
})

test('a command beside a Kaha whose disk is full says that at once, and not that Kaha is to be stopped', async (t) => {
  const dataDir = folder(t)
  await refusing(t, socketIn(dataDir), '53100', 'could not write init file: No space left on device')
  await mkdir(join(dataDir, 'postgres'))
  await writeFile(pidFilePath(join(dataDir, 'postgres')), ['', '', '', '', dataDir, ''].join('\n'))
  const lock = lockDirectory(dataDir)
  t.after(() => lock[Symbol.dispose]())
  await assert.rejects(
    joinDatabase(readConfig({ KAHA_DATA_DIR: dataDir })),
    new StartFault(`the disk of ${dataDir} is full: free some space, and start again`),
  )
})

test('who has the data directory is told of first, also where nothing can be written there', async (t) => {
  const dataDir = folder(t)
  const lock = lockDirectory(dataDir)
  t.after(() => lock[Symbol.dispose]())
  const { mock } = t.mock.method(fs, 'mkdtempSync', () => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  })
  syncBuiltinESMExports()
  t.after(() => {
    mock.restore()
    syncBuiltinESMExports()
  })
  const opening = openDatabase(readConfig({ KAHA_DATA_DIR: dataDir }), { log: () => {}, forCommand: true })
  await assert.rejects(opening, DirectoryHeld)
})

test('a database of before PostgreSQL 14, which does not know what sessions ask for, is told by the version that it takes', async (t) => {
  const unknown = 'unrecognized configuration parameter "idle_session_timeout"'
  const ancient = await refusing(t, { host: '127.0.0.1', port: 0 }, '42704', unknown)
  const { port } = ancient.address() as AddressInfo
  await assert.rejects(
    migrateOrExplain({ url: `postgres://kaha@127.0.0.1:${port}/shop` }),
    new StartFault(
      'the database is PostgreSQL 13 or older; Kaha needs 15 or newer: upgrade it, or unset KAHA_DATABASE_URL',
    ),
  )
})

test('an address whose password has a bare / or ? is refused before anything of it is shown', async () => {
  for (const password of [
    '/hunter2',
    '12/hunter2',
    '12?hunter2',
    '12#hunter2',
    'p@ss/hunter2',
    '12?y=hunter2',
    'p@12?y=hunter2',
    '12/?user=a&hunter2',
  ]) {
    const config = readConfig({ KAHA_DATABASE_URL: `postgres://kaha:${password}@127.0.0.1:5432/shop` })
    await assert.rejects(
      async () => openDatabase(config, { log: () => {} }),
      (error) =>
        error instanceof StartFault &&
        /^KAHA_DATABASE_URL is no address; .* written as %40, %3A, %2F and %3F$/.test(error.message) &&
        !error.message.includes('hunter2'),
      password,
    )
  }
})

test('signs that are written as they must be are taken, and an @ in what an address sets by name', async () => {
  for (const url of [
    'postgres://kaha:%2Fp%40ss%3A%3F@127.0.0.1:5432/shop',
    'postgres://127.0.0.1/shop?sslrootcert=/etc/kaha%40live/ca.pem',
    'postgres://kaha@127.0.0.1/shop?sslmode=verify-full&sslrootcert=/etc/kaha@live/ca.pem',
    'postgres://127.0.0.1/shop?user=kaha@srv1&password=p@ss?word',
    'postgres://kaha@127.0.0.1/shop?application_name=kaha@eu',
  ]) {
    await using opened = await openDatabase(readConfig({ KAHA_DATABASE_URL: url }), { log: () => {} })
    assert.deepEqual(opened.target, { url })
  }
})

const opening = (query: string) => {
  const config = readConfig({ KAHA_DATABASE_URL: `postgres://kaha@127.0.0.1/shop?${query}` })
  return openDatabase(config, { log: () => {} })
}

const assertRefused = (query: string, line: string) =>
  assert.rejects(
    opening(query),
    (error) => error instanceof StartFault && new RegExp(`^KAHA_DATABASE_URL has ${line}$`).test(error.message),
    query,
  )

test('a parameter of the address that nobody knows is refused in one line, and the one that is meant is named', async () => {
  for (const [query, line] of [
    ['SSLMODE=verify-full', 'SSLMODE, which nobody knows: sslmode is meant'],
    ['sslmode=verify-full&SslRootCert=/etc/ca.pem', 'SslRootCert, which nobody knows: sslrootcert is meant'],
    ['%53SLMODE=require', 'SSLMODE, which nobody knows: sslmode is meant'],
    ['LOCK_TIMEOUT=1', 'LOCK_TIMEOUT, which nobody knows: lock_timeout is meant'],
    ['ssl_mode=require', 'ssl_mode that neither PostgreSQL nor its driver knows: correct it, or leave it out; .*'],
    ['application_name=a%20b&sslmod=require', 'sslmod that neither PostgreSQL nor its driver knows: .*'],
  ])
    await assertRefused(query ?? '', `a parameter ${line}`)
})

test('a mode of TLS that is none, or that is told twice, is refused: the connection might be without TLS', async () => {
  for (const [query, line] of [
    ['sslmode=', 'an sslmode that is none: write disable, allow, .* or no-verify'],
    ['sslmode', 'an sslmode that is none: .*'],
    ['sslmode=Require', 'an sslmode that is none: .*'],
    ['sslmode=verify-full&sslmode=disable', 'sslmode more than once: leave one'],
    ['sslmode=verify-full&sslrootcert=/a&%73slmode=', 'sslmode more than once: leave one'],
  ] as const)
    await assertRefused(query, line)
  for (const mode of ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']) {
    await using opened = await opening(`sslmode=${mode}`)
    assert.match(JSON.stringify(opened.target), new RegExp(`sslmode=${mode}"`))
  }
})

test('a parameter that may be a part of a password is refused, and not shown', async () => {
  const held = ['password', '%70assword', 'sslpassword', 'scram_client_key', 'oauth_client_secret']
  for (const query of [...held.map((name) => `user=a&${name}=b&hunter2`), 'password=b&hunter2=c', 'hunter2=1&user=x@h'])
    await assert.rejects(
      opening(query),
      (error) =>
        error instanceof StartFault &&
        /^KAHA_DATABASE_URL has a parameter that neither .* written as %26$/.test(error.message) &&
        !error.message.includes('hunter2'),
      query,
    )
})

test('what the driver reads of an address is known, and what libpq reads', async () => {
  const read = new Set(['ssl', 'sslcert', 'sslkey', 'sslmode', 'sslrootcert', 'uselibpqcompat'])
  const Parameters = createRequire(import.meta.url)('pg/lib/connection-parameters') as new (config: object) => object
  assert.ok(new Parameters(new Proxy({}, { get: (_all, name) => void read.add(String(name)) })))
  assert.ok(read.has('query_timeout') && read.has('sslnegotiation'))
  // The address itself.
  read.delete('connectionString')
  for (const name of [...read, 'channel_binding', 'connect_timeout', 'sslcrl', 'target_session_attrs']) {
    await using opened = await opening(`${name}=${name === 'sslmode' ? 'disable' : '1'}`)
    assert.ok(opened.target)
  }
})

test('a database with which TLS does not come about is told by the reason, not as one that is to be started', async (t) => {
  if (noCertificates !== undefined) return t.skip(noCertificates)
  await using authority = await createAuthority()
  const { cert, key } = authority.sign('localhost')
  const identity = { cert: await readFile(cert), key: await readFile(key) }
  const withTls = (socket: Socket) => new TLSSocket(socket, { isServer: true, ...identity }).on('error', () => {})
  let answer: (socket: Socket) => unknown = withTls
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('S')
      answer(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const refused = (host: string, query: string, line: RegExp) =>
    assert.rejects(migrateOrExplain({ url: `postgres://kaha@${host}:${port}/shop?${query}` }), (error) => {
      assert.ok(error instanceof StartFault)
      assert.match(error.message, line)
      return true
    })
  const mend = `\\): mend that, or correct KAHA_DATABASE_URL$`
  const trusted = `sslmode=verify-full&sslrootcert=${authority.ca}`
  await refused('127.0.0.1', trusted, new RegExp(`cannot be used \\(Hostname/IP does not match .*${mend}`))
  await refused(
    'localhost',
    'sslmode=verify-full',
    new RegExp(`cannot be used \\(.*verify the first certificate.*${mend}`),
  )
  answer = (socket) => socket.once('data', () => socket.write('no TLS at all'))
  await refused('localhost', trusted, new RegExp(`cannot be used \\(.*wrong version number[^)]*${mend}`))
})
