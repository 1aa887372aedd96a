import { makeRoom } from '../../../kernel/oldest.ts'

const earlyMax = 1_000

export interface Early<Value> {
  /** Keeps the last that came for a connection; of many connections the oldest is forgotten. */
  note(connectionId: string, value: Value): void
  /** What came for a connection whose socket is here now. */
  take(connectionId: string): Value | undefined
}

/**
 * What came by word for connections that have no socket here: most are another process's, and of some the word was ahead of the database's
 * answer that they are registered.
 */
export function createEarly<Value>(): Early<Value> {
  const kept = new Map<string, Value>()
  return {
    note(connectionId, value) {
      kept.delete(connectionId)
      makeRoom(kept, earlyMax)
      kept.set(connectionId, value)
    },
    take(connectionId) {
      const value = kept.get(connectionId)
      kept.delete(connectionId)
      return value
    },
  }
}
