import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { StartFault } from '../fault.ts'
import { eventually, processState, sendSignal } from './processes.ts'
import {
  finish,
  folder,
  give,
  isRoot,
  launchChild,
  madeDataDir,
  ordinaryUser,
  query,
  queryWhenBack,
  removeFolder,
  serversIn,
  start,
  startChild,
  waitMsMax,
  watchdogsIn,
} from './test-setup.ts'

const shared = mkdtempSync(join(tmpdir(), 'kaha-test-'))
let dataDir = ''

before(async () => {
  dataDir = await madeDataDir(shared)
})
after(() => removeFolder(shared))

test('a stop is clean: the next start finds every row and repairs nothing', async (t) => {
  const first = await start(t, { dataDir })
  await query(first.postgres, 'insert into kept values (1)')
  await first.postgres.stop()
  assert.equal(existsSync(first.postgres.socketDir), false)
  assert.deepEqual([...serversIn(dataDir), ...watchdogsIn(dataDir)], [])

  const second = await start(t, { dataDir })
  assert.deepEqual(await query(second.postgres, 'select id from kept where id = 1'), [{ id: 1 }])
  assert.doesNotMatch(serverLog(), /not properly shut down/)
})

test('the server listens on no network address, and keeps what is acknowledged unless a test says otherwise', async (t) => {
  const { postgres } = await start(t, { dataDir, fsync: true })
  const settings = [
    'listen_addresses',
    'fsync',
    'synchronous_commit',
    'full_page_writes',
    'data_checksums',
    'server_encoding',
  ]
  const rows = await query(
    postgres,
    `select ${settings.map((name) => `current_setting('${name}') ${name}`).join(', ')}`,
  )
  assert.deepEqual(rows, [
    {
      listen_addresses: '',
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      data_checksums: 'on',
      server_encoding: 'UTF8',
    },
  ])
})

test('the log of the server repeats neither a statement nor the values of a row', async (t) => {
  const { postgres } = await start(t, { dataDir })
  await query(postgres, 'insert into kept values (424242)')
  await assert.rejects(query(postgres, 'insert into kept values (424242)'), /duplicate key/)
  assert.match(serverLog(), /duplicate key/)
  assert.doesNotMatch(serverLog(), /424242/)
})

test('a second Kaha on the same directory is refused in one line that names the first', async (t) => {
  const { postgres } = await start(t, { dataDir })
  const refusal = new RegExp(
    `^the data directory ${dataDir} is in use by another Kaha \\(process ${process.pid}\\): .+$`,
  )
  await assert.rejects(start(t, { dataDir }), (error) => error instanceof StartFault && refusal.test(error.message))

  const { child, running, errors } = await startChild(t, [dataDir])
  assert.equal(running, undefined)
  assert.equal(child.exitCode, 1)
  assert.equal(errors().trim().split('\n').length, 1)
  assert.match(errors(), new RegExp(`another Kaha \\(process ${process.pid}\\)`))
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }])
})

test('a Kaha on the directory of a command is told that it passes', async (t) => {
  await start(t, { dataDir, forCommand: true })
  await assert.rejects(start(t, { dataDir }), /by another command of Kaha \(process \d+\), which ends by itself/)
})

test('of two Kahas that race for a fresh directory one gets it and the other is refused', async (t) => {
  const fresh = join(folder(t), 'data')
  const both = await Promise.all([startChild(t, [fresh]), startChild(t, [fresh])])
  const winners = both.filter(({ running }) => running !== undefined)
  assert.equal(winners.length, 1)
  const loser = both.find(({ running }) => running === undefined)
  assert.match(loser?.errors() ?? '', /in use by another Kaha/)
  const [winner] = winners
  assert.ok(winner?.running)
  assert.deepEqual(await query(winner.running, 'select 1 as one'), [{ one: 1 }])
  await finish(winner.child)
})

