import type { Identity } from '../../identity/service.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Cursors } from '../../kernel/cursor.ts'
import type { Db } from '../../kernel/db.ts'
import type { Keyring } from '../../kernel/seal.ts'
import type { Payments } from '../../payments/service.ts'
import type { Idempotency } from './idempotency.ts'
import { intentCases } from './service-intents.ts'
import { linkCases } from './service-links.ts'
import { refundCases } from './service-refunds.ts'

export interface EcommerceSettings {
  readonly currencies: readonly string[]
  readonly addresses: { readonly checkout: string }
  readonly sandbox: boolean
}

export interface EcommerceDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly cursors: Cursors
  readonly identity: Identity
  readonly payments: Payments
  readonly idempotency: Idempotency
  readonly settings: EcommerceSettings
}

export type EcommerceService = ReturnType<typeof createEcommerceService>

/** What a merchant and a payer can do with links, intents and refunds. */
export const createEcommerceService = (deps: EcommerceDependencies) => ({
  ...linkCases(deps),
  ...intentCases(deps),
  ...refundCases(deps),
})
