import { tokenKey, type TokenKey } from '@kaha/qrph/token'

const keptMax = 1_000

/** Encryption keys by their ids, each made ready once; of more than a thousand the one that was asked for least lately is forgotten. */
export function createTokenKeys(): (key: { readonly id: string; readonly text: string }) => Promise<TokenKey> {
  const ready = new Map<string, Promise<TokenKey>>()
  return ({ id, text }) => {
    const known = ready.get(id) ?? tokenKey(text)
    ready.delete(id)
    for (const oldest of ready.size >= keptMax ? ready.keys().take(1) : []) ready.delete(oldest)
    ready.set(id, known)
    return known
  }
}
