import type { Principal } from '../../identity/principal.ts'
import type { Db } from '../../kernel/db.ts'
import { Fault } from '../../kernel/fault.ts'
import { sha256, type Keyring } from '../../kernel/seal.ts'
import { refuse } from './errors.ts'
import { answerPlace, ecommerceStore as store, type KeptAnswer } from './store.ts'

/** What a POST that creates was answered: kept for 24 hours, and given again to the same request. */
export interface Replayable {
  readonly status: number
  readonly body: unknown
}

export interface Request {
  readonly principal: Principal
  readonly operation: string
  readonly key: string | undefined
  readonly body: unknown
}

/** A POST that creates, in steps. */
export interface Creation<Made> {
  /** Checks the request and makes what will be stored; changes nothing. */
  prepare(): Promise<Made>
  answer(made: Made): Replayable
  /** Stores what was made and the answer in one transaction; false when the key has an answer already. */
  write(kept: KeptAnswer, made: Made): Promise<boolean>
}

export interface Idempotency {
  /**
   * Creates once per entity, operation and key; any later call with the same body gets the first answer, even where the request would
   * not pass its checks any more. Throws INVALID_IDEMPOTENCY_KEY and IDEMPOTENCY_MISMATCH. Errors keep nothing and free the key.
   */
  create<Made>(request: Request, creation: Creation<Made>): Promise<Replayable & { replayed: boolean }>
}

const keyForm = /^[A-Za-z0-9._-]{8,64}$/

/** JSON with sorted keys, so that equal bodies are equal text. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const fields = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join(',')}}`
}

export function createIdempotency({ db, keyring }: { db: Db; keyring: Keyring }): Idempotency {
  const place = ({ principal, operation, key }: Request) => answerPlace(principal.entityId, operation, key ?? '')

  const checkedKey = (request: Request): string => {
    if (request.key === undefined || !keyForm.test(request.key)) {
      throw refuse(
        'INVALID_IDEMPOTENCY_KEY',
        'Send the header Idempotency-Key with 8 to 64 letters, digits, dots, hyphens or underscores.',
        'Idempotency-Key',
        request.key === undefined ? 'required' : 'format',
      )
    }
    return request.key
  }

  const replay = async (request: Request, key: string): Promise<Replayable | undefined> => {
    const kept = await store.findAnswer(db, request.principal.entityId, request.operation, key)
    if (kept === undefined) return undefined
    if (!kept.request_hash.equals(sha256(canonical(request.body)))) {
      throw refuse(
        'IDEMPOTENCY_MISMATCH',
        'This Idempotency-Key came with another body before; use a new key for a new request.',
      )
    }
    return JSON.parse(keyring.open(kept.response, place(request))) as Replayable
  }

  return {
    async create(request, { prepare, answer, write }) {
      const key = checkedKey(request)
      const replayed = async () => {
        const first = await replay(request, key)
        return first === undefined ? undefined : { ...first, replayed: true }
      }
      let made
      try {
        made = await prepare()
      } catch (refusal) {
        const first = refusal instanceof Fault ? await replayed() : undefined
        if (first === undefined) throw refusal
        return first
      }
      const first = answer(made)
      const kept: KeptAnswer = {
        entityId: request.principal.entityId,
        operation: request.operation,
        key,
        requestHash: sha256(canonical(request.body)),
        response: keyring.seal(JSON.stringify(first), place(request)),
      }
      if (await write(kept, made)) return { ...first, replayed: false }
      const earlier = await replayed()
      if (earlier === undefined) {
        throw refuse(
          'IDEMPOTENCY_IN_PROGRESS',
          'The first request with this key is still running; try again in a moment.',
        )
      }
      return earlier
    },
  }
}
