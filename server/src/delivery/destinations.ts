import type { Principal } from '../identity/principal.ts'
import type { Clock } from '../kernel/clock.ts'
import { refusedBy, type Db } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { newId } from '../kernel/ids.ts'
import type { Keyring } from '../kernel/seal.ts'
import type { DialectName } from './dialects.ts'
import { newSecret } from './secrets.ts'
import { destinationStore as store, placeOf, type DestinationRow, type Owner } from './store-destinations.ts'

export interface NewDestination {
  readonly dialect: DialectName
  /** Vetted by the caller, who knows the rules of its area. */
  readonly url: string
  readonly types: readonly string[]
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
}

/** The destinations of an entity and of all entities under it. Deleted ones are not found. */
export interface Destinations {
  /** ENABLED at once, with a fresh secret. CONFLICT when another live one of the same owner and dialect has the same URL. */
  create(owner: Owner, input: NewDestination): Promise<DestinationRow>
  /** Newest first, ids below `before`. */
  list(
    principal: Principal,
    page: { before: string; rowsMax: number; dialect?: DialectName },
  ): Promise<DestinationRow[]>
  find(principal: Principal, id: string, dialect?: DialectName): Promise<DestinationRow | undefined>
  /** Whether anybody has such a destination: for the answer to a key that may not see it. */
  exists(id: string, dialect?: DialectName): Promise<boolean>
  /** The newest secret, and until when the one before it signs too. */
  signingSecret(destinationId: string): Promise<{ secret: string; createdAt: Date; previousExpiresAt: Date | null }>
}

export function createDestinations({ db, clock, keyring }: { db: Db; clock: Clock; keyring: Keyring }): Destinations {
  return {
    async create(owner, input) {
      const at = clock.now()
      const secretId = newId(at)
      const sealedSecret = keyring.seal(newSecret(), placeOf(secretId))
      try {
        const made = await store.insert(db, { ...input, id: newId(at), owner, secretId, sealedSecret, at })
        if (made === undefined) throw new Error('the destination was not stored')
        return made
      } catch (error) {
        if (refusedBy(error) !== 'one_live_url_per_owner') throw error
        throw new Fault(
          'CONFLICT',
          'Another endpoint of this entity has this URL; change that one, or use another URL.',
          { cause: error },
        )
      }
    },
    list: (principal, { before, rowsMax, dialect = 'signed' }) =>
      store.list(db, principal, { before, rowsMax, dialect }),
    find: (principal, id, dialect = 'signed') => store.find(db, principal, id, dialect),
    exists: (id, dialect = 'signed') => store.exists(db, id, dialect),
    async signingSecret(destinationId) {
      const row = await store.newestSecret(db, destinationId)
      if (row === undefined) throw new Error(`the destination ${destinationId} has no signing secret in force`)
      return {
        secret: keyring.open(row.sealed, placeOf(row.id)),
        createdAt: row.created_at,
        previousExpiresAt: row.previous_expires_at,
      }
    },
  }
}
