import type { Config } from '../config.ts'
import { createGroup, issueTerminalKey } from '../identity/issue.ts'
import { identityStore } from '../identity/store.ts'
import { terminalKeyStore } from '../identity/store-terminal-keys.ts'
import { devicesPerKeyMax } from '../identity/terminal-keys.ts'
import { hintOnce } from '../kernel/bus-postgres.ts'
import type { Db } from '../kernel/db.ts'
import { StartFault } from '../kernel/fault.ts'
import { holdsAll, parseAsWritten } from '../kernel/json-digits.ts'
import { repeatsKey } from '../kernel/json-keys.ts'
import { argumentsOf, idOf, takesOnly, told, unknownAction } from './arguments.ts'
import { timeIn, withDatabase } from './database.ts'
import { issuingOf } from './issuing.ts'
import { operatorStore } from './store-terminals.ts'
import { listedMax, say, tellEnd } from './words.ts'

export const terminalsHelp = [
  'kaha terminals list [--group ID] [--json]                                keys with their sockets and devices, and groups without keys',
  'kaha terminals group --merchant ID [--json]                              makes a group of tills and terminals',
  'kaha terminals issue --group ID --role desktop [--json]                  a key for a till; its secret is shown this once',
  'kaha terminals issue --group ID --role terminal --branch ID [--json]     a key for a terminal of a branch',
  'kaha terminals disconnect KEY [--json]                                   closes the socket of a key',
  'kaha terminals move DEVICE --group ID --to KEY [--json]                  a device goes on with another key',
  'kaha terminals describe DEVICE --group ID --metadata JSON [--json]       what lists of terminals show of a device',
  '',
  'A device id belongs to the key that used it first. `kaha keys suspend`, `resume`, `revoke` and `delete` take the ids of these keys too, and close',
  'their sockets.',
  '',
].join('\n')

// What lists such ids.
const [ofTerminals, ofEntities] = ['kaha terminals list', 'kaha entities list']
const metadataBytesMax = 4_096

type Values = Partial<Record<'group' | 'merchant' | 'role' | 'branch' | 'to' | 'metadata', string>> & {
  readonly json?: boolean
}
type Action = (db: Db, config: Config, json: boolean) => Promise<void>

