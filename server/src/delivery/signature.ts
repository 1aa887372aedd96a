import { createHmac } from 'node:crypto'

const prefix = 'whsec_'
const secretBytesMin = 24
const secretBytesMax = 64

/** The key of a signing secret: `whsec_` and the padded standard base64 of 24 to 64 bytes (Standard Webhooks 1.0). Throws on any other text. */
export function keyOfSecret(secret: string): Buffer {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : ''
  const key = Buffer.from(encoded, 'base64')
  if (key.toString('base64') !== encoded || key.length < secretBytesMin || key.length > secretBytesMax) {
    throw new Error('a signing secret must be whsec_ and the padded base64 of 24 to 64 bytes')
  }
  return key
}

export const secretOfKey = (key: Buffer): string => prefix + key.toString('base64')

/**
 * The value of `webhook-signature` (Standard Webhooks 1.0): one `v1,` signature for each secret, in their order, separated by a space.
 * The id must not contain a dot; the timestamp is in whole seconds.
 */
export function sign(secrets: readonly string[], message: { id: string; timestamp: number; body: string }): string {
  const signed = `${message.id}.${message.timestamp}.${message.body}`
  return secrets.map((secret) => `v1,${createHmac('sha256', keyOfSecret(secret)).update(signed).digest('base64')}`).join(' ')
}
