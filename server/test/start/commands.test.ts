import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { scopes } from '@kaha/contract'
import { joinDatabase, openDatabase } from '../../src/commands/database.ts'
import { keysCommand } from '../../src/commands/keys.ts'
import { readConfig, settings } from '../../src/config.ts'
import { StartFault } from '../../src/kernel/fault.ts'
import { lockDirectory } from '../../src/kernel/postgres/lock.ts'
import { commandsUnder, finish, folder, serversIn, start, stop } from './program.ts'

const dataDir = join(folder({ after }), 'data')

const { kaha, refused } = commandsUnder({ after }, { KAHA_DATA_DIR: dataDir })

test('every command tells what it takes, and start lists every setting with its default', async () => {
  const [all, ofStart, ofMigrate, ofEntities, ofKeys, ofProcesses, ofAttention] = await Promise.all([
    kaha('--help'),
    kaha('start', '--help'),
    kaha('migrate', '--help'),
    kaha('entities', '--help'),
    kaha('keys', '--help'),
    kaha('processes', '--help'),
    kaha('attention', '--help'),
  ])
  for (const command of ['start', 'migrate', 'entities', 'keys', 'terminals', 'processes', 'attention'])
    assert.match(all, new RegExp(`kaha ${command}  `))
  assert.equal(await kaha(), all)
  assert.match(ofStart, /--empty/)
  for (const { name, default: otherwise } of settings) {
    const line = ofStart.split('\n').find((one) => one.trim().startsWith(`${name} `))
    assert.ok(line?.includes(otherwise), name)
  }
  assert.match(ofMigrate, /kaha migrate \[--json\]/)
  assert.match(ofMigrate, /Stop all servers of an older version before/)
  for (const word of ['list', 'create', '--level', '--name', '--parent', '--reference', '--json'])
    assert.ok(ofEntities.includes(word), word)
  for (const word of ['list', 'issue', 'encryption', 'master', 'suspend', 'resume', 'revoke', '--json', ...scopes])
    assert.ok(ofKeys.includes(word), word)
  for (const word of ['list', '--json']) assert.ok(ofProcesses.includes(word), word)
  for (const word of ['list', 'settle', '--note', '--json']) assert.ok(ofAttention.includes(word), word)
  assert.deepEqual(serversIn(dataDir), [])
})

test('the version is that of the package, and nothing else is printed', async () => {
  const ofPackage = readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')
  const { version } = JSON.parse(ofPackage) as { version: string }
  for (const flag of ['--version', '-v']) assert.equal(await kaha(flag), `${version}\n`)
  assert.match(await kaha('--help'), /`kaha --version`/)
})

test('migrate names what it applied to a new database, and nothing the second time, as words and as JSON', async () => {
  const files = readdirSync(join(import.meta.dirname, '../../migrations')).filter((name) => name.endsWith('.sql'))
  assert.equal(
    await kaha('migrate'),
    files
      .toSorted()
      .map((name) => `applied ${name}\n`)
      .join(''),
  )
  assert.equal(await kaha('migrate'), 'The schema is up to date.\n')
  assert.deepEqual(JSON.parse(await kaha('migrate', '--json')), { applied: [] })
  await refused(/kaha migrate takes no --down; `kaha migrate --help`/, 'migrate', '--down')
  assert.deepEqual(serversIn(dataDir), [], 'its database is stopped again')
})

test('before the first start there are no keys, and that is said', async () => {
  assert.match(
    await kaha('keys', 'list'),
    /^There are no keys yet: the first `kaha start` of a sandbox makes some, and `kaha keys issue`\.\n$/,
  )
  assert.deepEqual(JSON.parse(await kaha('keys', 'list', '--json')), [])
})

test('a reader that has had enough of a list is no failure, and a disk that is full is one', async () => {
  const program = `"${process.execPath}" server/src/main.ts`
  const into = (reader: string) =>
    finish({ after }, { command: ['/bin/sh', '-c', `{ ${program} start --help; echo "code $?" >&2; } ${reader}`] })
  assert.equal((await into('| true')).stderr, 'code 0\n')
  assert.match((await into('> /dev/full')).stderr, /ENOSPC[^]*code 1\n$/)
})

