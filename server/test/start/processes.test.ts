import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../until.ts'
import { commandsUnder, folder, start, stop } from './program.ts'

const dataDir = join(folder({ after }), 'data')
const { kaha, refused } = commandsUnder({ after }, { KAHA_DATA_DIR: dataDir })

test('a process is listed under the name that its log has, with its roles, while it runs', async (t) => {
  const program = await start(t, dataDir, { args: ['--empty'], settings: { KAHA_LOG_LEVEL: 'info' } })
  // A line of the log waits a moment for others.
  await until('its log says so', () => program.stderr().includes('Kaha is running'))
  const begun = program
    .stderr()
    .split('\n')
    .map((line) => (line === '' ? undefined : (JSON.parse(line) as { msg: string; process: string })))
    .find((line) => line?.msg === 'Kaha is running')
  const name = begun?.process ?? ''
  assert.match(name, new RegExp(`^${program.pid}\\.`))
  const asJson = await kaha('processes', 'list', '--json')
  assert.deepEqual(JSON.parse(asJson), [{ name, roles: ['api', 'gateway', 'worker'], address: null }])
  const asWords = await kaha('processes')
  assert.match(asWords, /^PROCESS +ROLES +FROM\n/)
  assert.match(asWords, new RegExp(`\n${name}  api,gateway,worker  the machine of the database\n$`))
  assert.equal(await stop(program), 0)
  assert.equal(await kaha('processes', 'list'), 'There is none: `kaha start` begins one.\n')
  assert.deepEqual(JSON.parse(await kaha('processes', '--json')), [])
})

test('what `kaha processes` does not know is told in one line', async () => {
  await refused(/there is no `kaha processes stop`/, 'processes', 'stop')
  await refused(/there is no `kaha processes list all`/, 'processes', 'list', 'all')
  await refused(/Unknown option '--all'; `kaha processes --help` tells/, 'processes', '--all')
})
