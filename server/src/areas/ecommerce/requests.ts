import type { LineItem } from './store.ts'

export interface OfPayment {
  readonly description?: string
  readonly order_reference?: string
  readonly redirect_urls?: { readonly success?: string; readonly declined?: string; readonly expired?: string }
  readonly metadata?: Readonly<Record<string, string>>
  readonly expires_at?: string
  readonly merchant_branch_reference_number?: string
}

export interface NewLink extends OfPayment {
  readonly type: 'one_time' | 'multi_use'
  readonly currency: string
  readonly amount: number
  readonly line_items: readonly LineItem[]
  readonly max_uses?: number | null
}

/** What is left out stays; null removes. */
export interface LinkChange {
  readonly description?: string | null
  readonly order_reference?: string | null
  readonly redirect_urls?: {
    readonly success?: string | null
    readonly declined?: string | null
    readonly expired?: string | null
  }
  readonly max_uses?: number | null
  readonly expires_at?: string
  readonly metadata?: Readonly<Record<string, string>>
}

export interface NewIntentRequest extends OfPayment {
  readonly amount?: number
  readonly currency?: string
  readonly payment_link_id?: string
}

export interface NewRefundRequest {
  readonly payment_intent_id: string
  readonly amount?: number
  readonly reason?: string
}

export interface LinkQuery {
  readonly status?: readonly string[]
  readonly merchant_branch_reference_number?: string
  readonly date_from?: string
  readonly date_to?: string
  readonly page_size?: number
  readonly cursor?: string
}
