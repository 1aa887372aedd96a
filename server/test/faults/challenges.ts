import { createKaha } from '@kaha/sdk'
import { withDatabase, type Query } from './database-of.ts'
import { eventually } from './eventually.ts'
import type { KahaProcess } from './kaha-process.ts'
import { paymentLosses } from './losses.ts'
import type { Mutation } from './mutation.ts'
import { oneInstallation } from './one-installation.ts'

/**
 * When the process is killed, after the challenge was passed: before that is written down, or with its call of the processor on the way,
 * which then arrives, or never does.
 */
type Moment = 'nothing is written down' | 'the processor has it' | 'the processor never gets it'

interface Found {
  readonly losses: readonly string[]
  readonly status: string
  /** What the link counts. */
  readonly payments: number
  /** Payments that the processor has approved. */
  readonly approved: number
}

/**
 * Kills a server (signal 9) after a payer has passed a challenge, starts another, lets the payer come back once more (`back`), or leaves
 * the reconciler alone to find out. Resolves to what is wrong when everything is at rest.
 */
export async function killedInChallenge(moment: Moment, back: boolean, mutation?: Mutation): Promise<Found> {
  await using held = new AsyncDisposableStack()
  const { target, start } = await oneInstallation(held, mutation)

  const first = await start('api')
  const { linkId, intentId, wayBack } = await passed(first)
  // Whatever writes there waits, so the call does not end.
  const place = moment === 'nothing is written down' ? 'ecommerce.link_uses' : 'sandbox.authorizations'
  await withDatabase(target, async (query) => {
    await query('begin')
    await query(`lock table ${place} in share row exclusive mode`)
    const call = visit(first, wayBack).catch(() => {})
    const backend = await withDatabase(target, (beside) => waiting(beside, place))
    await first.kill()
    await call
    // What has not reached the server when its client dies never does.
    if (moment !== 'the processor has it') await query('select pg_terminate_backend($1)', [backend])
    await query('rollback')
    await withDatabase(target, (beside) => gone(beside, backend))
    // Its lease ends as it would in 20 seconds.
    await query(
      `update payments.attempts set lease_until = clock_timestamp() - interval '1 ms' where lease_until is not null`,
    )
  })

  const second = await start('api,worker')
  // The page stands on the second server's address now.
  if (back) await Promise.all([visit(second, wayBack), visit(second, wayBack)])
  await comeToRest(second)
  const { status } = await merchant(second).paymentIntents.retrieve(intentId)
  const { successful_payment_count: payments } = await merchant(second).paymentLinks.retrieve(linkId)
  return await withDatabase(target, async (query) => {
    const [row] = await query<{ approved: number }>(
      `select count(*)::int as approved from sandbox.authorizations where outcome = 'approved'`,
    )
    return { losses: await paymentLosses(query), status, payments, approved: row?.approved ?? -1 }
  })
}

const merchant = ({ sandbox }: KahaProcess) =>
  createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.merchants[0]?.secret_key ?? '', timeoutMs: 20_000 })

const visit = ({ sandbox }: KahaProcess, path: string): Promise<Response> =>
  fetch(new URL(path, sandbox.base_url), { redirect: 'manual' })

const comeToRest = ({ sandbox }: KahaProcess) =>
  createKaha({ baseUrl: sandbox.base_url, apiKey: sandbox.partner.secret_key }).sandbox.advanceClock({ seconds: 3_600 })

/** A payer of a link who has told the bank yes, and has not come back yet. */
async function passed(kaha: KahaProcess): Promise<{ linkId: string; intentId: string; wayBack: string }> {
  const { paymentLinks, paymentIntents } = merchant(kaha)
  const link = await paymentLinks.create({
    type: 'multi_use',
    max_uses: 2,
    currency: 'PHP',
    amount: 9_800,
    line_items: [{ sku: 'MUG', name: 'Mug', unit_price: 9_800, quantity: 1 }],
    merchant_branch_reference_number: kaha.sandbox.merchants[0]?.branches[0]?.reference_number ?? '',
  })
  const intent = await paymentIntents.create({ payment_link_id: link.id })
  const card = { number: '4000002500003155', exp_month: 12, exp_year: 2060, cvc: '123' }
  const { next_action: next } = await paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
  const body = new URLSearchParams({ result: 'passed' })
  const answered = await fetch(next?.url ?? '', { method: 'POST', body, redirect: 'manual' })
  const { pathname } = new URL(answered.headers.get('location') ?? '')
  return { linkId: link.id, intentId: intent.id, wayBack: pathname }
}

/** The connection that waits for the table. */
const waiting = (query: Query, table: string): Promise<number> =>
  eventually(
    async () => {
      const [row] = await query<{ pid: number }>(
        `select l.pid from pg_locks l join pg_database d on d.oid = l.database
          where not l.granted and l.relation = $1::regclass and d.datname = current_database()`,
        [table],
      )
      return row?.pid
    },
    { what: 'the call' },
  )

/** The connection of the dead server has done what it was asked, and has ended. */
const gone = (query: Query, pid: number) =>
  eventually(async () => (await query('select 1 from pg_stat_activity where pid = $1', [pid])).length === 0, {
    what: 'the end of the call',
  })
