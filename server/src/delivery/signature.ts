import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const prefix = 'whsec_'
const keyBytesMin = 24
const keyBytesMax = 64

/** The key of a signing secret: `whsec_` and the padded standard base64 of 24 to 64 bytes (Standard Webhooks 1.0). Throws on any other text. */
export function keyOfSecret(secret: string): KeyObject {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : ''
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded || bytes.length < keyBytesMin || bytes.length > keyBytesMax) {
    throw new Error('a signing secret must be whsec_ and the padded base64 of 24 to 64 bytes')
  }
  return createSecretKey(bytes)
}

export const secretOfBytes = (bytes: Buffer): string => prefix + bytes.toString('base64')

/**
 * The value of `webhook-signature` (Standard Webhooks 1.0): one `v1,` signature for each key, in their order, separated by a space.
 * The id must not contain a dot; the timestamp is in whole seconds.
 */
export function sign(keys: readonly KeyObject[], message: { id: string; timestamp: number; body: string }): string {
  const signed = `${message.id}.${message.timestamp}.${message.body}`
  return keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ')
}