test('kill -9 of Kaha leaves no server, no watchdog and no socket behind', async (t) => {
  const { child, running } = await startChild(t, [dataDir])
  assert.ok(running)
  child.kill('SIGKILL')
  assert.ok(await eventually(() => serversIn(dataDir).length + watchdogsIn(dataDir).length === 0, waitMsMax))
  assert.equal(existsSync(running.socketDir), false)
  assert.match(serverLog(), /database system is shut down/)
})

test('a watchdog that is killed is replaced, and the new one does its work', async (t) => {
  const { child } = await startChild(t, [dataDir])
  const [first] = watchdogsIn(dataDir)
  assert.ok(first)
  sendSignal(first, 'SIGKILL')
  assert.ok(await eventually(() => watchdogsIn(dataDir).some((pid) => pid !== first), waitMsMax))
  child.kill('SIGKILL')
  assert.ok(await eventually(() => serversIn(dataDir).length === 0, waitMsMax))
})

test('Ctrl-C reaches Kaha alone: server and watchdog are in sessions of their own', async (t) => {
  const { postgres } = await start(t, { dataDir })
  const sessions = [postgres.pid, ...watchdogsIn(dataDir)].map((pid) => [pid, sessionOf(pid)])
  assert.equal(sessions.length, 2)
  for (const [pid, session] of sessions) assert.equal(session, pid)
})

test('a server that outlived Kaha and its watchdog is stopped by the next start, which has every row', async (t) => {
  const { child, running } = await startChild(t, [dataDir])
  assert.ok(running)
  await query(running, 'insert into kept values (2)')
  // Stopped, Kaha cannot replace its watchdog.
  child.kill('SIGSTOP')
  for (const pid of watchdogsIn(dataDir)) sendSignal(pid, 'SIGKILL')
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(processState(running.pid), 'running')

  const { postgres, lines } = await start(t, { dataDir })
  assert.notEqual(postgres.pid, running.pid)
  assert.notEqual(processState(running.pid), 'running')
  assert.equal(existsSync(running.socketDir), false)
  assert.ok(lines.some((line) => line.includes(`(process ${running.pid}) was left running`)))
  assert.deepEqual(await query(postgres, 'select id from kept where id = 2'), [{ id: 2 }])
})

test('backends that outlived their server and Kaha do not hinder the next start', async (t) => {
  const { child, running } = await startChild(t, [dataDir])
  assert.ok(running)
  // A backend that computes does not notice that its postmaster is gone.
  const busy = query(running, 'do $$ begin loop end loop; end $$').catch(() => 'ended')
  assert.ok(await eventually(() => serversIn(dataDir).some((pid) => /\bDO\b/.test(titleOf(pid))), waitMsMax))
  child.kill('SIGKILL')
  sendSignal(running.pid, 'SIGKILL')
  await once(child, 'exit')
  assert.ok(await eventually(() => processState(running.pid) !== 'running', waitMsMax))

  const { postgres } = await start(t, { dataDir })
  assert.equal(await busy, 'ended')
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }])
})

test('a process id in an old lock file that now belongs to another program is no obstacle', async (t) => {
  writeFileSync(
    join(dataDir, 'postgres', 'postmaster.pid'),
    `${process.pid}\n/elsewhere\n0\n5432\n/elsewhere\n\n0 0\nready\n`,
  )
  const { postgres } = await start(t, { dataDir })
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }])
})

test('a server that is killed comes back on the same socket with every acknowledged row', async (t) => {
  const { postgres, lines } = await start(t, { dataDir })
  for (const id of [11, 12, 13]) {
    const { pid } = postgres
    await query(postgres, `insert into kept values (${id})`)
    sendSignal(pid, 'SIGKILL')
    const rows = await queryWhenBack(postgres, 'select id from kept where id > 10 and id < 20 order by id')
    assert.deepEqual(
      rows,
      [11, 12, 13].slice(0, id - 10).map((kept) => ({ id: kept })),
    )
    assert.notEqual(postgres.pid, pid)
  }
  assert.ok(lines.some((line) => line.includes('ended with SIGKILL; starting it again')))
  // The control of the clean stop above: a server that was killed says so at its next start.
  assert.match(serverLog(), /not properly shut down/)
})

