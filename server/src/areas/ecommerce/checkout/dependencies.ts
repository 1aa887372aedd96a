import type { Identity } from '../../../identity/service.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Edge } from '../../../kernel/http/area.ts'
import type { RateLimit } from '../../../kernel/rate-limit.ts'
import type { Keyring } from '../../../kernel/seal.ts'
import type { EcommerceService } from '../service.ts'

export interface CheckoutDependencies {
  readonly ecommerce: EcommerceService
  readonly identity: Identity
  readonly clock: Clock
  readonly keyring: Keyring
  readonly edge: Edge
  readonly addresses: { readonly checkout: string; readonly sandbox: string }
  readonly confirmLimit: RateLimit
  readonly sandbox: boolean
}
