import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { terminalsCommand, terminalsHelp } from '../../src/commands/terminals.ts'
import { readConfig } from '../../src/config.ts'
import { issueTerminalKey } from '../../src/identity/issue.ts'
import { StartFault } from '../../src/kernel/fault.ts'
import { urlOf } from '../faults/database-of.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { result, sale, signedCall, wire, type Keys, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { commandsUnder, folder } from './program.ts'

// What an operator does for tills and terminals, on the command line, beside a running server.

const p = await platform({ after })
const settings = {
  KAHA_DATABASE_URL: urlOf(p.target),
  KAHA_DATA_DIR: folder({ after }),
  KAHA_MASTER_KEY: p.masterKey.toString('base64'),
}

const { kaha } = commandsUnder({ after }, settings)
const refused = (line: RegExp, args: readonly string[], config: Record<string, string> = settings) =>
  assert.rejects(
    terminalsCommand(readConfig(config), args),
    (error) => error instanceof StartFault && line.test(error.message) && !error.message.includes('\n'),
  )

interface Issued extends Keys {
  readonly id: string
}
const group = JSON.parse(await kaha('terminals', 'group', '--merchant', p.merchant.id, '--json')) as { id: string }
const listedEmpty = JSON.parse(await kaha('terminals', 'list', '--group', group.id, '--json')) as {
  created_at: string
}[]
const shownEmpty = await kaha('terminals', 'list')
const issue = async (...args: readonly string[]) =>
  JSON.parse(await kaha('terminals', 'issue', '--group', group.id, '--json', ...args)) as Issued
const [till, keys] = await Promise.all([
  issue('--role', 'desktop'),
  issue('--role', 'terminal', '--branch', p.branch.id),
])
const issuing = { keyring: p.kaha.keyring, keyPrefix: 'sk_test_' } as const
const ofSpare = { role: 'terminal', groupId: group.id, branchId: p.branch.id } as const
const made = await issueTerminalKey(p.kaha.db, issuing, ofSpare, p.kaha.clock.now())
const spare: Issued = { id: made.id, api_key: made.apiKey, api_secret: made.apiSecret }

const open: Wire[] = []
after(() => open.forEach((one) => one.drop()))
const connect = async (with_: Keys, deviceId: string) => {
  const one = await wire(p.url, with_, { deviceId })
  open.push(one)
  return one
}
const pay = (transactionId: string) =>
  signedCall(p.url, till, {
    method: 'POST',
    path: '/v1/terminals/counter/payments',
    body: { ...sale, transactionId },
  })
const isDismissed = async (one: Wire) => {
  assert.equal((await one.next('forceDisconnect')).reason, 'admin_action')
  await until('the close', () => one.closed === 4003)
}

test('[D5.keys.pair, D5.keys.role, D5.keys.binding] an operator makes a group and issues pairs of key and secret, for a till of the group and for a terminal of a branch, and a sale goes through with them', async () => {
  for (const one of [till, keys]) {
    assert.match(one.api_key, /^tk_[0-9A-Za-z]{32}$/)
    assert.match(one.api_secret, /^[0-9A-Za-z]{32}$/)
  }
  const terminal = await connect(keys, 'counter')
  const transactionId = randomUUID()
  const paying = pay(transactionId)
  terminal.send(result((await terminal.next('payment')).transactionId))
  assert.deepEqual([(await paying).status, (await paying).json.status], [200, 'SUCCESS'])
  // Of the branch that its terminal stands in.
  const { data } = await p.as(p.branch.secret_key).reports.listTransactions()
  assert.deepEqual(
    data.map(({ merchant_details: { branch_id }, terminal_details }) => [branch_id, terminal_details?.terminal_name]),
    [[p.branch.id, 'counter']],
  )
  const refusedFor = async (other: Keys) => {
    const { status, json } = await signedCall(p.url, other, { path: '/v1/terminals' })
    return [status, json.error.code]
  }
  assert.deepEqual(await refusedFor(keys), [403, 'GROUP_MISMATCH'])
  assert.deepEqual(await refusedFor({ ...till, api_secret: keys.api_secret }), [401, 'INVALID_SIGNATURE'])
  await terminal.close()

  const shown = await kaha('terminals', 'list')
  assert.match(
    shown,
    new RegExp(`${keys.id}  terminal  ACTIVE     ${group.id}  ${p.branch.name}\n    counter  offline`),
  )
  for (const { api_key: key, api_secret: secret } of [till, keys])
    assert.ok(!shown.includes(key) && !shown.includes(secret), 'a pair is shown once')
})

