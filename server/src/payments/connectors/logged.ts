import type { Log } from '../../kernel/log.ts'
import type { Connector } from './connector.ts'

/**
 * The same connector, with a line in the log for each call that rejects: who calls goes on without an answer, and the cause would be told
 * nowhere. Of what was sent the line has the id of the attempt or refund alone.
 */
export function withFailuresLogged(connector: Connector, log: Log): Connector {
  const { verify, challenge, authorize, authorizeVerified, inquire, refund, inquireRefund } = connector
  const logging = async <Answer>(call: keyof Connector, id: string, answer: Promise<Answer>): Promise<Answer> => {
    try {
      return await answer
    } catch (error) {
      log.warn({ err: error, call, id }, 'the processor gave no answer')
      throw error
    }
  }
  return {
    eligibility: connector.eligibility,
    verify: (payment) => logging('verify', payment.attemptId, verify(payment)),
    challenge: (id, signal) => logging('challenge', id, challenge(id, signal)),
    authorize: (payment) => logging('authorize', payment.attemptId, authorize(payment)),
    authorizeVerified: (payment) => logging('authorizeVerified', payment.attemptId, authorizeVerified(payment)),
    inquire: (id, signal) => logging('inquire', id, inquire(id, signal)),
    refund: (one) => logging('refund', one.refundId, refund(one)),
    inquireRefund: (id, signal) => logging('inquireRefund', id, inquireRefund(id, signal)),
  }
}
