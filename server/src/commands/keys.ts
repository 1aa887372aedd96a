import { scopes } from '@kaha/contract/operation'
import type { Config } from '../config.ts'
import { issueEncryptionKey, issueKey } from '../identity/issue.ts'
import { identityStore } from '../identity/store.ts'
import { terminalKeyStore } from '../identity/store-terminal-keys.ts'
import { hintOnce } from '../kernel/bus-postgres.ts'
import type { Db } from '../kernel/db.ts'
import { StartFault } from '../kernel/fault.ts'
import { scrub } from '../kernel/log.ts'
import { isTimestamp, msOf } from '../kernel/timestamp.ts'
import { argumentsOf, idOf, takesOnly, unknownAction } from './arguments.ts'
import { timeIn, withDatabase } from './database.ts'
import { issuingOf } from './issuing.ts'
import { changeMaster, masterKeyOf } from './master-key.ts'
import { listedMax, noneYet, say, tellEnd } from './words.ts'

export const keysHelp = [
  'kaha keys list [--entity ID] [--json]',
  'kaha keys issue --entity ID [--scopes a,b] [--expires TIME] [--json]',
  '                                                      all scopes when none are named, for ever when no time is; the key is shown this once',
  'kaha keys encryption --entity ID [--json]             a key for the Tokens of a merchant, in place of the one before; shown this once',
  'kaha keys master --to FILE [--json]                   the master key in FILE in place of the one before; nothing else changes',
  'kaha keys suspend ID | resume ID | revoke ID | delete ID [--json]      keys of tills and terminals too: their sockets are closed',
  '',
  `Scopes: ${scopes.join(', ')}`,
  '',
].join('\n')

const moves = {
  suspend: { to: 'SUSPENDED', from: ['ACTIVE'] },
  resume: { to: 'ACTIVE', from: ['SUSPENDED'] },
  revoke: { to: 'REVOKED', from: ['ACTIVE', 'SUSPENDED', 'EXPIRED'] },
  delete: { to: 'DELETED', from: ['ACTIVE', 'SUSPENDED', 'EXPIRED', 'REVOKED'] },
} as const

const actions = ['list', 'issue', 'encryption', 'master', ...Object.keys(moves)]
// A key for Tokens has no scopes, and is told so by itself.
const takenBy: Readonly<Record<string, readonly string[]>> = {
  list: ['entity'],
  issue: ['entity', 'scopes', 'expires'],
  encryption: ['entity', 'scopes'],
  master: ['to'],
}

/**
 * Lists, issues, suspends, revokes and deletes secret keys, issues those for Tokens, and changes the master key, beside a running server or
 * without one.
 */
