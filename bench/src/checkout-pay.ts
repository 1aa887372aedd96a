import type pg from 'pg'
import { ratioAtLeast, type Bound } from './bounds.ts'
import { startChild } from './child.ts'
import { compare, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { HttpLoad } from './http-load-child.ts'
import { callers, shopOf } from './links.ts'
import type { Options } from './options.ts'
import type { PayLoop } from './pay-loop-child.ts'
import { openPlace } from './place.ts'

const path = '/ecom/v1/payment-intents'
const card = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }
const body = JSON.stringify({ payment_method: { type: 'card', card } })

/** Confirms over HTTP, to the answer that the payment has succeeded, against a bare loop that writes the same rows in as many transactions. */
export async function checkoutPay({ rounds, size, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir })
  const server = await place.startServer()
  const { key, branchReference } = shopOf(server)
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const post = async (to: string, sent: string): Promise<{ id: string; status: string }> => {
    const answer = await fetch(`${server.sandbox.base_url}${to}`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'the-first-payment' },
      body: sent,
    })
    return (await answer.json()) as { id: string; status: string }
  }
  const first = await post(
    path,
    JSON.stringify({ amount: 9_800, currency: 'PHP', merchant_branch_reference_number: branchReference }),
  )
  const paid = await post(`${path}/${first.id}/confirm`, body)
  if (paid.status !== 'SUCCEEDED') throw new Error(`the first payment was answered ${JSON.stringify(paid)}`)
  const event = await eventOf(place.client)

  const httpLoad = place.use(startChild('http-load-child.ts'))
  const payLoop = place.use(startChild('pay-loop-child.ts'))
  const intents = () => newIntents(place.client, first.id, size)
  const subject = {
    name: 'POST confirm',
    async run() {
      const paths = (await intents()).map((id) => `${path}/${id}/confirm`)
      const done = await httpLoad.call<Done>('run', {
        origin: server.sandbox.base_url,
        method: 'POST',
        path: paths,
        headers,
        body,
        keyed: false,
        status: 200,
        callers,
        seconds: Infinity,
      } satisfies HttpLoad)
      await assertPaid(place.client)
      return done
    },
    cpuMs: () => ({ server: cpuMsOf(server.pid), PostgreSQL: place.postgresCpuMs(), client: cpuMsOf(httpLoad.pid) }),
  }
  const yardstick = {
    name: 'bare pg loop',
    async run() {
      const intentIds = await intents()
      const done = await payLoop.call<Done>('run', {
        target: place.target,
        intentIds,
        event,
        callers,
      } satisfies PayLoop)
      await assertPaid(place.client)
      return done
    },
    cpuMs: () => ({ loop: cpuMsOf(payLoop.pid), PostgreSQL: place.postgresCpuMs() }),
  }
  console.log(
    `  ${size.toLocaleString('en')} payments a side, ${callers} callers; PostgreSQL with fsync; log level info, to a file`,
  )
  return [ratioAtLeast('rate of the bare pg loop', await compare(subject, yardstick, { rounds }), 0.4)]
}

/** So many intents like the first one, fresh, made beside the measurement. */
async function newIntents(client: pg.Client, like: string, count: number): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `insert into payments.intents (id, partner_id, merchant_id, branch_id, branch_name, amount, currency, metadata, checkout_token_hash,
       expires_at, created_at, state_at)
     select overlay(kernel.uuid_floor(clock_timestamp())::text placing substr(gen_random_uuid()::text, 20) from 20)::uuid, i.partner_id,
            i.merchant_id, i.branch_id, i.branch_name, i.amount, i.currency, i.metadata, sha256(gen_random_uuid()::text::bytea),
            i.expires_at, i.created_at, i.state_at
       from payments.intents i, generate_series(1, $2) where i.id = $1
     returning id`,
    [like, count],
  )
  await client.query('checkpoint')
  return rows.map(({ id }) => id)
}

/** Everything that was begun has succeeded: neither side may do less. */
async function assertPaid(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ unpaid: string }>(
    `select count(*) as unpaid from payments.intents i
       left join payments.transactions t on t.id = i.latest_attempt_id and t.status = 'CAPTURED' where t.id is null`,
  )
  if (Number(rows[0]?.unpaid) > 0) throw new Error(`${rows[0]?.unpaid} payments have not succeeded`)
}

/** The event of the first payment, as it is written with each. */
async function eventOf(client: pg.Client): Promise<PayLoop['event']> {
  const { rows } = await client.query<PayLoop['event']>(
    `select dialect, type, partner_id as "partnerId", merchant_id as "merchantId", branch_id as "branchId",
            payment_intent_id as "paymentIntentId", payment_link_id as "paymentLinkId", body
       from delivery.events where type = 'payment.succeeded' order by id desc limit 1`,
  )
  const [event] = rows
  if (event === undefined) throw new Error('the server has written no event of the first payment')
  return event
}
