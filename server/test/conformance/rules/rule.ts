/** One promise of the contract. `pending` names the capability that will bring it; without it the promise is kept today. */
export interface Rule {
  readonly says: string
  readonly pending?: string
}

export type Rules = Readonly<Record<string, Rule>>

/** Rules that the platform keeps today: each needs a test that names it. */
export function built(sentences: Readonly<Record<string, string>>): Rules {
  return Object.fromEntries(Object.entries(sentences).map(([id, says]) => [id, { says }]))
}

/** Rules that wait for a capability, in a short phrase. */
export function later(pending: string, sentences: Readonly<Record<string, string>>): Rules {
  return Object.fromEntries(Object.entries(sentences).map(([id, says]) => [id, { says, pending }]))
}

/** Joins lists of rules, and throws where two lists name the same id, which a spread would hide. */
export function joined(...lists: readonly Rules[]): Rules {
  const all: Record<string, Rule> = {}
  for (const list of lists) {
    for (const [id, rule] of Object.entries(list)) {
      if (Object.hasOwn(all, id)) throw new Error(`the rule ${id} is listed twice`)
      all[id] = rule
    }
  }
  return all
}
