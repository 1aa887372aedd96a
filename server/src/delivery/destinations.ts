import type { Bus } from '../kernel/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { refusedBy, type Db, type Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { newId } from '../kernel/ids.ts'
import type { Keyring } from '../kernel/seal.ts'
import type { DialectName } from './dialects.ts'
import { newSecret } from './secrets.ts'
import {
  destinationStore as store,
  placeOf,
  type DestinationChange,
  type DestinationRow,
  type Owner,
  type Scope,
  type SecretRow,
} from './store-destinations.ts'

export interface NewDestination {
  readonly dialect: DialectName
  /** Vetted by the caller, who knows the rules of its area. */
  readonly url: string
  readonly types: readonly string[]
  readonly description: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  /** DISABLED from the first moment on: it gets nothing until it is enabled. */
  readonly disabled?: boolean
  /** Its signing secret, where the caller has made one. */
  readonly secret?: string
}

/** The secret that signs first. */
export interface NewestSecret {
  readonly destinationId: string
  readonly secret: string
  readonly createdAt: Date
  /** Until when those before it sign too; null when there are none. */
  readonly previousExpiresAt: Date | null
}

/** Secrets of one destination that sign at a time. */
const secretsLiveMax = 3
const onePerUrl = ['one_live_url_per_owner', 'one_live_url_per_account']

/** The destinations of an entity and of all entities under it, or of a group. Deleted ones are not found. */
export interface Destinations {
  /** ENABLED at once unless it is to be disabled, with a fresh secret. CONFLICT when another live one of the same owner and dialect has the same URL. */
  create(owner: Owner, input: NewDestination): Promise<DestinationRow>
  /** The same for an owner that has fewer than `liveMax` of the dialect, else undefined. */
  createWithin(liveMax: number, owner: Owner, input: NewDestination): Promise<DestinationRow | undefined>
  /** Newest first, ids below `before`. */
  list(scope: Scope, page: { before: string; rowsMax: number; dialect?: DialectName }): Promise<DestinationRow[]>
  find(scope: Scope, id: string, dialect?: DialectName): Promise<DestinationRow | undefined>
  /** Whether anybody has such a destination: for the answer to a key that may not see it. */
  exists(id: string, dialect?: DialectName): Promise<boolean>
  /**
   * Changes what is not null; undefined where the scope has none. A disabled one keeps what is queued and gets nothing more; enabled
   * again it gets that, whoever disabled it. Throws CONFLICT as `create` does.
   */
  change(
    scope: Scope,
    id: string,
    change: DestinationChange,
    dialect?: DialectName,
  ): Promise<DestinationRow | undefined>
  /** For good: what is queued is dropped, its URL is free. Undefined where the scope has none. */
  delete(scope: Scope, id: string, dialect?: DialectName): Promise<DestinationRow | undefined>
  signingSecret(destinationId: string): Promise<NewestSecret>
  /**
   * Makes a secret that signs first from now on. Those before it end after the overlap, or earlier where that was so; of four the oldest
   * ends at once. Undefined where the scope has none.
   */
  rotateSecret(
    scope: Scope,
    id: string,
    overlapSeconds: number,
    dialect?: DialectName,
  ): Promise<NewestSecret | undefined>
}

export interface DestinationsDependencies {
  readonly db: Db
  readonly work: Db
  readonly bus: Bus
  readonly clock: Clock
  readonly keyring: Keyring
}

export function createDestinations({ db, work, bus, clock, keyring }: DestinationsDependencies): Destinations {
  const opened = (destinationId: string, row: SecretRow | undefined): NewestSecret => {
    if (row === undefined) throw new Error(`the destination ${destinationId} has no signing secret in force`)
    return {
      destinationId,
      secret: keyring.open(row.sealed, placeOf(row.id)),
      createdAt: row.created_at,
      previousExpiresAt: row.previous_expires_at,
    }
  }

  const insert = async (on: Queries, owner: Owner, input: NewDestination): Promise<DestinationRow> => {
    const at = clock.now()
    const secretId = newId(at)
    const sealedSecret = keyring.seal(input.secret ?? newSecret(), placeOf(secretId))
    const { disabled = false } = input
    const stored = { ...input, disabled, id: newId(at), owner, secretId, sealedSecret, at }
    const made = await refusingTaken(store.insert(on, stored))
    if (made === undefined) throw new Error('the destination was not stored')
    return made
  }

  return {
    create: (owner, input) => insert(db, owner, input),
    createWithin: (liveMax, owner, input) =>
      db.tx(async (tx) => {
        const live = await store.countAlone(tx, owner.entityId, input.dialect)
        return live < liveMax ? insert(tx, owner, input) : undefined
      }),
    list: (scope, { before, rowsMax, dialect = 'signed' }) => store.list(db, scope, { before, rowsMax, dialect }),
    find: (scope, id, dialect = 'signed') => store.find(db, scope, id, dialect),
    exists: (id, dialect = 'signed') => store.exists(db, id, dialect),

    async change(scope, id, change, dialect = 'signed') {
      if (Object.values(change).every((value) => value === null)) return store.find(db, scope, id, dialect)
      const changing = work.tx(async (tx) => {
        const held = await store.holdLane(tx, scope, id, dialect)
        return held ? store.change(tx, scope, id, dialect, change) : undefined
      })
      const changed = await refusingTaken(changing)
      // By the row's id: the caller's may be in capitals.
      if (changed !== undefined && (change.disabled === true || change.url !== null)) {
        bus.say('destinations', [changed.id])
      }
      if (changed !== undefined && change.disabled === false) bus.hint('deliveries')
      return changed
    },

    async delete(scope, id, dialect = 'signed') {
      const deleted = await work.tx(async (tx) => {
        const held = await store.holdLane(tx, scope, id, dialect)
        return held ? store.delete(tx, scope, id, dialect) : undefined
      })
      if (deleted === undefined) return undefined
      bus.say('destinations', [deleted.id])
      bus.hint('deliveries')
      return deleted
    },

    signingSecret: async (destinationId) => opened(destinationId, await store.newestSecret(db, destinationId)),

    async rotateSecret(scope, id, overlapSeconds, dialect = 'signed') {
      const rotated = await db.tx(async (tx) => {
        const destination = await store.hold(tx, scope, id, dialect)
        if (destination === undefined) return undefined
        // The order of ids says who signs first, and ids of one millisecond have none.
        const newest = await store.newestSecret(tx, id)
        const at = new Date(Math.max(clock.now().getTime(), (newest?.created_at.getTime() ?? 0) + 1))
        const secretId = newId(at)
        const sealed = keyring.seal(newSecret(), placeOf(secretId))
        const secret = { id: secretId, destinationId: destination.id, sealed, at, overlapSeconds }
        await store.rotateSecret(tx, { ...secret, liveMax: secretsLiveMax })
        return opened(destination.id, await store.newestSecret(tx, id))
      })
      if (rotated !== undefined) bus.say('destinations', [rotated.destinationId])
      return rotated
    },
  }
}

/** Throws CONFLICT where another live destination of the owner has the URL; in area E another of the account. */
async function refusingTaken<Stored>(storing: Promise<Stored>): Promise<Stored> {
  try {
    return await storing
  } catch (error) {
    if (!onePerUrl.includes(refusedBy(error) ?? '')) throw error
    throw new Fault('CONFLICT', 'Another endpoint of this entity has this URL; change that one, or use another URL.', {
      cause: error,
    })
  }
}
