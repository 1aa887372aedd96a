import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { statement } from '../../src/kernel/db.ts'
import type { SandboxKaha } from '../../src/app.ts'
import { platform } from '../platform.ts'
import { approval, result, shopOf, signedCall, wire, type Wire } from '../till.ts'
import type { Answer } from './call.ts'

// Anything may happen to a terminal in any order, over two processes: what callers were told and what became of the money must agree.

const steps = 120
const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())

interface Row {
  readonly transaction_id: string
  readonly state: string
  readonly given_up: string | null
  readonly announced: string | null
  readonly void_cause: string | null
}
const read = statement(
  'test.rows',
  'select transaction_id, state, given_up, announced, void_cause from terminals.transactions order by id',
)
const busy = statement(
  'test.busy',
  `select terminal_id from terminals.transactions where state in ('PENDING', 'AWAITING_RECONNECT') and given_up is null
    group by terminal_id having count(*) > 1`,
)

// Written with the decision: as many as there are, and no other. One statement, so that it sees one moment.
const unannounced = statement(
  'test.unannounced',
  `select t.transaction_id, t.announced, e.type
     from terminals.transactions t
     full join (select body::json -> 'data' ->> 'transactionId' as id, type from delivery.events where dialect = 'terminal') e on e.id = t.transaction_id
    where t.announced is distinct from e.type`,
)

/** Numbers that a seed gives again. */
function numbers(seed: number) {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('whatever happens to lines, terminals and tills, whoever was told that there is no payment has none, and each payment has one webhook', async (t) => {
  const seed = Number(process.argv.find((one) => /^--seed=\d+$/.test(one))?.slice(7) ?? randomInt(2 ** 31))
  t.diagnostic(`seed ${seed}`)
  const next = numbers(seed)
  const pick = <Value>(values: readonly Value[]): Value => values[next(values.length)] as Value
  const second = await p.another()
  const processes: readonly SandboxKaha[] = [p.kaha, second]
  const device = shop.first.device_id

  const { receiver } = p
  const endpoint = {
    url: receiver.url,
    events: ['completed', 'failed', 'cancelled', 'timeout'].map((end) => `payment.${end}`),
  }
  const made = await shop.ask({ method: 'POST', path: '/v1/webhooks/endpoints', body: endpoint })
  assert.equal(made.status, 201, made.text)
  let line: Wire | undefined
  const told = new Map<string, Answer>()
  const calls: Promise<void>[] = []
  const settledLine = async () => {
    if (line !== undefined && line.closed === null) await line.settled().catch(() => {})
  }
  const latest = () =>
    line?.received.findLast(({ action }) => action === 'payment' || action === 'paymentStatus')?.transactionId as
      string | undefined
  // Mostly the payment in hand.
  const someId = (): string => (next(4) > 0 ? latest() : undefined) ?? pick(['none', ...told.keys()])

  const happenings: Readonly<Record<string, () => Promise<void>>> = {
    async pay() {
      const transactionId = randomUUID()
      const call = signedCall(pick(processes).localUrl, shop.desktop, {
        method: 'POST',
        path: `/v1/terminals/${device}/payments`,
        body: { amount: '150.00', currency: 'PHP', paymentMethod: 'CARD', transactionId },
      })
      calls.push(call.then((answer) => void told.set(transactionId, answer)))
      await settledLine()
    },
    async connect() {
      line = await wire(pick(processes).localUrl, shop.first, { deviceId: device })
      await settledLine()
    },
    async drop() {
      line?.drop()
    },
    async goodbye() {
      if (line?.closed === null) await line.close()
    },
    async result() {
      if (line?.closed !== null || line.socket.readyState !== line.socket.OPEN) return
      const more = pick([{}, {}, {}, { amount: '1.00' }, { authorizationCode: '' }])
      line.send(
        result(someId(), {
          ...approval,
          status: pick(['SUCCESS', 'SUCCESS', 'FAILED', 'CANCELLED', 'PENDING']),
          ...more,
        }),
      )
      await settledLine()
    },
    async status() {
      if (line?.closed !== null || line.socket.readyState !== line.socket.OPEN) return
      line.send({ action: 'paymentStatus', transactionId: someId(), status: pick(['PENDING', 'UNKNOWN']) })
      await settledLine()
    },
    async voidResult() {
      if (line?.closed !== null || line.socket.readyState !== line.socket.OPEN) return
      line.send({ action: 'voidResult', transactionId: someId(), success: next(2) === 0 })
      await settledLine()
    },
    async cancel() {
      await shop.cancel(someId())
    },
    async void() {
      calls.push(shop.voids(someId()).then(() => undefined))
    },
    async time() {
      await p.advance(pick([1, 10, 29, 31, 59, 61, 91, 121]))
    },
  }
  const names = Object.keys(happenings)
  const check = async () => {
    const rows = await p.kaha.db.run<Row>(read, [])
    for (const row of rows) {
      const answer = told.get(row.transaction_id)
      const about = `seed ${seed}: ${JSON.stringify(row)} and ${answer?.status} ${answer?.text}`
      if (row.given_up !== null) assert.notEqual(row.state, 'COMPLETED', about)
      if (answer !== undefined && answer.status >= 400) assert.notEqual(row.state, 'COMPLETED', about)
      if (answer?.json.status === 'SUCCESS') {
        assert.ok(row.state === 'COMPLETED' || row.void_cause === 'confirmed', about)
        assert.equal(row.announced, 'payment.completed', about)
      }
    }
    assert.deepEqual(await p.kaha.db.run(busy, []), [])
    assert.deepEqual(await p.kaha.db.run(unannounced, []), [], `seed ${seed}`)
  }
  for (let step = 0; step < steps; step += 1) {
    await happenings[pick([...names, 'pay', 'pay', 'pay', 'result', 'result', 'connect', 'connect'])]?.()
    await check()
  }
  line?.drop()
  await p.advance(25 * 3_600)
  await Promise.all(calls)
  await check()
  const rows = await p.kaha.db.run<Row>(read, [])
  const codes = Object.groupBy(told.values(), ({ status, json }) =>
    String(json.error?.code ?? `${status} ${json.status}`),
  )
  t.diagnostic(
    Object.entries(codes)
      .map(([code, all]) => `${code} ${all?.length}`)
      .join(', '),
  )
  assert.ok(rows.length > 1, 'too few payments to tell anything')
  for (const row of rows) {
    assert.ok(
      !['PENDING', 'AWAITING_RECONNECT'].includes(row.state),
      `seed ${seed}: ${JSON.stringify(row)} is still open`,
    )
    const arrived = receiver.received
      .map(({ body }) => JSON.parse(body))
      .filter(({ data }) => data?.transactionId === row.transaction_id)
    assert.deepEqual(
      arrived.map(({ eventType }) => eventType),
      [row.announced],
      `seed ${seed}: ${JSON.stringify(row)}`,
    )
  }
})
