import type { EcommerceCode } from '@kaha/contract'
import type { Principal } from '../../identity/principal.ts'
import type { Db, Queries } from '../../kernel/db.ts'
import { Fault } from '../../kernel/fault.ts'
import { inKeyOrder } from '../../kernel/json-order.ts'
import { sha256, type Keyring } from '../../kernel/seal.ts'
import { refuse } from './errors.ts'
import { answerPlace, ecommerceStore as store, type KeptAnswer } from './store.ts'

/** What a POST was answered: kept for 24 hours, and given again to the same request. */
export interface Replayable {
  readonly status: number
  readonly body: unknown
}

export interface KeyedRequest {
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
  /** What a call of somebody else must follow: goes on from what is kept, the first time and on every repeat, to what is answered. */
  goOn?(kept: Replayable, replayed: boolean): Promise<Replayable>
}

export interface Idempotency {
  /**
   * Creates once per entity, operation and key; any later call with the same body gets the first answer, even where the request would
   * not pass its checks any more. Throws INVALID_IDEMPOTENCY_KEY, IDEMPOTENCY_MISMATCH, and IDEMPOTENCY_IN_PROGRESS while the first request still
   * runs. Errors keep nothing and free the key.
   */
  create<Made>(request: KeyedRequest, creation: Creation<Made>): Promise<Replayable & { replayed: boolean }>
  /**
   * Changes what is there already, in one transaction with the answer that is kept; the key may be left out. What tells two requests
   * apart is in `body`: the id of the path too. Throws what `create` throws.
   */
  change(
    request: KeyedRequest,
    change: (tx: Queries) => Promise<Replayable>,
  ): Promise<Replayable & { replayed: boolean }>
}

const keyForm = /^[A-Za-z0-9._-]{8,64}$/

const canonical = (body: unknown): string => JSON.stringify(inKeyOrder(body)) ?? 'null'

export function createIdempotency({ db, keyring }: { db: Db; keyring: Keyring }): Idempotency {
  const place = ({ principal, operation, key }: KeyedRequest) => answerPlace(principal.entityId, operation, key ?? '')

  const checkedKey = (request: KeyedRequest): string => {
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

  const replay = async (on: Queries, request: KeyedRequest, key: string): Promise<Replayable | undefined> => {
    const kept = await store.findAnswer(on, request.principal.entityId, request.operation, key)
    if (kept === undefined) return undefined
    if (!kept.request_hash.equals(sha256(canonical(request.body)))) {
      throw refuse(
        'IDEMPOTENCY_MISMATCH',
        'This Idempotency-Key came with another request before; use a new key for a new one.',
      )
    }
    return JSON.parse(keyring.open(kept.response, place(request))) as Replayable
  }

  const keptOf = (request: KeyedRequest, key: string, answer: Replayable): KeptAnswer => ({
    entityId: request.principal.entityId,
    operation: request.operation,
    key,
    requestHash: sha256(canonical(request.body)),
    response: keyring.seal(JSON.stringify(answer), place(request)),
  })

  return {
    async create(request, { prepare, answer, write, goOn = async (kept) => kept }) {
      const key = checkedKey(request)
      const replayed = async () => {
        const first = await replay(db, request, key)
        return first === undefined ? undefined : { ...(await goOn(first, true)), replayed: true }
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
      if (await write(keptOf(request, key, first), made)) return { ...(await goOn(first, false)), replayed: false }
      const earlier = await replayed()
      if (earlier === undefined) throw stillRunning()
      return earlier
    },

    async change(request, change) {
      if (request.key === undefined) return { ...(await db.tx(change)), replayed: false }
      const key = checkedKey(request)
      return db.tx(async (tx) => {
        if (!(await store.holdKey(tx, request.principal.entityId, request.operation, key))) throw stillRunning()
        const first = await replay(tx, request, key)
        if (first !== undefined) return { ...first, replayed: true }
        const answer = await change(tx)
        await store.insertAnswer(tx, keptOf(request, key, answer))
        return { ...answer, replayed: false }
      })
    },
  }
}

/** What a repeat gets while the first request with its key goes on. */
export const stillRunning = () => {
  const code: EcommerceCode = 'IDEMPOTENCY_IN_PROGRESS'
  return new Fault(code, 'The first request with this key is still running; try again in a moment.', {
    retryAfterSeconds: 1,
  })
}
