import { isAway } from './db.ts'

/** Of several failures the one to tell: a defect before that the database is away, of which a loop says nothing; else the first. */
export const foremost = (failures: readonly unknown[]): unknown =>
  failures.find((failure) => !isAway(failure)) ?? failures[0]

/** As Promise.all, but for when it fails: once none of these goes on any more, and with the foremost of all failures. */
export async function allOver<Work extends readonly unknown[] | []>(
  work: Work,
): Promise<{ -readonly [Place in keyof Work]: Awaited<Work[Place]> }> {
  const done = await Promise.allSettled(work)
  const failures = done.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  if (failures.length > 0) throw foremost(failures)
  return done.map((one) => (one as PromiseFulfilledResult<unknown>).value) as {
    -readonly [Place in keyof Work]: Awaited<Work[Place]>
  }
}
