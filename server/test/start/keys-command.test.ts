import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createKaha, KahaError } from '@kaha/sdk'
import { finish, folder, serversIn, start, stop, type SandboxFile } from './program.ts'

const dataDir = join(folder({ after }), 'data')
const attemptsMax = 200

/** Runs a command on the data directory; resolves to what it printed, and fails where it failed. */
async function kaha(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await finish({ after }, { args, settings: { KAHA_DATA_DIR: dataDir } })
  assert.equal(code, 0, stderr)
  return stdout
}

async function refused(line: RegExp, ...args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await finish({ after }, { args, settings: { KAHA_DATA_DIR: dataDir } })
  assert.deepEqual([code, stdout], [1, ''], stderr)
  assert.match(stderr, /^kaha: [^\n]+\n$/)
  assert.match(stderr, line)
}

test('[I1.key.issued-by-operator, I1.key.shown-once] beside a running server keys are listed, issued, suspended, resumed and revoked, and the server heeds it within a second', async (t) => {
  const server = await start(t, dataDir, { args: ['--empty'] })
  const { sandbox } = server
  const listed = JSON.parse(await kaha('keys', 'list', '--json')) as Record<string, unknown>[]
  assert.equal(listed.length, 7)
  const [branch] = sandbox.merchants[0]?.branches ?? []
  assert.ok(branch)

  const issued = JSON.parse(
    await kaha('keys', 'issue', '--entity', branch.id, '--scopes', 'payment_links.read', '--json'),
  ) as {
    id: string
    secret_key: string
  }
  assert.match(issued.secret_key, /^sk_test_[0-9A-Za-z]{24}$/)
  assert.equal(await answerTo(sandbox, issued.secret_key), 'OK')
  await assert.rejects(
    createKaha({ baseUrl: sandbox.base_url, apiKey: issued.secret_key }).webhooks.listEndpoints(),
    (error) => error instanceof KahaError && error.code === 'FORBIDDEN',
  )
  const lines = (await kaha('keys', 'list')).split('\n')
  const own = lines.find((line) => line.startsWith(issued.id)) ?? ''
  assert.match(own, new RegExp(`…${issued.secret_key.slice(-4)}  ACTIVE     branch    ${branch.id}  ${branch.name}`))
  assert.ok(!lines.join('\n').includes(issued.secret_key), 'a key is shown once')

  for (const [command, state, answer] of [
    ['suspend', 'SUSPENDED', 'UNAUTHORIZED'],
    ['resume', 'ACTIVE', 'OK'],
    ['revoke', 'REVOKED', 'UNAUTHORIZED'],
  ] as const) {
    assert.equal(await kaha('keys', command, issued.id), `${issued.id} is ${state}.\n`)
    await eventually(async () => (await answerTo(sandbox, issued.secret_key)) === answer)
  }
  await refused(
    /no key .* is ACTIVE or SUSPENDED or EXPIRED: `kaha keys list` and `kaha terminals list` show how it stands/,
    'keys',
    'revoke',
    issued.id,
  )
  await refused(/there is no entity .*; `kaha entities list` shows them/, 'keys', 'issue', '--entity', issued.id)
  assert.equal(await kaha('migrate'), 'The schema is up to date.\n')
  assert.equal(await stop(server), 0)
})

test('without a server keys work too, and what was issued then opens the next server', async (t) => {
  const before = JSON.parse(await kaha('keys', 'list', '--json')) as {
    entity_id: string
    level: string
    state: string
  }[]
  const partner = before.find(({ level }) => level === 'partner')
  assert.equal(before.filter(({ state }) => state === 'REVOKED').length, 1)
  const said = await kaha('keys', 'issue', '--entity', partner?.entity_id ?? '')
  const [secretKey = ''] = said.split('\n')
  assert.match(said, /Keep it now: it is not shown again\. Its id is [0-9a-f-]{36}\.\n$/)
  assert.deepEqual(serversIn(dataDir), [])

  const server = await start(t, dataDir, { args: ['--empty'] })
  const clock = await createKaha({ baseUrl: server.sandbox.base_url, apiKey: secretKey }).sandbox.readClock()
  assert.equal(clock.offset_seconds, 0)
  assert.equal(await stop(server), 0)
})

async function answerTo({ base_url }: SandboxFile, apiKey: string): Promise<string> {
  try {
    await createKaha({ baseUrl: base_url, apiKey }).paymentLinks.list()
    return 'OK'
  } catch (error) {
    if (error instanceof KahaError) return error.code
    throw error
  }
}

/** Asks again until it holds; the server is told by a hint, and looks by itself within a second. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let attempts = 0; attempts < attemptsMax; attempts += 1) if (await holds()) return
  assert.fail(`it does not hold after ${attemptsMax} requests`)
}
