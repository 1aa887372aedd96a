import type { Config } from '../config.ts'
import { createBranch, createMerchant, createPartner, issueActivationCode } from '../identity/issue.ts'
import type { Level } from '../identity/principal.ts'
import { accountsStore } from '../identity/store-accounts.ts'
import { identityStore, type EntityRow } from '../identity/store.ts'
import { hintOnce } from '../kernel/bus-postgres.ts'
import { refusedBy, type Db } from '../kernel/db.ts'
import { StartFault } from '../kernel/fault.ts'
import { argumentsOf, idOf, takesOnly, unknownAction } from './arguments.ts'
import { keyringOf } from './issuing.ts'
import { timeIn, withDatabase } from './database.ts'
import { listedMax, noneYet, say, steers, tellEnd } from './words.ts'

export const entitiesHelp = [
  'kaha entities list [--json]',
  'kaha entities create --level partner --name NAME [--json]',
  'kaha entities create --level merchant --name NAME --parent ID [--json]                    under a partner',
  'kaha entities create --level branch --name NAME --parent ID --reference REFERENCE [--json]    under a merchant',
  'kaha entities code ID [--json]                                   the activation code of a branch, made where it has none',
  'kaha entities lock ID | deactivate ID | activate ID [--json]     whose keys and payers are refused, or no longer, with all below it',
  '',
  'A reference is what the merchant calls the branch, and names one branch of the partner. `kaha keys issue` makes keys for each of them.',
  '',
].join('\n')

const parentOf = { partner: null, merchant: 'partner', branch: 'merchant' } as const satisfies Record<
  Level,
  Level | null
>

// A reference as long as requests may name it.
const charactersMax = { name: 255, reference: 100 } as const

const moves = { lock: 'LOCKED', deactivate: 'INACTIVE', activate: 'ACTIVE' } as const

const actions = ['list', 'create', 'code', ...Object.keys(moves)]

interface Wanted {
  readonly level: Level
  readonly name: string
  readonly parentId: string | undefined
  readonly reference: string | undefined
}

interface Made extends EntityRow {
  /** Of a branch. */
  readonly activation_code?: string
}