export async function keysCommand(config: Config, args: readonly string[]): Promise<void> {
  const { values, positionals } = argumentsOf('keys', args, {
    entity: { type: 'string' },
    scopes: { type: 'string' },
    expires: { type: 'string' },
    to: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [action = 'list', subject, ...more] = positionals
  const takesId = action in moves
  if (!actions.includes(action) || more.length > 0 || (subject !== undefined && !takesId)) {
    throw unknownAction('keys', positionals)
  }
  const whichKey = `say which key: \`kaha keys ${action} ID\`, with an id of \`kaha keys list\``
  const id = takesId ? idOf(subject, whichKey, 'kaha keys list', 'kaha terminals list') : ''
  takesOnly('keys', action, values, takenBy[action])
  const entityId =
    action === 'list' && values.entity !== undefined
      ? idOf(values.entity, 'say whose keys: --entity and its id', 'kaha entities list')
      : null
  const wanted = action === 'issue' ? wantedKey(values) : undefined
  const merchantId = action === 'encryption' ? wantedMerchant(values) : undefined
  const nextMaster = action === 'master' ? await masterKeyOf(values.to) : undefined
  await withDatabase(config, { begins: wanted !== undefined }, async (db) => {
    if (action === 'list') return await list(db, config, entityId, values.json === true)
    if (wanted !== undefined) return await issue(db, config, wanted, values.json === true)
    if (merchantId !== undefined) return await issueForTokens(db, config, merchantId, values.json === true)
    if (nextMaster !== undefined) return await changeMaster(db, config, nextMaster, values.json === true)
    return await move(db, action as keyof typeof moves, id, values.json === true)
  })
}

async function list(db: Db, config: Config, entityId: string | null, json: boolean): Promise<void> {
  const keys = await identityStore.listKeys(db, entityId, listedMax)
  if (keys.length === 0 && entityId !== null) await entityOf(db, entityId)
  tellEnd(keys, listedMax, '--entity shows those of one entity')
  if (json) return say(JSON.stringify(keys))
  if (keys.length === 0 && entityId !== null) return say(`${entityId} has no keys.`)
  if (keys.length === 0) return say(noneYet(config, 'keys', 'kaha keys issue'))
  say(`${'ID'.padEnd(36)}  ENDS   STATE      LEVEL     ${'ENTITY'.padEnd(36)}  NAME`)
  for (const { id, last_four, state, level, entity_id, name, expires_at } of keys) {
    const until = expires_at === null ? '' : ` (until ${expires_at.toISOString()})`
    say(`${id}  …${last_four}  ${state.padEnd(9)}  ${level.padEnd(8)}  ${entity_id}  ${name}${until}`)
  }
}

interface WantedKey {
  readonly entityId: string
  readonly scopes: readonly string[]
  readonly expiresAt: Date | undefined
}

function wantedKey({
  entity,
  scopes: named,
  expires,
}: {
  entity?: string
  scopes?: string
  expires?: string
}): WantedKey {
  const entityId = idOf(
    entity,
    'say whose key it is: --entity and the id of a partner, merchant or branch',
    'kaha entities list',
  )
  const wanted = named?.split(',') ?? [...scopes]
  const unknown = wanted.find((one) => !scopes.includes(one as (typeof scopes)[number]))
  if (unknown !== undefined)
    throw new StartFault(`there is no scope ${scrub(unknown)}; \`kaha keys --help\` lists them`)
  return { entityId, scopes: wanted, expiresAt: expires === undefined ? undefined : timeOf(expires) }
}

function timeOf(text: string): Date {
  if (!isTimestamp(text))
    throw new StartFault('say when it expires: --expires and a time with its zone, such as 2027-01-31T00:00:00+08:00')
  return new Date(msOf(text))
}

async function entityOf(db: Db, id: string) {
  const entity = await identityStore.findEntity(db, id)
  if (entity === undefined) throw new StartFault(`there is no entity ${id}; \`kaha entities list\` shows them`)
  return entity
}

async function issue(db: Db, config: Config, wanted: WantedKey, json: boolean): Promise<void> {
  const entity = await entityOf(db, wanted.entityId)
  const issuing = await issuingOf(db, config)
  const { scopes: allowed, expiresAt } = wanted
  const now = await timeIn(db)
  if (expiresAt !== undefined && expiresAt <= now)
    throw new StartFault(`${expiresAt.toISOString()} is over: --expires names a time to come`)
  const asked = { entityId: entity.id, level: entity.level, scopes: allowed, ...(expiresAt && { expiresAt }) }
  const made = await issueKey(db, issuing, asked, now)
  const end = expiresAt === undefined ? '' : ` It expires at ${expiresAt.toISOString()}.`
  say(
    json
      ? JSON.stringify({ id: made.id, secret_key: made.secretKey, expires_at: expiresAt ?? null })
      : `${made.secretKey}\n\nKeep it now: it is not shown again. Its id is ${made.id}.${end}`,
  )
}

function wantedMerchant({ entity, scopes: named }: { entity?: string; scopes?: string }): string {
  const merchantId = idOf(entity, 'say whose key it is: --entity and the id of a merchant', 'kaha entities list')
  if (named !== undefined) throw new StartFault('a key for Tokens has no scopes: leave --scopes out')
  return merchantId
}

async function issueForTokens(db: Db, config: Config, merchantId: string, json: boolean): Promise<void> {
  if ((await identityStore.findEntity(db, merchantId))?.level !== 'merchant')
    throw new StartFault(`${merchantId} is no merchant; \`kaha entities list\` shows them`)
  const issuing = await issuingOf(db, config)
  const at = await timeIn(db)
  const encryptionKey = await db.tx((tx) => issueEncryptionKey(tx, issuing, merchantId, at))
  await hintOnce(db, 'keys')
  say(
    json
      ? JSON.stringify({ merchant_id: merchantId, encryption_key: encryptionKey })
      : `${encryptionKey}\n\nKeep it now: it is not shown again. Tokens of a key before it are refused from now on.`,
  )
}

async function move(db: Db, action: keyof typeof moves, id: string, json: boolean): Promise<void> {
  const { to, from } = moves[action]
  const at = await timeIn(db)
  const moved =
    (await identityStore.setKeyState(db, id, to, from, at)) ??
    ((await terminalKeyStore.setState(db, id, to, from, at)) ? to : undefined)
  if (moved === undefined) {
    throw new StartFault(
      `no key ${id} is ${from.join(' or ')}: \`kaha keys list\` and \`kaha terminals list\` show how it stands`,
    )
  }
  await hintOnce(db, 'keys')
  say(json ? JSON.stringify({ id, state: moved }) : `${id} is ${moved}.`)
}
