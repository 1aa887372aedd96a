import type { Connector } from './connector.ts'

/** No processor is connected: every card payment fails, and says authoritatively that nothing was authorized. */
export const noConnector: Connector = {
  eligibility: () => 'eligible',
  verify: async () => ({ kind: 'passed' }),
  challenge: async () => ({ kind: 'none' }),
  authorize: async () => ({ kind: 'failed', category: 'PROCESSOR_UNAVAILABLE' }),
  authorizeVerified: async () => ({ kind: 'failed', category: 'PROCESSOR_UNAVAILABLE' }),
  inquire: async () => ({ kind: 'none' }),
  refund: async () => ({ kind: 'failed' }),
  inquireRefund: async () => ({ kind: 'none' }),
}
