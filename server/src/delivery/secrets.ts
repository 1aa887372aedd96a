import { randomBytes, type KeyObject } from 'node:crypto'
import { makeRoom } from '../kernel/oldest.ts'
import type { Keyring } from '../kernel/seal.ts'
import { keyOfSecret, secretOfBytes } from './signature.ts'
import { placeOf } from './store-destinations.ts'

const keyBytes = 32
const openedMax = 10_000

export const newSecret = (): string => secretOfBytes(randomBytes(keyBytes))

/** The keys of sealed secrets (base64). Up to 10,000 are remembered: what is sealed under an id never changes. */
export function createOpenedSecrets(
  keyring: Keyring,
): (secret: { readonly id: string; readonly sealed: string }) => KeyObject {
  const opened = new Map<string, KeyObject>()
  return ({ id, sealed }) => {
    const known = opened.get(id)
    if (known !== undefined) return known
    const key = keyOfSecret(keyring.open(Buffer.from(sealed, 'base64'), placeOf(id)))
    makeRoom(opened, openedMax)
    opened.set(id, key)
    return key
  }
}
