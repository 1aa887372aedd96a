import { randomUUID } from 'node:crypto'
import { createKaha } from '@kaha/sdk'
import { withDatabase, type Query } from './database-of.ts'
import { eventually } from './eventually.ts'
import type { KahaProcess } from './kaha-process.ts'
import { refundLosses } from './losses.ts'
import type { Mutation } from './mutation.ts'
import { oneInstallation } from './one-installation.ts'

const received = 9_800
const asked = 4_000

/** When the process is killed: with its call of the processor on the way, which then arrives, or never does. */
type Moment = 'the processor has it' | 'the processor never gets it'

interface Found {
  readonly losses: readonly string[]
  readonly status: string
  /** Refunds that the processor has made. */
  readonly made: number
}

/**
 * Kills a server (signal 9) while it waits for the processor's answer about a refund and starts another. Then the merchant repeats the
 * refund with its key (`retry`), or the reconciler alone is left to find out. Resolves to what is wrong afterwards.
 */
export async function killedInRefund(moment: Moment, retry: boolean, mutation?: Mutation): Promise<Found> {
  await using held = new AsyncDisposableStack()
  const { target, start } = await oneInstallation(held, mutation)

  const first = await start('api')
  const intentId = await paid(first)
  const body = { payment_intent_id: intentId, amount: asked, reason: 'One of two' }
  const idempotencyKey = randomUUID()
  await withDatabase(target, async (query) => {
    // The processor cannot write anything down, so its call does not end.
    await query('begin')
    await query('lock table sandbox.refunds in share row exclusive mode')
    const call = merchant(first)
      .refunds.create(body, { idempotencyKey })
      .catch(() => {})
    const [backend = 0] = await withDatabase(target, (beside) => waiting(beside))
    await first.kill()
    await call
    if (moment === 'the processor never gets it') await query('select pg_terminate_backend($1)', [backend])
    await query('rollback')
    await withDatabase(target, (beside) => gone(beside, backend, moment))
    // Its lease ends as it would in 20 seconds.
    await query(
      `update payments.refunds set lease_until = clock_timestamp() - interval '1 ms' where lease_until is not null`,
    )
  })

  const second = await start(retry ? 'api' : 'api,worker')
  if (retry) await merchant(second).refunds.create(body, { idempotencyKey })
  else await comeToRest(second)
  return await withDatabase(target, async (query) => {
    const [row] = await query<{ made: number }>(
      `select count(*)::int as made from sandbox.refunds where outcome = 'refunded'`,
    )
    const [stored] = await query<{ state: string }>(
      'select state from payments.refunds order by created_at desc limit 1',
    )
    return { losses: await refundLosses(query), status: stored?.state ?? 'none', made: row?.made ?? -1 }
  })
}

const comeToRest = ({ sandbox }: KahaProcess) =>
  createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.partner.secret_key }).sandbox.advanceClock({ seconds: 3_600 })

const merchant = ({ sandbox }: KahaProcess) =>
  createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.merchants[0]?.secret_key ?? '', timeoutMs: 20_000 })

async function paid(kaha: KahaProcess): Promise<string> {
  const { paymentIntents } = merchant(kaha)
  const { id } = await paymentIntents.create({
    amount: received,
    currency: 'PHP',
    merchant_branch_reference_number: kaha.sandbox.merchants[0]?.branches[0]?.reference_number ?? '',
  })
  const card = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }
  await paymentIntents.confirm(id, { payment_method: { type: 'card', card } })
  return id
}

/** The connections that wait for the processor's table; in a database of the same template it has the same number. */
const waiting = (query: Query) =>
  eventually(
    async () => {
      const rows = await query<{ pid: number }>(
        `select l.pid from pg_locks l join pg_database d on d.oid = l.database
          where not l.granted and l.relation = 'sandbox.refunds'::regclass and d.datname = current_database()`,
      )
      return rows.length > 0 && rows.map(({ pid }) => pid)
    },
    { what: 'the call of the processor' },
  )

/** The connection of the dead server has done what it was asked, or has ended. */
const gone = (query: Query, pid: number, moment: Moment) =>
  eventually(
    async () => {
      if (moment === 'the processor has it')
        return (await query(`select 1 from sandbox.refunds where outcome = 'refunded'`)).length > 0
      return (await query('select 1 from pg_stat_activity where pid = $1', [pid])).length === 0
    },
    { what: 'the end of the call' },
  )