test('a group that has no key yet is listed, so that its id is found again', () => {
  const { id: merchantId, name: merchant } = p.merchant
  const whose = { group_id: group.id, merchant_id: merchantId, merchant }
  const nothing = { id: null, role: null, state: null, branch_id: null, branch: null, connected_at: null, devices: [] }
  assert.deepEqual(listedEmpty, [{ ...nothing, ...whose, created_at: listedEmpty[0]?.created_at }])
  assert.match(shownEmpty, new RegExp(`\\n\\(no key yet\\) +${group.id}  ${merchant}\\n`))
})

test('a till that has a socket is listed with it', async () => {
  const line = `${till.id}  desktop   ACTIVE     ${group.id}  ${p.merchant.name}`
  assert.ok((await kaha('terminals', 'list')).includes(`${line}\n    no socket\n`))
  const before = p.kaha.clock.now()
  const one = await wire(p.url, till)
  await one.settled()
  const listed = JSON.parse(await kaha('terminals', 'list', '--group', group.id, '--json')) as {
    readonly id: string
    readonly connected_at: string | null
  }[]
  const connectedAt = new Map(listed.map(({ id, connected_at }) => [id, connected_at]))
  assert.ok(new Date(connectedAt.get(till.id) ?? 0) >= before)
  assert.equal(connectedAt.get(spare.id), null)
  const shown = await kaha('terminals', 'list')
  assert.ok(shown.includes(`${line}\n    connected since ${connectedAt.get(till.id)}\n`), shown)
  await one.close()
})

test('[D5.disconnect.admin-action] an operator closes a socket, and the sockets of a key that he suspends', async () => {
  const terminal = await connect(keys, 'counter')
  await terminal.settled()
  assert.equal(await kaha('terminals', 'disconnect', keys.id), `The socket of ${keys.id} is closed within a second.\n`)
  await isDismissed(terminal)
  const again = await connect(keys, 'counter')
  await again.settled()
  assert.equal(await kaha('keys', 'suspend', keys.id), `${keys.id} is SUSPENDED.\n`)
  await isDismissed(again)
  await assert.rejects(wire(p.url, keys), { status: 401 })
  await refused(/has no socket just now: there is nothing to close/, ['disconnect', keys.id])
  await refused(new RegExp(`there is no group ${keys.id}; `), ['list', '--group', keys.id])
  await refused(/is SUSPENDED: take one that is ACTIVE/, ['move', 'x', '--group', group.id, '--to', keys.id])
  await sql(p.kaha.db, `update identity.terminal_keys set state = 'ACTIVE' where id = $1`, [keys.id])
  await until('that the key counts again', () =>
    connect(keys, 'counter').then(
      async (one) => {
        await one.close()
        return true
      },
      () => false,
    ),
  )
})

test('[D5.socket.device-moved, D5.terminal.metadata] an operator moves a device to another key, as when a key is replaced, and describes it for the list of terminals', async () => {
  await assert.rejects(wire(p.url, spare, { deviceId: 'counter' }), { status: 403 })
  const terminal = await connect(keys, 'counter')
  await terminal.settled()
  const to = ['--group', group.id, '--to', spare.id]
  assert.equal(await kaha('terminals', 'move', 'counter', ...to), `counter goes on with ${spare.id}.\n`)
  await isDismissed(terminal)
  await assert.rejects(wire(p.url, keys, { deviceId: 'counter' }), { status: 403 })
  const moved = await connect(spare, 'counter')
  const metadata = { counter: 2, where: { floor: 'ground' } }
  const of = ['--group', group.id, '--metadata', JSON.stringify(metadata)]
  assert.equal(await kaha('terminals', 'describe', 'counter', ...of), 'counter is described.\n')
  const { json } = await signedCall(p.url, till, { path: '/v1/terminals' })
  assert.deepEqual(
    json.terminals.map((one: { terminalId: string; metadata: unknown }) => [one.terminalId, one.metadata]),
    [['counter', metadata]],
  )
  await refused(/the group has no device nowhere/, ['describe', 'nowhere', ...of])
  await refused(/the group has no device \[removed\];/, ['describe', 'x'.repeat(32), ...of])
  await moved.close()
  await refused(/the group has no device nowhere/, ['move', 'nowhere', ...to])
  await refused(/is no key of a terminal of this group/, ['move', 'counter', ...to.with(3, till.id)])

  const [, other] = p.seed.merchants
  assert.ok(other?.branches[0] !== undefined)
  const foreign = await issueTerminalKey(
    p.kaha.db,
    { keyring: p.kaha.keyring, keyPrefix: 'sk_test_' },
    { role: 'terminal', groupId: other.terminal_group.id, branchId: other.branches[0].id },
    p.kaha.clock.now(),
  )
  await refused(/is no key of a terminal of this group/, ['move', 'counter', ...to.with(3, foreign.id)])
})

