import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { scopes } from '@kaha/contract'
import { createKaha, KahaError } from '@kaha/sdk'
import { commandsUnder, folder, serversIn, start, stop, type SandboxFile } from './program.ts'

const dataDir = join(folder({ after }), 'data')
const attemptsMax = 200

const { kaha, refused } = commandsUnder({ after }, { KAHA_DATA_DIR: dataDir })

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
    ['delete', 'DELETED', 'UNAUTHORIZED'],
  ] as const) {
    assert.equal(await kaha('keys', command, issued.id), `${issued.id} is ${state}.\n`)
    await eventually(async () => (await answerTo(sandbox, issued.secret_key)) === answer)
    if (state !== 'REVOKED') continue
    for (const back of ['suspend', 'resume'])
      await refused(new RegExp(`no key ${issued.id} is (?:ACTIVE|SUSPENDED): `), 'keys', back, issued.id)
  }
  await refused(
    /no key .* is ACTIVE or SUSPENDED or EXPIRED: `kaha keys list` and `kaha terminals list` show how it stands/,
    'keys',
    'revoke',
    issued.id,
  )
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  const brief = JSON.parse(
    await kaha('keys', 'issue', '--entity', branch.id, '--expires', inAnHour, '--json'),
  ) as typeof issued
  const all = JSON.parse(await kaha('keys', 'list', '--json')) as { id: string; scopes: string[] }[]
  const scopesOf = (id: string) => all.find((one) => one.id === id)?.scopes
  assert.deepEqual(scopesOf(issued.id), ['payment_links.read'])
  assert.deepEqual(scopesOf(brief.id)?.toSorted(), [...scopes].toSorted())
  const standing = async () => (await kaha('keys', 'list')).split('\n').find((line) => line.startsWith(brief.id)) ?? ''
  assert.match(await standing(), new RegExp(`  ACTIVE  .* \\(until ${inAnHour}\\)$`))
  assert.equal(await answerTo(sandbox, brief.secret_key), 'OK')
  await createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.partner.secret_key }).sandbox.advanceClock({
    seconds: 3_600,
  })
  assert.equal(await answerTo(sandbox, brief.secret_key), 'UNAUTHORIZED')
  assert.match(await standing(), /  EXPIRED  /)
  await kaha('keys', 'suspend', brief.id)
  assert.equal(await kaha('keys', 'resume', brief.id), `${brief.id} is EXPIRED.\n`)
  await refused(
    /is over: --expires names a time to come/,
    'keys',
    'issue',
    '--entity',
    branch.id,
    '--expires',
    inAnHour,
  )
  await refused(/there is no entity .*; `kaha entities list` shows them/, 'keys', 'issue', '--entity', issued.id)
  assert.equal(await kaha('migrate'), 'The schema is up to date.\n')
  assert.equal(await stop(server), 0)
})

test('a list of keys is of one entity where that is named', async () => {
  const all = JSON.parse(await kaha('keys', 'list', '--json')) as { entity_id: string }[]
  const [first] = all
  const own = JSON.parse(await kaha('keys', 'list', '--entity', first?.entity_id ?? '', '--json')) as typeof all
  assert.ok(own.length > 0 && own.length < all.length)
  assert.deepEqual(
    own,
    all.filter(({ entity_id: id }) => id === first?.entity_id),
  )
  const nobody = '0199a000-0000-7000-8000-000000000000'
  await refused(/there is no entity 0199a000-0000-7000-8000-000000000000; /, 'keys', 'list', '--entity', nobody)
  const { id } = JSON.parse(
    await kaha('entities', 'create', '--level', 'partner', '--name', 'Without keys', '--json'),
  ) as { id: string }
  assert.equal(await kaha('keys', 'list', '--entity', id), `${id} has no keys.\n`)
})

test('without a server keys work too, and what was issued then opens the next server', async (t) => {
  const before = JSON.parse(await kaha('keys', 'list', '--json')) as {
    entity_id: string
    level: string
    state: string
  }[]
  const partner = before.find(({ level }) => level === 'partner')
  assert.equal(before.filter(({ state }) => state === 'DELETED').length, 1)
  const said = await kaha('keys', 'issue', '--entity', partner?.entity_id ?? '')
  const [secretKey = ''] = said.split('\n')
  assert.match(said, /Keep it now: it is not shown again\. Its id is [0-9a-f-]{36}\.\n$/)
  assert.deepEqual(serversIn(dataDir), [])

  const server = await start(t, dataDir, { args: ['--empty'] })
  const clock = await createKaha({ baseUrl: server.sandbox.base_url, apiKey: secretKey }).sandbox.readClock()
  assert.equal(clock.offset_seconds, 3_600)
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