test('a backend that is killed is the own business of the server, which goes on', async (t) => {
  const { postgres } = await start(t, { dataDir })
  const { pid } = postgres
  await query(postgres, 'insert into kept values (3)')
  const victim = query(postgres, 'select pg_backend_pid() as pid, pg_sleep(60)').catch(() => 'ended')
  const sleeper = await backendOf(postgres, 'pg_sleep(60)')
  sendSignal(sleeper, 'SIGKILL')
  assert.equal(await victim, 'ended')
  assert.deepEqual(await queryWhenBack(postgres, 'select id from kept where id = 3'), [{ id: 3 }])
  assert.equal(postgres.pid, pid)
})

test('a server that cannot come back is given up with the reason that it wrote to its log', async (t) => {
  let report: (reason: Error) => void
  const fatal = new Promise<Error>((resolve) => (report = resolve))
  const { postgres } = await start(t, { dataDir, onFatal: (reason) => report(reason) })
  takeAway(t, 'global/pg_control')
  sendSignal(postgres.pid, 'SIGKILL')
  const reason = await fatal
  assert.ok(reason instanceof StartFault)
  assert.match(
    reason.message,
    /^PostgreSQL could not be kept running.*pg_control.*postgres\.log\): mend that .*, then start again$/,
  )
  await postgres.stop()
  assert.deepEqual([...serversIn(dataDir), ...watchdogsIn(dataDir)], [])
})

test('a stop in the middle of a restart ends it, and leaves nothing running', async (t) => {
  const { postgres, lines } = await start(t, { dataDir })
  sendSignal(postgres.pid, 'SIGKILL')
  assert.ok(await eventually(() => lines.some((line) => line.includes('starting it again')), waitMsMax))
  await postgres.stop()
  assert.deepEqual([...serversIn(dataDir), ...watchdogsIn(dataDir)], [])
})

test('a first start that was killed half-way is repaired by the next one', async (t) => {
  const fresh = join(folder(t), 'data')
  const child = launchChild(t, [fresh])
  const unfinished = () => (existsSync(fresh) ? readdirSync(fresh) : []).filter((name) => name.includes('.new-'))
  assert.ok(await eventually(() => unfinished().some((name) => readdirSync(join(fresh, name)).length > 5), waitMsMax))
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(existsSync(join(fresh, 'postgres')), false)

  const { postgres } = await start(t, { dataDir: fresh })
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }])
  assert.deepEqual(unfinished(), [])
})

test('a start that is cancelled leaves nothing running and nothing half made', async (t) => {
  const fresh = join(folder(t), 'data')
  const cancel = new AbortController()
  const starting = start(t, { dataDir: fresh, signal: cancel.signal })
  const unfinished = () => (existsSync(fresh) ? readdirSync(fresh) : []).filter((name) => name.includes('.new-'))
  assert.ok(await eventually(() => unfinished().length > 0, waitMsMax))
  cancel.abort(new Error('cancelled'))
  await assert.rejects(starting, /cancelled/)
  assert.deepEqual(readdirSync(fresh), ['lock'])
})

test('a database of another major version is refused with the way out, and is left as it was', async (t) => {
  takeAway(t, 'PG_VERSION')
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '9\n')
  await assert.rejects(start(t, { dataDir }), (error) => {
    assert.ok(error instanceof StartFault)
    assert.match(
      error.message,
      /was made by PostgreSQL 9, and here is PostgreSQL [\d.]+.*install PostgreSQL 9, or move/,
    )
    return true
  })
  assert.equal(readFileSync(join(dataDir, 'postgres', 'PG_VERSION'), 'utf8'), '9\n')
})