test('what `kaha terminals` does not know is told in one line, before a database is touched', async () => {
  const id = '01a1fcef-9ed7-78da-86e8-e01924f01831'
  const wrong: [RegExp, ...string[]][] = [
    [/there is no `kaha terminals close`; `kaha terminals --help` lists what there is/, 'close'],
    [/`kaha terminals disconnect` takes no --group/, 'disconnect', id, '--group', id],
    [/there is no `kaha terminals toString`/, 'toString'],
    [/there is no `kaha terminals list all`/, 'list', 'all'],
    [/there is no `kaha terminals disconnect/, 'disconnect', id, 'more'],
    [/Unknown option '--all'; `kaha terminals --help` tells what there is/, 'list', '--all'],
    [/say which group/, 'list', '--group', ''],
    [/^mine is no id; `kaha terminals list` shows them$/, 'list', '--group', 'mine'],
    [/^CEBU is no id; `kaha entities list` shows them$/, 'group', '--merchant', 'CEBU'],
    [/say whose group it is: --merchant/, 'group'],
    [/say in which group: --group/, 'issue', '--role', 'desktop'],
    [/say what it is for: --role desktop or terminal/, 'issue', '--group', id, '--role', 'till'],
    [/say where the terminal stands: --branch/, 'issue', '--group', id, '--role', 'terminal'],
    [/leave --branch out/, 'issue', '--group', id, '--role', 'desktop', '--branch', id],
    [/say whose socket: `kaha terminals disconnect KEY`/, 'disconnect'],
    [/^\[removed\] is no id; `kaha terminals list` shows them$/, 'disconnect', 'tk_mine'],
    [/say which device: `kaha terminals move DEVICE`/, 'move', '--group', id, '--to', id],
    [/comes last, after ` -- `; `kaha terminals --help` tells/, 'move', '-x', '--group', id, '--to', id],
    [/say in which group it is: --group/, 'move', '--to', id, '--', '-x'],
    [/say in which group it is: --group/, 'move', 'x', '--to', id],
    [/say which key it goes on with: --to/, 'move', 'x', '--group', id],
    [/say which device: `kaha terminals describe DEVICE`/, 'describe', '--group', id, '--metadata', '{}'],
    [/say what of it: --metadata and a JSON object/, 'describe', 'x', '--group', id],
    [/say what of it/, 'describe', 'x', '--group', id, '--metadata', '[1]'],
    [/say what of it/, 'describe', 'x', '--group', id, '--metadata', `{"a":"${'x'.repeat(4_096)}"}`],
    [
      /has a number with more digits than are kept/,
      'describe',
      'x',
      '--group',
      id,
      '--metadata',
      `{"a":${'7'.repeat(20)}}`,
    ],
    [/has a number with more digits than are kept/, 'describe', 'x', '--group', id, '--metadata', '{"a":[1e400]}'],
    [/has a key twice/, 'describe', 'x', '--group', id, '--metadata', '{"a":1,"a":2}'],
  ]
  const nowhere = { KAHA_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/nowhere' }
  for (const [line, ...args] of wrong) await refused(line, args, nowhere)
  for (const word of ['list', 'group', 'issue', 'disconnect', 'move', 'describe'])
    assert.match(terminalsHelp, new RegExp(`kaha terminals ${word}`))
  await refused(/is no merchant; `kaha entities list` shows them/, ['group', '--merchant', p.branch.id])
  await refused(/there is no key .* of a till or a terminal; `kaha terminals list` shows them/, ['disconnect', id])
  const nobodys = ['issue', '--group', p.merchant.id, '--role', 'desktop']
  await refused(/there is no group .*; `kaha terminals list` shows them/, nobodys)
  const elsewhere = p.seed.merchants[1]?.branches[0]?.id ?? ''
  const wanted = ['--group', group.id, '--role', 'terminal', '--branch', elsewhere]
  await refused(/is no branch of the merchant of this group/, ['issue', ...wanted])
})
