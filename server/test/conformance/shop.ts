import assert from 'node:assert/strict'
import {
  cancelPaymentIntent,
  cancelPaymentLink,
  confirmPaymentIntent,
  createPaymentIntent,
  createPaymentLink,
  createRefund,
  ecommerceWireCodes,
  listPaymentLinks,
  retrievePaymentIntent,
  retrievePaymentLink,
  retrieveRefund,
  updatePaymentLink,
  type EcommerceCode,
  type Operation,
} from '@kaha/contract'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import pg from 'pg'
import { createBranch } from '../../src/identity/issue.ts'
import { connectionConfig, statement } from '../../src/kernel/db.ts'
import { isUuid } from '../../src/kernel/ids.ts'
import { cardOf, cards, newKey, type Platform } from '../platform.ts'
import { until } from '../until.ts'
import { assertEnvelope, call, type Answer } from './call.ts'
import { keyFor, linkFor } from './people.ts'

/** How a request differs from the usual one of the platform's first merchant. */
export interface Asked {
  /** Null: no key at all. */
  readonly key?: string | null
  /** Null: no Idempotency-Key; made where the operation needs one. */
  readonly idempotencyKey?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

export type ShopOn = Pick<Platform, 'url' | 'merchant' | 'branch'>

const ajv = new Ajv({ strict: true, allErrors: true })
addFormats.default(ajv)
const validators = new Map<object, ValidateFunction>()

function validatorOf(schema: object): ValidateFunction {
  const known = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, known)
  return known
}

// Any operation of the area may give these beside its own.
const commonCodes = new Set([
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'UNAVAILABLE',
])

const wireCode = (code: string): string => ecommerceWireCodes[code as EcommerceCode] ?? code

/** The answer is one that the contract documents for this operation: its status, its code, and exactly its fields. */
export function assertDocumented(operation: Operation, answer: Answer): void {
  assert.ok(isUuid(String(answer.headers['x-correlation-id'])))
  const success = operation.success[answer.status]
  if (success === undefined) {
    const code = assertEnvelope('ecommerce', answer)
    const own = operation.errors.map(wireCode)
    assert.ok(own.includes(code) || commonCodes.has(code), `${operation.id} does not document ${answer.status} ${code}`)
    return
  }
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
  const validate = validatorOf(success.schema)
  assert.ok(validate(answer.json), `${operation.id}: ${JSON.stringify(validate.errors)} in ${answer.text}`)
}

/** A merchant's shop, talking plain HTTP: every answer that comes back is checked against the contract. */
export function shop(p: ShopOn) {
  const send = async (
    operation: Operation,
    { id, query = '', body }: { id?: string; query?: string; body?: unknown },
    { key = p.merchant.secret_key, idempotencyKey, headers = {} }: Asked = {},
  ): Promise<Answer> => {
    const named = idempotencyKey === undefined && operation.idempotency === 'required' ? newKey() : idempotencyKey
    const answer = await call(p.url, {
      method: operation.method,
      path: operation.path.replace('{id}', id ?? '') + query,
      ...(key === null ? {} : { key }),
      headers: { ...(named == null ? {} : { 'idempotency-key': named }), ...headers },
      ...(body === undefined ? {} : { body }),
    })
    assertDocumented(operation, answer)
    return answer
  }

  const reference = p.branch.reference_number
  const calls = {
    send,
    createLink: (fields: object = {}, asked?: Asked) =>
      send(createPaymentLink, { body: { ...linkFor(reference), ...fields } }, asked),
    retrieveLink: (id: string, asked?: Asked) => send(retrievePaymentLink, { id }, asked),
    updateLink: (id: string, body: object, asked?: Asked) => send(updatePaymentLink, { id, body }, asked),
    cancelLink: (id: string, body?: object, asked?: Asked) => send(cancelPaymentLink, { id, body }, asked),
    listLinks: (query: Readonly<Record<string, string>> = {}, asked?: Asked) =>
      send(listPaymentLinks, { query: `?${new URLSearchParams(query).toString()}` }, asked),
    /** An intent of its own, unless the fields name a link. */
    createIntent: (fields: object = {}, asked?: Asked) =>
      send(
        createPaymentIntent,
        {
          body:
            'payment_link_id' in fields
              ? fields
              : { amount: 9800, currency: 'PHP', merchant_branch_reference_number: reference, ...fields },
        },
        asked,
      ),
    retrieveIntent: (id: string, asked?: Asked) => send(retrievePaymentIntent, { id }, asked),
    /** By any payment_method, with the secret key unless the fields bring a client_secret. */
    confirmBy: (payment_method: unknown, id: string, fields: object = {}) =>
      send(
        confirmPaymentIntent,
        { id, body: { payment_method, ...fields } },
        'client_secret' in fields ? { key: null } : {},
      ),
    cancelIntent: (id: string, asked?: Asked) => send(cancelPaymentIntent, { id }, asked),
    /** With a card's number, or with fields of the card that replace those of a good one. */
    confirm: (id: string, card: string | object = cards.approved, asked?: Asked) =>
      send(confirmPaymentIntent, { id, body: { payment_method: paymentMethod(card) } }, asked),
    /** Of all that is left, unless the fields say how much. */
    createRefund: (intentId: string, fields: object = {}, asked?: Asked) =>
      send(createRefund, { body: { payment_intent_id: intentId, ...fields } }, asked),
    retrieveRefund: (id: string, asked?: Asked) => send(retrieveRefund, { id }, asked),
    /** As the payer's page does it: with the client_secret and without a key. */
    confirmAsPayer: (id: string, clientSecret: string, card: string | object = cards.approved) =>
      send(
        confirmPaymentIntent,
        { id, body: { client_secret: clientSecret, payment_method: paymentMethod(card) } },
        { key: null },
      ),
  }
  return {
    ...calls,
    /** These go well, and resolve to what is shown. */
    newLink: async (fields?: object) => bodyOf(await calls.createLink(fields), 201),
    readLink: async (id: string) => bodyOf(await calls.retrieveLink(id), 200),
    newIntent: async (fields?: object) => bodyOf(await calls.createIntent(fields), 201),
    readIntent: async (id: string) => bodyOf(await calls.retrieveIntent(id), 200),
    /** Intents that are open or wait for a challenge, once for each way in which they got there. */
    async waitingIntents(fields: object = {}): Promise<string[]> {
      const ids: string[] = []
      for (const card of [undefined, cards.declined, cards.error, cards.ineligible, cards.challenge]) {
        const { id } = bodyOf(await calls.createIntent(fields), 201)
        if (card !== undefined) bodyOf(await calls.confirm(id, card), 200)
        ids.push(id)
      }
      return ids
    },
  }
}

