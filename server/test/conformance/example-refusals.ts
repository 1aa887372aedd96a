import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import { freshDatabase } from '../cluster.ts'
import { platform, type Platform } from '../platform.ts'
import { startPostgresProxy } from '../postgres-proxy.ts'
import { call, type Answer, type Call } from './call.ts'
import { assertShown, requestOf, type ShownAnswer, type ShownOperation } from './examples.ts'
import { keyFor } from './people.ts'

/** One refusal that a document shows: of an operation, with a status, under a name. */
export interface ShownRefusal {
  readonly shown: ShownOperation
  readonly answer: ShownAnswer
  readonly name: string
}

/** All refusals that an operation shows. A status without an example fails. */
export function refusalsIn(shown: ShownOperation): ShownRefusal[] {
  return shown.answers
    .filter(({ status }) => status >= 400)
    .flatMap((answer) => {
      assert.ok(answer.examples.size > 0, `${shown.id} shows no ${answer.status}`)
      return [...answer.examples.keys()].map((name) => ({ shown, answer, name }))
    })
}

/** How a right request becomes one that is refused so; a refusal needs more than that where it resolves to the answer itself. */
export type Provoke = (right: () => Promise<Call>, refusal: ShownRefusal) => Promise<Call | Answer>

/** As a request, with these properties in its body, or in its query where it has no body. */
export const saying =
  (fields: Readonly<Record<string, unknown>>): Provoke =>
  async (right) => {
    const { body, ...rest } = await right()
    if (rest.method !== 'GET') return { ...rest, body: { ...(body as object | undefined), ...fields } }
    const query = new URLSearchParams(rest.path.split('?')[1])
    for (const [name, value] of Object.entries(fields)) query.set(name, String(value))
    return { ...rest, path: `${rest.path.split('?')[0]}?${query.toString()}` }
  }

/** Refusals that every operation of an area gives in the same way. */
export function commonProvocations(p: Platform): Readonly<Record<string, Provoke>> {
  return {
    '400 BAD_REQUEST': saying({ surprise: 1 }),
    '401 UNAUTHORIZED': async (right) => ({ ...(await right()), key: `sk_test_${'0'.repeat(24)}` }),
    '403 FORBIDDEN': async (right) => {
      const second = p.seed.merchants[1]
      assert.ok(second)
      await p.kaha.db.run(statement('test.account', `update identity.entities set state = 'INACTIVE' where id = $1`), [
        second.id,
      ])
      return { ...(await right()), key: second.secret_key }
    },
    '413 PAYLOAD_TOO_LARGE': async (right) => {
      const { body: _, ...rest } = await right()
      return { ...rest, bytes: ' '.repeat(256 * 1024 + 1) }
    },
    '415 UNSUPPORTED_MEDIA_TYPE': async (right) => {
      const request = await right()
      return { ...request, body: request.body ?? {}, headers: { ...request.headers, 'content-type': 'text/plain' } }
    },
  }
}

/** A test for each operation: every refusal that it shows is provoked and given. */
export function refusesAsShown(
  operations: readonly ShownOperation[],
  provocations: Readonly<Record<string, Provoke>>,
  { right, ask }: { right(shown: ShownOperation): Promise<Call>; ask(request: Call): Promise<Answer> },
): void {
  for (const shown of operations) {
    test(`the refusals that ${shown.id} shows are given as they are shown`, async () => {
      const refusals = refusalsIn(shown).filter(({ answer }) => !brokenStatuses.includes(answer.status))
      assert.ok(refusals.length > 0)
      for (const refusal of refusals) {
        const named = `${refusal.answer.status} ${refusal.name}`
        const provoke = provocations[named]
        assert.ok(provoke, `say in this file how ${named} comes about`)
        const got = await provoke(() => right(shown), refusal)
        assertShown(refusal.answer, refusal.name, 'text' in got ? got : await ask(got), new Map())
      }
    })
  }
}

/** Those that need a platform that is in no state to do anything. They come before a request is read. */
const brokenStatuses: readonly number[] = [429, 500, 503]

/** Gives the refusals of operations that a key over its rate, a defect of ours and a database that is away bring about. */
export async function assertBroken(
  t: TestContext,
  status: 429 | 500 | 503,
  operations: readonly ShownOperation[],
): Promise<void> {
  const { p, newKey } = await brokenBy[status](t)
  for (const { shown, answer, name } of operations.flatMap(refusalsIn).filter((one) => one.answer.status === status)) {
    const request = requestOf(shown, new Map(), { key: await newKey(p, shown.id) })
    // One that counts only those before it.
    if (status === 429) for (let sent = 0; sent < 2; sent += 1) await call(p.url, request)
    assertShown(answer, name, await call(p.url, request), new Map())
  }
}

interface Broken {
  readonly p: Platform
  /** A key that nobody has seen before. */
  readonly newKey: (p: Platform, operation: string) => Promise<string>
}

const anyKey = async (_p: Platform, operation: string) => `sk_test_${operation.padEnd(24, '0').slice(0, 24)}`

const brokenBy: Readonly<Record<429 | 500 | 503, (t: TestContext) => Promise<Broken>>> = {
  429: async (t) => {
    const frozen = Date.now()
    const p = await platform(t, { settings: { KAHA_RATE_LIMIT: '1' }, choices: { wall: () => frozen } })
    return { p, newKey: async () => (await keyFor(p, { id: p.merchant.id, level: 'merchant' })).secretKey }
  },
  500: async (t) => {
    const p = await platform(t)
    await p.kaha.db.run(statement('test.break', 'alter table identity.keys rename to lost_table_of_keys'), [])
    return { p, newKey: anyKey }
  },
  503: async (t) => {
    const database = await freshDatabase()
    t.after(() => database[Symbol.asyncDispose]())
    const proxy = await startPostgresProxy(database.target)
    const p = await platform(t, { database: proxy.target })
    t.after(() => proxy[Symbol.asyncDispose]())
    proxy.becomes('closed')
    return { p, newKey: anyKey }
  },
}
