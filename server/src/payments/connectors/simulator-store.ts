import { statement, type Queries } from '../../kernel/db.ts'
import type { Approval, DeclineReason, ProcessorFailure } from './connector.ts'
import type { Decision, DecisionRow, SimulatorStore } from './simulator.ts'
import type { RefundDecision } from './simulator-refunds.ts'
import { challengeStore } from './simulator-store-challenges.ts'

/** The simulated processor's memory in PostgreSQL. `db` is no transaction of the platform's: a processor commits by itself. */
export function simulatorStore({ db }: { db: Queries }): SimulatorStore {
  return {
    async find(attemptId) {
      const [row] = await db.run<Row>(findAuthorization, [attemptId])
      return row && decisionOf(row)
    },

    async record(attemptId, decided) {
      const [kept] = await db.run<Row>(recordAuthorization, [attemptId, ...valuesOf(decided)])
      // No row: another writer was first and has committed. A new statement sees its row; this one's snapshot might not.
      const row = kept ?? (await db.run<Row>(findAuthorization, [attemptId]))[0]
      if (!row) throw new Error(`The processor's record of attempt ${attemptId} vanished between two statements`)
      return decisionOf(row)
    },

    challenges: challengeStore({ db }),

    refunds: {
      async find(refundId) {
        const [row] = await db.run<RefundRow>(findRefund, [refundId])
        return row && { decision: row.outcome, answersAt: row.answers_at }
      },

      async record(refundId, { decision, answersAt }) {
        const [kept] = await db.run<RefundRow>(recordRefund, [refundId, decision, answersAt])
        // As above: no row means that another writer has committed one.
        const row = kept ?? (await db.run<RefundRow>(findRefund, [refundId]))[0]
        if (!row) throw new Error(`The processor's record of refund ${refundId} vanished between two statements`)
        return { decision: row.outcome, answersAt: row.answers_at }
      },
    },
  }
}

type RefundRow = { outcome: RefundDecision; answers_at: Date }

/** What the table's check constraints promise of each outcome. */
type Row = { answers_at: Date } & (
  | {
      outcome: 'approved'
      approval_code: string
      transaction_id: string
      reconciliation_id: string
      completed_at: Date
    }
  | { outcome: 'declined'; reason: DeclineReason }
  | { outcome: 'failed'; category: ProcessorFailure }
  | { outcome: 'none' }
)

const columns = 'outcome, reason, category, approval_code, transaction_id, reconciliation_id, completed_at, answers_at'

const findAuthorization = statement(
  'simulator.findAuthorization',
  `select ${columns} from sandbox.authorizations where attempt_id = $1`,
)

// The first writer wins, be it an authorization or an inquiry: the primary key decides, without a lock or a transaction.
const recordAuthorization = statement(
  'simulator.recordAuthorization',
  `insert into sandbox.authorizations (attempt_id, ${columns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   on conflict (attempt_id) do nothing
   returning ${columns}`,
)

const findRefund = statement(
  'simulator.findRefund',
  'select outcome, answers_at from sandbox.refunds where refund_id = $1',
)

const recordRefund = statement(
  'simulator.recordRefund',
  `insert into sandbox.refunds (refund_id, outcome, answers_at) values ($1, $2, $3)
   on conflict (refund_id) do nothing
   returning outcome, answers_at`,
)

function valuesOf({ decision, answersAt }: DecisionRow): unknown[] {
  const { approvalCode, transactionId, reconciliationId, completedAt }: Partial<Approval> =
    decision.kind === 'approved' ? decision : {}
  return [
    decision.kind,
    decision.kind === 'declined' ? decision.reason : null,
    decision.kind === 'failed' ? decision.category : null,
    approvalCode ?? null,
    transactionId ?? null,
    reconciliationId ?? null,
    completedAt ?? null,
    answersAt,
  ]
}

function decisionOf(row: Row): DecisionRow {
  return { decision: outcomeOf(row), answersAt: row.answers_at }
}

function outcomeOf(row: Row): Decision {
  switch (row.outcome) {
    case 'approved':
      return {
        kind: 'approved',
        approvalCode: row.approval_code,
        transactionId: row.transaction_id,
        reconciliationId: row.reconciliation_id,
        completedAt: row.completed_at,
      }
    case 'declined':
      return { kind: 'declined', reason: row.reason }
    case 'failed':
      return { kind: 'failed', category: row.category }
    case 'none':
      return { kind: 'none' }
  }
}