/** Keys of tills and terminals, and what hangs on them, beside a running server or without one. */
export async function terminalsCommand(config: Config, args: readonly string[]): Promise<void> {
  const { values, positionals } = argumentsOf('terminals', args, {
    group: { type: 'string' },
    merchant: { type: 'string' },
    role: { type: 'string' },
    branch: { type: 'string' },
    to: { type: 'string' },
    metadata: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [name = 'list', subject, ...more] = positionals
  const plan = Object.hasOwn(actions, name) ? actions[name] : undefined
  const takesSubject = ['disconnect', 'move', 'describe'].includes(name)
  if (plan === undefined || more.length > 0 || (subject !== undefined && !takesSubject))
    throw unknownAction('terminals', positionals)
  takesOnly('terminals', name, values, takenBy[name])
  const act = plan(values, subject)
  await withDatabase(config, { begins: false }, (db) => act(db, config, values.json === true))
}

const takenBy: Readonly<Record<string, readonly string[]>> = {
  list: ['group'],
  group: ['merchant'],
  issue: ['group', 'role', 'branch'],
  move: ['group', 'to'],
  describe: ['group', 'metadata'],
}

/** What is wanted, read before a database is touched. */
const actions: Readonly<Record<string, (values: Values, subject: string | undefined) => Action>> = {
  list({ group }) {
    if (group !== undefined) idOf(group, 'say which group: --group and its id', ofTerminals)
    return (db, _config, json) => list(db, group ?? null, json)
  },
  group({ merchant }) {
    const merchantId = idOf(
      merchant,
      'say whose group it is: --merchant and its id, of `kaha entities list`',
      ofEntities,
    )
    return (db, _config, json) => makeGroup(db, merchantId, json)
  },
  issue({ group, role, branch }) {
    const groupId = idOf(
      group,
      'say in which group: --group and an id of `kaha terminals list` or `kaha terminals group`',
      ofTerminals,
    )
    if (role !== 'desktop' && role !== 'terminal')
      throw new StartFault('say what it is for: --role desktop or terminal')
    if (role === 'desktop' && branch !== undefined)
      throw new StartFault('the key of a till belongs to its group alone: leave --branch out')
    const branchId =
      role === 'desktop' ? null : idOf(branch, 'say where the terminal stands: --branch and its id', ofEntities)
    return (db, config, json) => issue(db, config, { groupId, role, branchId }, json)
  },
  disconnect(_values, subject) {
    const keyId = idOf(
      subject,
      'say whose socket: `kaha terminals disconnect KEY`, with an id of `kaha terminals list`',
      ofTerminals,
    )
    return (db, _config, json) => disconnect(db, keyId, json)
  },
  move({ group, to }, subject) {
    if (subject === undefined)
      throw new StartFault('say which device: `kaha terminals move DEVICE`, with one of `kaha terminals list`')
    const groupId = idOf(group, 'say in which group it is: --group and its id', ofTerminals)
    const keyId = idOf(to, 'say which key it goes on with: --to and an id of `kaha terminals list`', ofTerminals)
    return (db, _config, json) => move(db, { groupId, device: subject, keyId }, json)
  },
  describe({ group, metadata }, subject) {
    if (subject === undefined)
      throw new StartFault('say which device: `kaha terminals describe DEVICE`, with one of `kaha terminals list`')
    const groupId = idOf(group, 'say in which group it is: --group and its id', ofTerminals)
    const said = objectOf(metadata)
    return (db, _config, json) => describe(db, { groupId, device: subject, metadata: said }, json)
  },
}

/** The text of a JSON object, without the spaces between its parts. What would be another one when it is shown is refused. */
function objectOf(given = ''): string {
  const otherwise = `say what of it: --metadata and a JSON object of ${metadataBytesMax} bytes at most, as '{"counter":2}'`
  let value: unknown
  try {
    value = JSON.parse(given)
  } catch (cause) {
    throw new StartFault(otherwise, { cause })
  }
  const text = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.byteLength(text) > metadataBytesMax)
    throw new StartFault(otherwise)
  if (repeatsKey(given, value)) throw new StartFault('--metadata has a key twice; say it once')
  if (!holdsAll(parseAsWritten(given)))
    throw new StartFault('--metadata has a number with more digits than are kept; make it a text, in quotation marks')
  return text
}

async function list(db: Db, groupId: string | null, json: boolean): Promise<void> {
  const keys = await terminalKeyStore.list(db, groupId, listedMax)
  // One that has no key yet is listed all the same.
  if (keys.length === 0 && groupId !== null)
    throw new StartFault(`there is no group ${groupId}; \`kaha terminals list\` shows them`)
  tellEnd(keys, listedMax, '--group shows those of one group')
  const ids = keys.flatMap(({ id }) => id ?? [])
  const devices = Map.groupBy(await operatorStore.listDevices(db, ids), (device) => device.key_id)
  const sockets = await operatorStore.listSockets(db, ids)
  const since = new Map(sockets.map(({ key_id, connected_at }) => [key_id, connected_at]))
  const of = (id: string | null) =>
    (devices.get(id ?? '') ?? []).map(({ device_id, status, last_activity_at }) => ({
      device_id,
      status,
      last_activity_at,
    }))
  if (json)
    return say(
      JSON.stringify(
        keys.map((key) => ({ ...key, connected_at: since.get(key.id ?? '') ?? null, devices: of(key.id) })),
      ),
    )
  if (keys.length === 0)
    return say(
      'There are none: `kaha terminals group` and `kaha terminals issue` make some, and the first start of a sandbox.',
    )
  say(`${'KEY'.padEnd(36)}  ROLE      STATE      ${'GROUP'.padEnd(36)}  WHOSE`)
  for (const { id, role, state, group_id, merchant, branch } of keys) {
    const key = `${(id ?? '(no key yet)').padEnd(36)}  ${(role ?? '').padEnd(8)}  ${(state ?? '').padEnd(9)}`
    say(`${key}  ${group_id}  ${branch ?? merchant}`)
    const connectedAt = since.get(id ?? '')
    if (role === 'desktop')
      say(connectedAt === undefined ? '    no socket' : `    connected since ${connectedAt.toISOString()}`)
    for (const { device_id, status, last_activity_at } of of(id))
      say(`    ${device_id ?? '(no device id)'}  ${status}, last heard of at ${last_activity_at.toISOString()}`)
  }
}

async function makeGroup(db: Db, merchantId: string, json: boolean): Promise<void> {
  if ((await identityStore.findEntity(db, merchantId))?.level !== 'merchant')
    throw new StartFault(`${merchantId} is no merchant; \`kaha entities list\` shows them`)
  const id = await createGroup(db, merchantId, await timeIn(db))
  say(json ? JSON.stringify({ id, merchant_id: merchantId }) : `${id} is a group of ${merchantId}.`)
}

async function issue(
  db: Db,
  config: Config,
  wanted: { groupId: string; role: 'desktop' | 'terminal'; branchId: string | null },
  json: boolean,
): Promise<void> {
  const merchantId = await terminalKeyStore.merchantOf(db, wanted.groupId)
  if (merchantId === undefined)
    throw new StartFault(`there is no group ${wanted.groupId}; \`kaha terminals list\` shows them`)
  const branch = wanted.branchId === null ? undefined : await identityStore.findEntity(db, wanted.branchId)
  if (wanted.branchId !== null && (branch?.level !== 'branch' || branch.merchant_id !== merchantId))
    throw new StartFault(
      `${wanted.branchId} is no branch of the merchant of this group; \`kaha entities list\` shows them`,
    )
  const made = await issueTerminalKey(db, await issuingOf(db, config), wanted, await timeIn(db))
  say(
    json
      ? JSON.stringify({ id: made.id, api_key: made.apiKey, api_secret: made.apiSecret })
      : `API key     ${made.apiKey}\nAPI secret  ${made.apiSecret}\n\nKeep the secret now: it is not shown again. Its id is ${made.id}.`,
  )
}

async function disconnect(db: Db, keyId: string, json: boolean): Promise<void> {
  if ((await terminalKeyStore.findById(db, keyId)) === undefined)
    throw new StartFault(`there is no key ${keyId} of a till or a terminal; \`kaha terminals list\` shows them`)
  if (!(await operatorStore.disconnect(db, keyId)))
    throw new StartFault(`the key ${keyId} has no socket just now: there is nothing to close`)
  await hintOnce(db, 'keys')
  say(json ? JSON.stringify({ id: keyId }) : `The socket of ${keyId} is closed within a second.`)
}

async function move(
  db: Db,
  { groupId, device, keyId }: { groupId: string; device: string; keyId: string },
  json: boolean,
): Promise<void> {
  const key = await terminalKeyStore.findById(db, keyId)
  if (key?.group_id !== groupId || key.role !== 'terminal')
    throw new StartFault(`${keyId} is no key of a terminal of this group; \`kaha terminals list\` shows them`)
  if (key.state !== 'ACTIVE') throw new StartFault(`the key ${keyId} is ${key.state}: take one that is ACTIVE`)
  const outcome = await operatorStore.moveDevice(db, groupId, device, keyId, devicesPerKeyMax)
  if (outcome === 'full')
    throw new StartFault(`the key ${keyId} has ${devicesPerKeyMax} devices already: take another, or issue one`)
  if (outcome !== 'moved')
    throw new StartFault(`the group has no device ${told(device)}; \`kaha terminals list\` shows them`)
  await hintOnce(db, 'keys')
  say(json ? JSON.stringify({ device_id: device, key_id: keyId }) : `${device} goes on with ${keyId}.`)
}

async function describe(
  db: Db,
  { groupId, device, metadata }: { groupId: string; device: string; metadata: string },
  json: boolean,
): Promise<void> {
  if (!(await operatorStore.describeDevice(db, groupId, device, metadata)))
    throw new StartFault(`the group has no device ${told(device)}; \`kaha terminals list\` shows them`)
  say(
    json ? JSON.stringify({ device_id: device, metadata: JSON.parse(metadata) as unknown }) : `${device} is described.`,
  )
}
