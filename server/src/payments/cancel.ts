import type { Clock } from '../kernel/clock.ts'
import type { Queries } from '../kernel/db.ts'
import { Fault } from '../kernel/fault.ts'
import { intentOf, storedOf, type Intent } from './intent.ts'
import type { createAttempts } from './attempts.ts'
import { endIntent } from './machine.ts'
import type { PaymentOwner } from './owner.ts'
import { asOf } from './projection.ts'
import { paymentsStore as store } from './store.ts'

/**
 * Ends an intent at its merchant's word, with a challenge or a code that is open on it; one that is CANCELLED stays as it is. Takes the
 * link's lock, then the intent's: a code may be shown until then. Throws INTENT_PROCESSING, INTENT_INVALID_STATE.
 */
export async function cancelIntent(
  tx: Queries,
  {
    clock,
    attempts,
    owner,
  }: {
    clock: Clock
    attempts: Pick<ReturnType<typeof createAttempts>, 'readRow' | 'releaseCode' | 'storeOverdue'>
    owner: Pick<PaymentOwner, 'hold'>
  },
  id: string,
): Promise<Intent> {
  const { link_id: linkId } = await attempts.readRow(tx, id)
  if (linkId !== null) await owner.hold(tx, linkId)
  await attempts.storeOverdue(tx, id, 'code_expired')
  await store.lockIntent(tx, id)
  const row = await attempts.readRow(tx, id)
  const { state, latest, succeededAt } = asOf(storedOf(row), row.read_at)
  const end = endIntent({ state, latest: latest?.state ?? null, succeeded: succeededAt !== null }, 'merchant_cancels')
  if ('refusal' in end && end.refusal === 'INTENT_PROCESSING') {
    throw new Fault(end.refusal, 'A payment of this intent is being processed; retrieve the intent for its outcome.')
  }
  if ('refusal' in end) throw ended(intentOf(row).shown.status)
  if (state === 'CANCELLED') return intentOf(row)
  await attempts.releaseCode(tx, row)
  if (!(await store.cancelIntent(tx, id, clock.now()))) throw ended('EXPIRED')
  return intentOf(await attempts.readRow(tx, id))
}

const ended = (status: string) =>
  new Fault('INTENT_INVALID_STATE', `This intent is ${status}; it cannot be cancelled any more.`)
