import type { Db } from '../../kernel/db.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import { qrStore as store } from './store.ts'

/** What an operator sees of the room. */
export interface QrFigures {
  /** A bank took money for a code that was final. */
  unmatched(): void
}

export function createQrFigures(metrics: Metrics, db: Db): QrFigures {
  const unmatched = metrics.counter(
    'kaha_qr_unmatched_payments_total',
    'Payments that a bank took for a QR Ph code that was final: somebody has to find out whose they are.',
    [],
  )
  metrics.gauge(
    'kaha_qr_unmatched_open',
    'Such payments that nobody has settled, the same in every process with the role api.',
    () => store.openUnmatched(db),
  )
  return { unmatched: () => unmatched.inc() }
}
