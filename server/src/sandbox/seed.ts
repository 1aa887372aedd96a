import { scopes } from '@kaha/contract'
import {
  createBranch,
  createGroup,
  createMerchant,
  createPartner,
  issueActivationCode,
  issueEncryptionKey,
  issueKey,
  issueTerminalKey,
} from '../identity/issue.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db, Queries } from '../kernel/db.ts'
import { randomText } from '../kernel/ids.ts'
import type { Keyring } from '../kernel/seal.ts'
import { sandboxStore, seedPlace } from './store.ts'

interface SeededKeys {
  readonly api_key: string
  readonly api_secret: string
}

export interface SeededBranch {
  readonly id: string
  readonly name: string
  readonly reference_number: string
  readonly secret_key: string
  readonly activation_code: string
}

export interface SeededMerchant {
  readonly id: string
  readonly name: string
  readonly secret_key: string
  readonly encryption_key: string
  readonly branches: readonly SeededBranch[]
  readonly terminal_group: {
    readonly id: string
    readonly desktop: SeededKeys
    readonly terminals: readonly (SeededKeys & { readonly device_id: string })[]
  }
}

/** What a new sandbox starts with: everybody in it, and their keys, fresh for each data directory. */
export interface Seed {
  readonly partner: { readonly id: string; readonly name: string; readonly secret_key: string }
  readonly merchants: readonly SeededMerchant[]
  /** Whoever opens the dashboard. */
  readonly dashboard: { readonly email: string; readonly password: string }
}

const names = {
  partner: 'Kaha Sandbox',
  merchants: [
    { name: 'Kapihan ni Aling Nena', branches: ['Makati', 'Quezon City'], code: 'KAPE' },
    { name: 'Tindahan ni Mang Isko', branches: ['Cebu', 'Davao'], code: 'TIND' },
  ],
} as const

/** The seed of this database: made on the first start, read again on later ones. */
export function ensureSeed({ db, clock, keyring }: { db: Db; clock: Clock; keyring: Keyring }): Promise<Seed> {
  return db.tx(async (tx) => {
    const sealed = await sandboxStore.lockSeed(tx)
    if (sealed !== undefined) return JSON.parse(keyring.open(sealed, seedPlace)) as Seed
    const seed = await makeSeed(tx, keyring, clock.now())
    await sandboxStore.insertSeed(tx, keyring.seal(JSON.stringify(seed), seedPlace), clock.now())
    return seed
  })
}

/** True for the one start that may tell the story. */
export const takeStory = (db: Db): Promise<boolean> => sandboxStore.takeStory(db)

async function makeSeed(tx: Queries, keyring: Keyring, from: Date): Promise<Seed> {
  const issuing = { keyring, keyPrefix: 'sk_test_' } as const
  // Ids of one millisecond stand in random order: which branch is the first of its merchant would be chance.
  let nextMs = from.getTime()
  const next = () => new Date(nextMs++)
  const partnerAt = next()
  const partner = await createPartner(tx, names.partner, partnerAt)
  const merchants: SeededMerchant[] = []
  for (const named of names.merchants) {
    const at = next()
    const merchant = await createMerchant(tx, partner.id, named.name, at)
    const groupId = await createGroup(tx, merchant.id, at)
    const desktop = await issueTerminalKey(tx, issuing, { role: 'desktop', groupId, branchId: null }, at)
    const branches: SeededBranch[] = []
    const terminals: SeededMerchant['terminal_group']['terminals'][number][] = []
    for (const [index, city] of named.branches.entries()) {
      const reference = `${named.code}-${index + 1}`
      const branchAt = next()
      const branch = await createBranch(tx, merchant, `${named.name}, ${city}`, reference, branchAt)
      const terminal = await issueTerminalKey(tx, issuing, { role: 'terminal', groupId, branchId: branch.id }, branchAt)
      terminals.push({ device_id: `${reference}-T1`, api_key: terminal.apiKey, api_secret: terminal.apiSecret })
      branches.push({
        id: branch.id,
        name: branch.name,
        reference_number: reference,
        secret_key: (await issueKey(tx, issuing, { entityId: branch.id, level: 'branch', scopes }, branchAt)).secretKey,
        activation_code: await issueActivationCode(tx, branch.id, branchAt),
      })
    }
    merchants.push({
      id: merchant.id,
      name: merchant.name,
      secret_key: (await issueKey(tx, issuing, { entityId: merchant.id, level: 'merchant', scopes }, at)).secretKey,
      encryption_key: await issueEncryptionKey(tx, issuing, merchant.id, at),
      branches,
      terminal_group: { id: groupId, desktop: { api_key: desktop.apiKey, api_secret: desktop.apiSecret }, terminals },
    })
  }
  const partnerKey = await issueKey(tx, issuing, { entityId: partner.id, level: 'partner', scopes }, partnerAt)
  return {
    partner: { id: partner.id, name: partner.name, secret_key: partnerKey.secretKey },
    merchants,
    dashboard: { email: 'owner@kaha.test', password: randomText(20) },
  }
}
