/** A challenge as the simulated issuer remembers it. It holds nothing of the card but the last four digits. */
export type HeldChallenge = {
  readonly attemptId: string
  /** Of its page: whoever has it may answer. */
  readonly token: string
  readonly returnUrl: string
  readonly payee: string
  /** Minor units. */
  readonly amount: bigint
  readonly currency: string
  readonly cardLastFour: string
  /** What the processor decides about the payment once the challenge is passed. */
  readonly decision: 'approved' | 'declined'
  /** Null until the payer has answered. */
  readonly result: ChallengeResult | null
}

export const challengeResults = ['passed', 'refused', 'unavailable'] as const
export type ChallengeResult = (typeof challengeResults)[number]

/** What the simulated issuer remembers, apart from the platform's memory. */
export type ChallengeMemory = {
  /** Keeps the challenge unless the attempt has one already; gives the one that is kept. */
  readonly open: (challenge: HeldChallenge) => Promise<HeldChallenge>
  readonly find: (attemptId: string) => Promise<HeldChallenge | undefined>
}

/** What the page of a challenge needs of that memory. */
export type ChallengeDesk = {
  readonly findByToken: (token: string) => Promise<HeldChallenge | undefined>
  /** The first answer counts: false when there was one before. */
  readonly answer: (token: string, result: ChallengeResult) => Promise<boolean>
}