test('what `kaha keys` does not know is told in one line, before a database is touched', async () => {
  const id = '01a1fd0e-4d84-700f-8b34-6b8129a934ec'
  const cases: readonly (readonly [line: RegExp, ...args: string[]])[] = [
    [/there is no `kaha keys rotate`; `kaha keys --help` lists what there is/, 'rotate'],
    [/there is no `kaha keys list all`/, 'list', 'all'],
    [/Unknown option '--all'; `kaha keys --help` tells what there is/, 'list', '--all'],
    [/`kaha keys list` takes no --scopes; `kaha keys --help` tells what there is/, 'list', '--scopes', 'qr.create'],
    [/^me is no id; `kaha entities list` shows them$/, 'list', '--entity', 'me'],
    [/^--entity is given twice; once is enough$/, 'issue', '--entity', id, '--entity', id],
    [/^there is no scope \[removed\];/, 'issue', '--entity', id, '--scopes', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'],
    [/`kaha keys revoke` takes no --scopes/, 'revoke', id, '--scopes', 'qr.create'],
    [/say whose key it is: --entity and the id of a partner, merchant or branch/, 'issue'],
    [/say whose key it is/, 'issue', '--entity', ''],
    [/^me is no id; `kaha entities list` shows them$/, 'issue', '--entity', 'me'],
    [
      /there is no scope payments\.all; `kaha keys --help` lists them/,
      'issue',
      '--entity',
      id,
      '--scopes',
      'payments.all',
    ],
    [/say when it expires: --expires and a time with its zone/, 'issue', '--entity', id, '--expires', '2027-01-31'],
    [/say when it expires/, 'issue', '--entity', id, '--expires', '2027-02-30T00:00:00Z'],
    [/^\[removed\] is no id; /, 'revoke', 'Q3mX9vB2nL7kT4cR8wZ1yH6jP5sD0aFg'],
    [/there is no `kaha keys revoke \[removed\] please`/, 'revoke', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'please'],
    [/`kaha keys encryption` takes no --expires/, 'encryption', '--entity', id, '--expires', '2027-01-31T00:00:00Z'],
    [/say whose key it is: --entity and the id of a merchant/, 'encryption'],
    [/a key for Tokens has no scopes: leave --scopes out/, 'encryption', '--entity', id, '--scopes', 'qr.create'],
    [/say which key: `kaha keys revoke ID`/, 'revoke'],
    [/^me is no id; `kaha entities list` shows them$/, 'encryption', '--entity', 'me'],
    [/^mine is no id; `kaha keys list` and `kaha terminals list` show them$/, 'suspend', 'mine'],
    [/^\[removed\] is no id; /, 'revoke', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'],
    [/^Unknown option '--\[removed\]'/, 'list', '--sk_live_4eC39HqLyjWDarjtT1zdp7dc'],
  ]
  const config = readConfig({ KAHA_DATA_DIR: join(dataDir, 'never-made') })
  for (const [line, ...args] of cases) {
    await assert.rejects(keysCommand(config, args), (fault) => {
      assert.ok(fault instanceof StartFault)
      assert.match(fault.message, line)
      return !fault.message.includes('\n')
    })
  }
  await refused(/say which key: `kaha keys revoke ID`, with an id of `kaha keys list`/, 'keys', 'revoke')
  await refused(/there is no command pay-all; `kaha --help` lists them/, 'pay-all')
  const key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
  for (const command of [[key], ['start', key], ['migrate', key]])
    await refused(/(?:there is no command|takes no) \[removed\];/, ...command)
  await refused(/there is no command pay all \[31m; `kaha --help` lists them/, 'pay\nall\u001b[31m')
})

test('a setting that is none is told of by every command, for another database may be meant', async () => {
  const misspelt = { KAHA_DATA_DIR: dataDir, KAHA_DATABASE_URI: 'postgres://elsewhere' }
  const { stderr } = await finish({ after }, { args: ['keys', 'list'], settings: misspelt })
  assert.match(stderr, /^kaha: there is no setting KAHA_DATABASE_URI; kaha start --help lists what there is\n/)
})

const full = '/dev/full'

test(
  'a command that cannot write what it says, as to a full disk, tells so in one line',
  { skip: existsSync(full) ? false : `${full}: it is not there` },
  async () => {
    const cli = join(import.meta.dirname, '../../../cli/src/main.ts')
    const here = { KAHA_DATA_DIR: dataDir }
    for (const args of [['help'], ['keys', 'list'], ['pay', '--help']]) {
      const command = ['/bin/sh', '-c', `exec "$0" "$@" >${full}`, process.execPath, cli]
      const { code, stderr } = await finish({ after }, { command, args, settings: here })
      assert.equal(code, 1)
      assert.match(stderr, /^kaha: [^\n]* could not be written \(ENOSPC\)[^\n]*\n$/)
    }
  },
)

test('commands that are given at once, where no server runs, wait for one another', async () => {
  const lists = await Promise.all(Array.from({ length: 4 }, () => kaha('keys', 'list', '--json')))
  assert.equal(new Set(lists).size, 1)
  assert.deepEqual(serversIn(dataDir), [])
})

test('a command waits for a Kaha that has the data directory and cannot be reached yet, and a Kaha that starts for a command', async () => {
  const config = readConfig({ KAHA_DATA_DIR: dataDir })
  for (const forCommand of [false, true]) {
    const lock = lockDirectory(dataDir, { forCommand })
    const opening = forCommand ? openDatabase(config, { log: () => {} }) : joinDatabase(config)
    await sleep(300)
    lock[Symbol.dispose]()
    await using database = await opening
    assert.ok('socketDir' in database.target)
  }
  assert.deepEqual(serversIn(dataDir), [])
})

test('a command on a copy works on the copy, though that names the server of the original', async (t) => {
  const copy = join(folder(t), 'copy')
  const onCopy = commandsUnder(t, { KAHA_DATA_DIR: copy })
  await onCopy.kaha('migrate')
  const original = await start(t, dataDir)
  copyFileSync(join(dataDir, 'postgres/postmaster.pid'), join(copy, 'postgres/postmaster.pid'))
  assert.deepEqual(JSON.parse(await onCopy.kaha('keys', 'list', '--json')), [])
  assert.notDeepEqual(JSON.parse(await kaha('keys', 'list', '--json')), [])
  assert.equal(await stop(original), 0)
})
