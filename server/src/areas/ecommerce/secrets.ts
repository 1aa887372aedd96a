import type { Keyring } from '../../kernel/seal.ts'

/** What opens an intent without a key, derived from its id and never stored: for its merchant's page, and for the payer's. */
export const secretsOf = (keyring: Keyring, intentId: string) => ({
  clientSecret: `cs_${keyring.mac('client-secret', intentId).toString('base64url')}`,
  checkoutToken: keyring.mac('checkout-token', intentId).subarray(0, 16).toString('base64url'),
})

/** The payer's page of an intent. */
export const checkoutUrlOf = (keyring: Keyring, checkoutUrl: string, intentId: string): string =>
  `${checkoutUrl}/i/${secretsOf(keyring, intentId).checkoutToken}`

/** Where the payer comes back to from the challenge of an attempt. */
export const challengeReturnUrl = (
  keyring: Keyring,
  checkoutUrl: string,
  intentId: string,
  attemptId: string,
): string => `${checkoutUrlOf(keyring, checkoutUrl, intentId)}/challenge/${attemptId}`
