import assert from 'node:assert/strict'
import { progressAfter, transactionMoves, type Progress } from '../src/areas/terminals/machine.ts'
import type { Answer } from './conformance/call.ts'
import type { Platform } from './platform.ts'
import { sql } from './sql.ts'
import type { shopOf } from './till.ts'

interface Row {
  readonly transaction_id: string
  readonly state: Progress['state']
  readonly given_up: Progress['givenUp']
  readonly announced: Progress['announced']
  readonly void_cause: string | null
}

const everyPayment =
  'select transaction_id, state, given_up, announced, void_cause from terminals.transactions order by id'

/** Terminals with more than one open payment that is not given up. */
export const busyTwice = `select terminal_id from terminals.transactions
  where state in ('PENDING', 'AWAITING_RECONNECT') and given_up is null group by terminal_id having count(*) > 1`

/** Written with the decision: as many as there are, and no other. One statement, so that it sees one moment. */
const unannounced = `select t.transaction_id, t.announced, e.type
  from terminals.transactions t
  full join (select body::json -> 'data' ->> 'transactionId' as id, type from delivery.events where dialect = 'terminal') e on e.id = t.transaction_id
  where t.announced is distinct from e.type`

const events = [...new Set(transactionMoves.map(({ event }) => event))]
const fresh: Progress = { state: 'PENDING', givenUp: null, announced: null }
const keyOf = ({ state, givenUp, announced }: Progress): string => `${state} ${givenUp} ${announced}`
const reaches = new Map<string, ReadonlySet<string>>()

/** Where the table leads to from here, by any number of its moves. */
function reachableFrom(from: Progress): ReadonlySet<string> {
  const known = reaches.get(keyOf(from))
  if (known !== undefined) return known
  const found = new Map([[keyOf(from), from]])
  // A map is gone through with what is added meanwhile.
  for (const progress of found.values()) {
    for (const event of events) {
      const { after: next } = progressAfter(progress, event)
      found.set(keyOf(next), next)
    }
  }
  const keys = new Set(found.keys())
  reaches.set(keyOf(from), keys)
  return keys
}

/**
 * What must hold of the payments at terminals at each step: each went where the table leads; an approval is kept or voided; who was told that there is no payment has
 * none; one webhook for each; one open payment at a terminal. In the end each has ended, and its webhook has arrived once.
 */
export async function startAudit(p: Platform, shop: ReturnType<typeof shopOf>) {
  const { receiver } = p
  const endpoint = {
    url: receiver.url,
    events: ['completed', 'failed', 'cancelled', 'timeout'].map((end) => `payment.${end}`),
  }
  const made = await shop.ask({ method: 'POST', path: '/v1/webhooks/endpoints', body: endpoint })
  assert.equal(made.status, 201, made.text)

  const begun: string[] = []
  const told = new Map<string, Answer>()
  const approved = new Set<string>()
  const stood = new Map<string, Progress>()
  let rows: Row[] = []

  const look = async () => {
    rows = await sql<Row & Record<string, unknown>>(p.kaha.db, everyPayment)
    for (const row of rows) {
      const { transaction_id: id, state, given_up: givenUp, announced } = row
      const answer = told.get(id)
      const about = `${JSON.stringify(row)}, and the till was told ${answer?.status} ${answer?.text}`
      const progress = { state, givenUp, announced }
      const before = stood.get(id) ?? fresh
      assert.ok(reachableFrom(before).has(keyOf(progress)), `no moves lead from ${keyOf(before)} to ${about}`)
      stood.set(id, progress)
      if (approved.has(id)) assert.ok(state === 'COMPLETED' || state === 'VOIDED', `approved: ${about}`)
      if (givenUp !== null) assert.notEqual(state, 'COMPLETED', about)
      if (answer !== undefined && saysUnpaid(answer)) assert.notEqual(state, 'COMPLETED', about)
      if (answer?.json.status === 'SUCCESS') {
        assert.ok(state === 'COMPLETED' || row.void_cause === 'confirmed', about)
        assert.equal(announced, 'payment.completed', about)
      }
    }
  }
  const step = async () => {
    await look()
    assert.deepEqual(await sql(p.kaha.db, busyTwice), [])
    assert.deepEqual(await sql(p.kaha.db, unannounced), [])
  }

  return {
    /** The payments that were asked for, whether they were made or not. */
    ids: (): readonly string[] => begun,
    begun: (transactionId: string) => void begun.push(transactionId),
    told: (transactionId: string, answer: Answer) => void told.set(transactionId, answer),
    /** Its terminal has reported that the money is taken. */
    approved: (transactionId: string) => void approved.add(transactionId),
    step,
    /** After everybody's time is over. */
    async end() {
      await step()
      const arrived = new Map<string, string[]>()
      for (const { body } of receiver.received) {
        const { eventType, data } = JSON.parse(body) as { eventType: string; data?: { transactionId?: string } }
        const id = data?.transactionId
        if (id !== undefined) arrived.set(id, [...(arrived.get(id) ?? []), eventType])
      }
      for (const row of rows) {
        assert.ok(!['PENDING', 'AWAITING_RECONNECT'].includes(row.state), `${JSON.stringify(row)} is still open`)
        assert.deepEqual(arrived.get(row.transaction_id), [row.announced], JSON.stringify(row))
      }
      for (const [id, { status, json, text }] of told) {
        assert.ok(status !== 200 || stood.has(id), `${id} is nowhere, and the till was told ${text}`)
        assert.ok(status !== 500, `${id}: ${text} ${String(json)}`)
      }
    },
    summary(): string {
      const codes = Object.groupBy(told.values(), ({ status, json }) =>
        String(json.error?.code ?? `${status} ${json.status}`),
      )
      const states = Object.groupBy(rows, ({ state, void_cause: cause }) =>
        cause === null ? state : `${state} ${cause}`,
      )
      const counts = (groups: Partial<Record<string, readonly unknown[]>>) =>
        Object.entries(groups)
          .map(([name, all]) => `${all?.length} ${name}`)
          .toSorted()
          .join(', ')
      return `${rows.length} payments: ${counts(states)}; tills were told ${counts(codes)}`
    },
  }
}

/** UNAVAILABLE says nothing of the payment: the till asks again. */
const saysUnpaid = ({ status, json }: Answer): boolean => status >= 400 && json?.error?.code !== 'UNAVAILABLE'