test('a folder with other files in the place of the database is refused and left alone', async (t) => {
  const foreign = folder(t)
  mkdirSync(join(foreign, 'postgres'))
  writeFileSync(join(foreign, 'postgres', 'letter.txt'), 'dear')
  await assert.rejects(start(t, { dataDir: foreign }), /holds files but no PostgreSQL database/)
  assert.deepEqual(readdirSync(join(foreign, 'postgres')), ['letter.txt'])
})

test('a server that does not start is quoted in one line', async (t) => {
  takeAway(t, 'global/pg_control')
  await assert.rejects(start(t, { dataDir }), (error) => {
    assert.ok(error instanceof StartFault)
    assert.match(
      error.message,
      /^PostgreSQL did not start: .*pg_control.* \(log: .*postgres\.log\): mend that or restore a backup, then start again$/,
    )
    return true
  })
})

test('a data directory may lie deep below a closed home folder, with a path longer than any socket allows', async (t) => {
  const home = folder(t) // mkdtemp makes it 0700
  const deep = join(home, 'd'.repeat(100), 'données', 'kaha')
  const { postgres } = await start(t, { dataDir: deep })
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }])
  await postgres.stop()
  assert.ok(existsSync(join(deep, 'postgres', 'PG_VERSION')))
})

test('root who may not become another user runs the server in a user namespace', async (t) => {
  const prefix = ['unshare', '--map-root-user', '--']
  if (!isRoot) return t.skip('needs root')
  if (spawnSync('unshare', ['--map-root-user', '--', 'true']).status !== 0)
    return t.skip('this system has no user namespaces')
  const { child, running, errors } = await startChild(t, [join(folder(t), 'data')], { prefix })
  assert.ok(running, errors())
  assert.deepEqual(await query(running, 'select 1 as one'), [{ one: 1 }])
  await finish(child)
  assert.notEqual(processState(running.pid), 'running')
})

test('root and the ordinary user who owns the data directory may take turns', async (t) => {
  const user = await ordinaryUser()
  if (typeof user === 'string') return t.skip(user)
  const owned = folder(t)
  give(owned, user)
  const first = await startChild(t, [owned], user)
  assert.ok(first.running, first.errors())
  await query(first.running, 'create table mine ()')
  await finish(first.child)

  const { postgres } = await start(t, { dataDir: owned })
  assert.deepEqual(await query(postgres, 'select * from mine'), [])
  await postgres.stop()

  const second = await startChild(t, [owned], user)
  assert.ok(second.running, second.errors())
  assert.deepEqual(await query(second.running, 'select * from mine'), [])
  await finish(second.child)
})

test('an ordinary user is told in one line that a data directory is not theirs', async (t) => {
  const user = await ordinaryUser()
  if (typeof user === 'string') return t.skip(user)
  const { running, errors } = await startChild(t, [dataDir], user)
  assert.equal(running, undefined)
  assert.match(errors(), /^kaha: the data directory .+ cannot be used \(.+\): set KAHA_DATA_DIR to a folder .+\n$/)
})

/** Moves a file of the cluster out of the way, and back after the test. */
function takeAway(t: TestContext, path: string): void {
  const file = join(dataDir, 'postgres', path)
  renameSync(file, `${file}.away`)
  t.after(() => renameSync(`${file}.away`, file))
}

function serverLog(): string {
  return readFileSync(join(dataDir, 'postgres.log'), 'utf8')
}

/** The sixth field of stat; see proc_pid_stat(5). */
function sessionOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3])
}

function titleOf(pid: number): string {
  return existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, 'latin1') : ''
}

async function backendOf(server: Parameters<typeof query>[0], part: string): Promise<number> {
  for (;;) {
    const sql = `select pid from pg_stat_activity where query like '%${part}%' and pid <> pg_backend_pid() and state = 'active'`
    const [row] = await query(server, sql)
    if (row) return Number(row['pid'])
  }
}
