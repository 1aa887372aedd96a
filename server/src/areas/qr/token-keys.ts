import { tokenKey, type TokenKey } from '@kaha/qrph/token'
import { makeRoom } from '../../kernel/oldest.ts'

const keptMax = 1_000

/** Encryption keys by their ids, each made ready once; of more than a thousand the one that was asked for least lately is forgotten. */
export function createTokenKeys(): (key: { readonly id: string; readonly text: string }) => Promise<TokenKey> {
  const ready = new Map<string, Promise<TokenKey>>()
  return ({ id, text }) => {
    const known = ready.get(id) ?? tokenKey(text)
    ready.delete(id)
    makeRoom(ready, keptMax)
    ready.set(id, known)
    return known
  }
}
