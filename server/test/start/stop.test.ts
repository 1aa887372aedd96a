import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually } from '../../src/kernel/postgres/processes.ts'
import { folder, launch, sandboxIn, serversIn, start, stop } from './program.ts'

const dataDir = join(folder({ after }), 'data')

/** What a clean stop leaves. */
function assertClean(): void {
  assert.deepEqual(serversIn(dataDir), [], 'no database runs any more')
  assert.equal(existsSync(join(dataDir, 'sandbox.json')), false)
}

for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} stops a sandbox: exit code 0, nothing left running, sandbox.json gone`, async (t) => {
    const program = await start(t, dataDir, { args: ['--empty'] })
    assert.equal(await stop(program, signal), 0)
    assert.equal(program.stdout().includes('Error'), false)
    assertClean()
  })
}

test('a Ctrl-C that arrives twice, as npm passes it on, is one', async (t) => {
  const program = await start(t, dataDir, { args: ['--empty'] })
  program.child.kill('SIGINT')
  assert.equal(await stop(program, 'SIGINT'), 0)
  assertClean()
})

test('a start that is interrupted half-way ends, and leaves nothing running', async (t) => {
  const program = launch(t, { args: ['start', '--empty'], settings: { KAHA_DATA_DIR: dataDir } })
  assert.ok(await eventually(() => serversIn(dataDir).length > 0, 30_000), 'its database has been started')
  assert.equal(await stop(program), 0)
  assert.doesNotMatch(program.stderr(), /^ +at /m)
  assertClean()
})

test('a start that is interrupted in the middle of its story does not tell it to its end', async (t) => {
  const own = join(folder(t), 'data')
  // With so few requests a second the story takes a while.
  const settings = { KAHA_DATA_DIR: own, KAHA_RATE_LIMIT: '1' }
  const program = launch(t, { args: ['start'], settings })
  assert.ok(await eventually(() => program.stderr().includes('"status":429'), 30_000), 'the story has to wait')
  assert.equal(await stop(program), 0)
  assert.doesNotMatch(program.stdout(), /Kaha is running/)
  assert.doesNotMatch(program.stderr(), /left out|^ +at /m)
  assert.deepEqual(serversIn(own), [])
  assert.equal(existsSync(join(own, 'sandbox.json')), false)
})

test('Ctrl-C in the terminal of `npm start` reaches every process of it, and leaves none', async (t) => {
  const settings = { KAHA_DATA_DIR: dataDir }
  const npm = launch(t, { command: ['npm', 'start', '--'], args: ['--empty'], settings })
  await npm.says(/Ctrl-C stops/)
  const { pid, base_url } = sandboxIn(dataDir)
  assert.equal((await fetch(`${base_url}/healthz`)).status, 200)
  assert.notEqual(pid, npm.pid)
  // The terminal signals the whole group in the foreground.
  process.kill(-npm.pid, 'SIGINT')
  // npm itself may end by the signal; it comes back to the prompt when all is over, and not before.
  assert.ok([0, 'SIGINT'].includes(await npm.ended))
  assertClean()
  assert.equal(isRunning(-npm.pid), false, 'no process of the group is left')
})

test('a SIGTERM to `npm start` alone, as supervisors and scripts send it, stops all of it', async (t) => {
  const npm = launch(t, { command: ['npm', 'start', '--'], args: ['--empty'], settings: { KAHA_DATA_DIR: dataDir } })
  await npm.says(/Ctrl-C stops/)
  npm.child.kill('SIGTERM')
  await npm.ended
  assert.ok(await eventually(() => !isRunning(-npm.pid), 10_000), 'no process of the group is left')
  assertClean()
})

test('clients that are in the middle of something do not keep a sandbox from stopping', async (t) => {
  const program = await start(t, dataDir, { args: ['--empty'] })
  const { port } = new URL(program.sandbox.base_url)
  const sockets = [
    '',
    'POST /ecom/v1/payment-links HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{',
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ].map((begun) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(begun)
    t.after(() => socket.destroy())
    return socket
  })
  // The last one was answered, so the others have arrived too.
  await new Promise((resolve) => sockets.at(-1)?.once('data', resolve))
  assert.equal(await stop(program), 0)
  assertClean()
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test(
  'a log that cannot be written, as on a full disk, neither ends a sandbox nor keeps it from stopping',
  { skip: existsSync('/dev/full') ? false : '/dev/full: it is not there' },
  async (t) => {
    const main = join(import.meta.dirname, '../../src/main.ts')
    const unlogged = ['/bin/sh', '-c', 'exec "$0" "$@" 2>/dev/full', process.execPath, main]
    const program = await start(t, dataDir, { command: unlogged })
    const answer = await fetch(`${program.sandbox.base_url}/docs`)
    assert.equal(answer.status, 200)
    assert.equal(await stop(program), 0)
    assertClean()
  },
)

test('a log that nobody reads, as of a collector that hangs, neither ends a sandbox nor keeps it from stopping', async (t) => {
  const pipe = join(folder(t), 'pipe')
  const main = join(import.meta.dirname, '../../src/main.ts')
  // Both ends are the program's own, and no byte more goes in.
  const unread = 'mkfifo "$PIPE"; exec 8<>"$PIPE"; head -c 65536 /dev/zero >&8; exec "$0" "$@" 2>"$PIPE"'
  const program = await start(t, dataDir, {
    command: ['/bin/sh', '-c', unread, process.execPath, main],
    settings: { PIPE: pipe },
  })
  for (let asked = 0; asked < 50; asked += 1)
    assert.equal((await fetch(`${program.sandbox.base_url}/docs`)).status, 200)
  assert.equal(await stop(program, 'SIGTERM'), 0)
  assertClean()
})
