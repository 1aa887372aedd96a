/** How the processor is asked about what it has not answered: payments and refunds alike. */
import { allOver } from '../kernel/all-over.ts'
import type { Db, Queries } from '../kernel/db.ts'
import { createPace } from '../kernel/pace.ts'

// A call of the processor ends before its lease does, so nobody asks about what its own call may still answer.
export const leaseSeconds = 20
export const dueRowsMax = 50
const inquiryMsMax = 10_000
export const firstInquiryMs = 1_000
const inquiryWaitMsMax = 300_000

/** Somebody may be watching what is young; what is old is asked about ever more rarely. */
const inquiryWaitMs = (ageMs: number): number => Math.min(inquiryWaitMsMax, Math.max(firstInquiryMs, ageMs / 20))

interface Asked {
  readonly id: string
  readonly age_ms: number
}

/** What is asked about, `Due`, and what the processor may say of it, `Outcome`. */
export interface InquiriesDependencies<Due extends Asked, Outcome extends { readonly kind: string }> {
  readonly db: Db
  readonly store: {
    claimInquiries(on: Queries, rowsMax: number, leaseSeconds: number): Promise<readonly Due[]>
    postponeInquiry(on: Queries, id: string, ms: number): Promise<unknown>
    nextInquiry(on: Queries): Promise<number>
  }
  readonly ask: (id: string, signal: AbortSignal) => Promise<Outcome>
  readonly settle: (due: Due, outcome: Outcome) => Promise<unknown>
}

/** Gives one round of questions: what is due is claimed, asked about and settled, or asked about again later. Resolves to ms until the next. */
export function createInquiries<Due extends Asked, Outcome extends { readonly kind: string }>({
  db,
  store,
  ask,
  settle,
}: InquiriesDependencies<Due, Outcome>): () => Promise<number> {
  const pace = createPace()

  const inquire = async (due: Due): Promise<void> => {
    // A question that fails has told nothing.
    const outcome = await ask(due.id, AbortSignal.timeout(inquiryMsMax)).catch(() => null)
    const waitMs = inquiryWaitMs(due.age_ms)
    if (outcome === null || outcome.kind === 'pending') return void (await store.postponeInquiry(db, due.id, waitMs))
    try {
      await settle(due, outcome)
    } catch (error) {
      // The lease alone would have it asked about as often when it is old. Where this fails as well, the lease it is.
      await store.postponeInquiry(db, due.id, Math.max(leaseSeconds * 1_000, waitMs)).catch(() => {})
      throw error
    }
  }

  return async () => {
    const due = await store.claimInquiries(db, dueRowsMax, leaseSeconds)
    // However many fail, no further ones are asked about before these are over.
    await allOver(due.map(inquire))
    const waitMs = due.length === dueRowsMax ? 0 : await store.nextInquiry(db)
    return pace({ moved: due.length > 0, waitMs })
  }
}
