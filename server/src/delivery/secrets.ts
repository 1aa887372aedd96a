import { randomBytes } from 'node:crypto'
import type { Keyring } from '../kernel/seal.ts'
import { secretOfKey } from './signature.ts'

const keyBytes = 32
const openedMax = 10_000

/** Where a secret is sealed to; it opens nowhere else. */
export const placeOf = (secretId: string): string => `delivery.secrets.sealed:${secretId}`

export const newSecret = (): string => secretOfKey(randomBytes(keyBytes))

/** Opens sealed secrets (base64), and remembers up to 10,000 of them: a sealed value never changes under its id. */
export function createOpenedSecrets(keyring: Keyring): (secret: { readonly id: string; readonly sealed: string }) => string {
  const opened = new Map<string, string>()
  return ({ id, sealed }) => {
    const known = opened.get(id)
    if (known !== undefined) return known
    const secret = keyring.open(Buffer.from(sealed, 'base64'), placeOf(id))
    if (opened.size >= openedMax) opened.clear()
    opened.set(id, secret)
    return secret
  }
}
