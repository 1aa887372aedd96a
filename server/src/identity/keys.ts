import { randomText } from '../kernel/ids.ts'
import { countOrRefuse, type RateLimit } from '../kernel/rate-limit.ts'

export type KeyPrefix = 'sk_test_' | 'sk_live_'

export const keyPrefixOf = (mode: 'sandbox' | 'live'): KeyPrefix => (mode === 'sandbox' ? 'sk_test_' : 'sk_live_')

const secretKeyCharacters = 24
const terminalKeyCharacters = 32

/** A new secret key: 32 ASCII characters, for area E uses its bytes as a key. */
export const newSecretKey = (prefix: KeyPrefix): string => prefix + randomText(secretKeyCharacters)
/** What may be a secret key of this prefix. Anything else is not looked for. */
export const secretKeyForm = (prefix: KeyPrefix): RegExp => new RegExp(`^${prefix}[0-9A-Za-z]{${secretKeyCharacters}}$`)

/** A new API key of a till or a terminal. */
export const newTerminalKey = (): string => `tk_${randomText(terminalKeyCharacters)}`
/** What may be an API key of a till or a terminal. */
export const terminalKeyForm = new RegExp(`^tk_[0-9A-Za-z]{${terminalKeyCharacters}}$`)

/** Counts one more request with a key. Throws RATE_LIMITED over the key's rate. */
export const countKey = (rateLimit: RateLimit, keyId: string): void =>
  countOrRefuse(rateLimit, keyId, 'Too many requests with this key; slow down and try again.')
