/** How the processor is asked about what it has not answered: payments and refunds alike. */

// A call of the processor ends before its lease does, so nobody asks about what its own call may still answer.
export const leaseSeconds = 20
export const dueRowsMax = 50
export const inquiryMsMax = 10_000
export const firstInquiryMs = 1_000
const inquiryWaitMsMax = 300_000

/** Somebody may be watching what is young; what is old is asked about ever more rarely. */
export const inquiryWaitMs = (ageMs: number): number => Math.min(inquiryWaitMsMax, Math.max(firstInquiryMs, ageMs / 20))