export type Shop = ReturnType<typeof shop>

/** A branch that no other test uses, and a shop whose key sees that branch alone. */
export async function ownBranch(p: Platform): Promise<Shop & { id: string; key: string; reference: string }> {
  const merchant = await p.kaha.identity.entity(p.merchant.id)
  assert.ok(merchant)
  const name = `Own ${newKey()}`
  const branch = await createBranch(p.kaha.db, merchant, name, name, p.kaha.clock.now())
  const { secretKey: key } = await keyFor(p, branch)
  const own = shop({
    url: p.url,
    merchant: { ...p.merchant, secret_key: key },
    branch: { ...p.branch, id: branch.id, reference_number: name },
  })
  return { ...own, id: branch.id, key, reference: name }
}

const paymentMethod = (card: string | object) => ({
  type: 'card',
  card: typeof card === 'string' ? cardOf(card) : { ...cardOf(), ...card },
})

/** What a test says of a refusal in one line: its status, its code and, where a field is to blame, the field and its rule. */
export function refusal(answer: Answer | undefined): string {
  const { code, details } = answer?.json?.error ?? {}
  return [answer?.status, code, ...(details === undefined ? [] : [details.field, details.rule])].join(' ')
}

/** The body of an answer that must be a success with this status. */
export function bodyOf(answer: Answer | undefined, status: number): any {
  assert.equal(answer?.status, status, answer?.text)
  return answer?.json
}

/** How an intent, its latest attempt and the transaction of that are stored. */
export async function attemptOf(
  on: Pick<Platform, 'kaha'>,
  intentId: string,
): Promise<{ attempt: string | null; intent: string; transaction: string | null } | undefined> {
  const [row] = await rowsOf<{ attempt: string | null; intent: string; transaction: string | null }>(
    on,
    `select a.state as attempt, i.state as intent, t.status as transaction
       from payments.intents i left join payments.attempts a on a.id = i.latest_attempt_id
       left join payments.transactions t on t.id = a.id where i.id = $1`,
    [intentId],
  )
  return row
}

/** The types of all events of a platform's branch, as its merchant lists them, sorted. */
export async function eventTypesOf(on: Pick<Platform, 'sdk' | 'branch'>): Promise<string[]> {
  const events = await Array.fromAsync(on.sdk.webhooks.listAllEvents({ branch_id: on.branch.id }))
  return events.map(({ type }) => type).toSorted()
}

/** Business time so many milliseconds from now. */
export const fromNow = ({ kaha }: Pick<Platform, 'kaha'>, ms: number): string =>
  new Date(kaha.clock.now().getTime() + ms).toISOString()

const raiseOffset = statement('test.raiseOffset', 'select kernel.raise_clock_offset($1)')

/** Moves business time and waits for nobody: with no worker about, what falls due stays as it is stored. */
export async function jump({ kaha }: Pick<Platform, 'kaha'>, ms: number): Promise<void> {
  await kaha.delivery.ensurePartitions(new Date(kaha.clock.now().getTime() + ms))
  await kaha.db.run(raiseOffset, [kaha.clock.offsetMs + ms])
  await kaha.clock.refresh(kaha.db)
  kaha.bus.hint('clock')
}

/** Rows of any query, for what no operation shows. */
export const rowsOf = <Row extends object>({ kaha }: Pick<Platform, 'kaha'>, text: string, values: unknown[] = []) =>
  kaha.db.run<Row>(statement('', text), values)

/**
 * Holds something that writers need, starts requests, and lets go after `meanwhile`, which begins when every request waits for it.
 * Resolves to what the requests resolve to.
 */
export async function whileHeld<T>(
  p: Pick<Platform, 'kaha' | 'target'>,
  hold: pg.QueryConfig | string,
  requests: readonly (() => Promise<T>)[],
  meanwhile: (backends: readonly number[], holder: pg.Client) => Promise<void>,
): Promise<T[]> {
  const waiting = () =>
    rowsOf<{ pid: number }>(
      p,
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
  const holder = new pg.Client(connectionConfig(p.target))
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query(hold)
    const running = requests.map((request) => request())
    await until('every request waits', async () => (await waiting()).length >= requests.length)
    await meanwhile(
      (await waiting()).map(({ pid }) => pid),
      holder,
    )
    await holder.query('commit')
    return await Promise.all(running)
  } finally {
    await holder.end()
  }
}

/** The table takes no writes. */
export const lockOf = (table: string): string => `lock table ${table} in share row exclusive mode`

/** An api process and no worker: nothing is swept, and a call that the processor left unanswered stays so. */
export const withoutWorker = {
  settings: { KAHA_ROLES: 'api' },
  choices: { confirmWaitMsMax: 50 },
} as const

export const hourMs = 3_600_000