/** Lists, makes, locks and activates partners, merchants and branches, and tells activation codes, beside a running server or without one. */
export async function entitiesCommand(config: Config, args: readonly string[]): Promise<void> {
  const { values, positionals } = argumentsOf('entities', args, {
    level: { type: 'string' },
    name: { type: 'string' },
    parent: { type: 'string' },
    reference: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [action = 'list', subject, ...more] = positionals
  const takesId = action === 'code' || action in moves
  if (!actions.includes(action) || more.length > 0 || (subject !== undefined && !takesId)) {
    throw unknownAction('entities', positionals)
  }
  const which = `say which ${action === 'code' ? 'branch' : 'entity'}: \`kaha entities ${action} ID\`, with an id of \`kaha entities list\``
  const id = takesId ? idOf(subject, which, 'kaha entities list') : undefined
  takesOnly('entities', action, values, action === 'create' ? ['level', 'name', 'parent', 'reference'] : [])
  const wanted = action === 'create' ? wantedEntity(values) : undefined
  await withDatabase(config, { begins: wanted !== undefined }, async (db) => {
    if (id !== undefined && action in moves)
      return await move(db, action as keyof typeof moves, id, values.json === true)
    if (id !== undefined) return await tellCode(db, id, values.json === true)
    if (wanted === undefined) return await list(db, config, values.json === true)
    // Whatever is put into a database first ties it.
    await keyringOf(db, config)
    const made = await create(db, wanted)
    const { level, name, partner_id, merchant_id, reference_number, activation_code } = made
    const code = activation_code === undefined ? '' : ` Its activation code is ${activation_code}.`
    say(
      values.json === true
        ? JSON.stringify({ id: made.id, level, name, partner_id, merchant_id, reference_number, activation_code })
        : `${made.id} is the ${level} ${name}.${code}`,
    )
  })
}

/** Branches that were made before they got a code with it get theirs here. */
async function tellCode(db: Db, branchId: string, json: boolean): Promise<void> {
  if ((await identityStore.findEntity(db, branchId))?.level !== 'branch')
    throw new StartFault(`${branchId} is no branch; \`kaha entities list\` shows them`)
  const code =
    (await accountsStore.findBranchCode(db, branchId)) ?? (await issueActivationCode(db, branchId, await timeIn(db)))
  say(json ? JSON.stringify({ id: branchId, activation_code: code }) : code)
}

/** Keys and payers are refused from the next request on, here and below; what is under way goes on. */
async function move(db: Db, action: keyof typeof moves, id: string, json: boolean): Promise<void> {
  const state = moves[action]
  if (!(await identityStore.setAccountState(db, id, state)))
    throw new StartFault(`there is no entity ${id} that is not ${state}: \`kaha entities list\` shows how each stands`)
  await hintOnce(db, 'keys')
  const standing = await identityStore.accountState(db, id)
  if (json) return say(JSON.stringify({ id, state, standing }))
  const isAsTold = state !== 'ACTIVE' || standing === 'ACTIVE'
  say(`${id} is ${state}.${isAsTold ? '' : ` What stands above it is ${standing}, and so it stays refused.`}`)
}

async function list(db: Db, config: Config, json: boolean): Promise<void> {
  const entities = await identityStore.listEntities(db, listedMax)
  tellEnd(entities, listedMax, 'the database has the rest')
  if (json) return say(JSON.stringify(entities))
  if (entities.length === 0) return say(noneYet(config, 'entities', 'kaha entities create'))
  say(`${'ID'.padEnd(36)}  STATE     LEVEL     ${'PARENT'.padEnd(36)}  NAME`)
  for (const { id, state, standing, level, partner_id, merchant_id, name, reference_number } of entities) {
    const parent = { partner: '', merchant: partner_id, branch: merchant_id ?? '' }[level]
    const reference = reference_number === null ? '' : ` (${reference_number})`
    const above = standing === state || state === 'LOCKED' ? '' : `, ${standing} above`
    say(`${id}  ${state.padEnd(8)}  ${level.padEnd(8)}  ${parent.padEnd(36)}  ${name}${reference}${above}`)
  }
}

function wantedEntity(values: { level?: string; name?: string; parent?: string; reference?: string }): Wanted {
  const { parent, reference } = values
  const level = (Object.keys(parentOf) as Level[]).find((one) => one === values.level)
  if (level === undefined) throw new StartFault('say what it is: --level partner, merchant or branch')
  const name = textOf('name', values.name)
  if (level === 'partner' && parent !== undefined)
    throw new StartFault('a partner stands under nobody: leave --parent out')
  const whose = `say whose it is: --parent and the id of a ${parentOf[level]}; \`kaha entities list\` shows them`
  const parentId = level === 'partner' ? undefined : idOf(parent, whose, 'kaha entities list')
  if (level !== 'branch' && reference !== undefined)
    throw new StartFault('only a branch has a reference: leave --reference out')
  return { level, name, parentId, reference: level === 'branch' ? textOf('reference', reference) : undefined }
}

function textOf(option: keyof typeof charactersMax, given: string | undefined): string {
  const text = given?.trim() ?? ''
  // A list that is printed must not steer the terminal that it is read in, and a name is seen.
  const isSeen = /[^\p{Cf}\p{Z}]/u.test(text)
  if (!isSeen || Array.from(text).length > charactersMax[option] || steers(text))
    throw new StartFault(
      `say its ${option}: --${option} and a text of ${charactersMax[option]} characters at most, on one line`,
    )
  return text
}

async function create(db: Db, { level, name, parentId, reference }: Wanted): Promise<Made> {
  const at = await timeIn(db)
  const parent = parentId === undefined ? undefined : await identityStore.findEntity(db, parentId)
  if (level === 'partner') return createPartner(db, name, at)
  if (parent?.level !== parentOf[level])
    throw new StartFault(`${parentId} is no ${parentOf[level]}; \`kaha entities list\` shows them`)
  if (level === 'merchant') return createMerchant(db, parent.id, name, at)
  try {
    return await db.tx(async (tx) => {
      const branch = await createBranch(tx, parent, name, reference ?? '', at)
      return { ...branch, activation_code: await issueActivationCode(tx, branch.id, at) }
    })
  } catch (error) {
    if (refusedBy(error) !== 'entities_partner_id_reference_number_key') throw error
    throw new StartFault(`this partner has a branch with the reference ${reference}: take another`, { cause: error })
  }
}
