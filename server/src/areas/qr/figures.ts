import type { Metrics } from '../../kernel/metrics.ts'

/** What an operator sees of the room. */
export interface QrFigures {
  /** A bank took money for a code that was final. */
  unmatched(): void
}

export function createQrFigures(metrics: Metrics): QrFigures {
  const unmatched = metrics.counter(
    'kaha_qr_unmatched_payments_total',
    'Payments that a bank took for a QR Ph code that was final: somebody has to find out whose they are.',
    [],
  )
  return { unmatched: () => unmatched.inc() }
}
