import { statement, type Queries } from '../../kernel/db.ts'
import type { ChallengeDesk, ChallengeMemory, ChallengeResult, HeldChallenge } from './simulator-challenges.ts'

/** The simulated issuer's memory of its challenges in PostgreSQL. `db` is no transaction of the platform's. */
export function challengeStore({ db }: { db: Queries }): ChallengeMemory & ChallengeDesk {
  const find = async (attemptId: string): Promise<HeldChallenge | undefined> =>
    heldOf((await db.run<Row>(findChallenge, [attemptId]))[0])
  return {
    find,

    async open(challenge) {
      const { attemptId, token, returnUrl, payee, amount, currency, cardLastFour, decision } = challenge
      await db.run(openChallenge, [attemptId, token, returnUrl, payee, amount, currency, cardLastFour, decision])
      // A statement of its own: it sees what another writer has committed.
      const held = await find(attemptId)
      if (held === undefined) throw new Error(`The challenge of attempt ${attemptId} vanished between two statements`)
      return held
    },

    findByToken: async (token) => heldOf((await db.run<Row>(findChallengeByToken, [token]))[0]),

    answer: async (token, result) => (await db.run(answerChallenge, [token, result])).length === 1,
  }
}

type Row = {
  attempt_id: string
  token: string
  return_url: string
  payee: string
  amount: bigint
  currency: string
  card_last_four: string
  decision: 'approved' | 'declined'
  result: ChallengeResult | null
}

const columns = 'attempt_id, token, return_url, payee, amount, currency, card_last_four, decision, result'

const findChallenge = statement(
  'simulator.findChallenge',
  `select ${columns} from sandbox.challenges where attempt_id = $1`,
)

const findChallengeByToken = statement(
  'simulator.findChallengeByToken',
  `select ${columns} from sandbox.challenges where token = $1`,
)

const openChallenge = statement(
  'simulator.openChallenge',
  `insert into sandbox.challenges (attempt_id, token, return_url, payee, amount, currency, card_last_four, decision)
   values ($1, $2, $3, $4, $5, $6, $7, $8)
   on conflict (attempt_id) do nothing`,
)

const answerChallenge = statement(
  'simulator.answerChallenge',
  `update sandbox.challenges set result = $2 where token = $1 and result is null returning attempt_id`,
)

const heldOf = (row: Row | undefined): HeldChallenge | undefined =>
  row && {
    attemptId: row.attempt_id,
    token: row.token,
    returnUrl: row.return_url,
    payee: row.payee,
    amount: row.amount,
    currency: row.currency,
    cardLastFour: row.card_last_four,
    decision: row.decision,
    result: row.result,
  }
