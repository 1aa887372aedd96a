// Made from the migrated schema by `npm run generate`; a check compares it with the schema.

/** A row of each table as the driver gives it. */
export interface Tables {
  readonly 'delivery.attempts': {
    readonly event_id: string
    readonly destination_id: string
    readonly number: number
    readonly started_at: Date
    readonly duration_ms: number
    readonly status: number | null
    readonly error_class: string | null
    readonly error_message: string | null
    readonly owner: 'destination' | 'path' | null
    readonly request_headers: unknown
    readonly answer: string | null
  }
  readonly 'delivery.deliveries': {
    readonly event_id: string
    readonly destination_id: string
    readonly state: 'DELIVERED' | 'EXHAUSTED' | 'CLOSED'
    readonly attempt_count: number
    readonly dispatched_at: Date
    readonly ended_at: Date
  }
  readonly 'delivery.destinations': {
    readonly id: string
    readonly number: bigint
    readonly dialect: 'signed' | 'terminal' | 'encrypted'
    readonly partner_id: string
    readonly merchant_id: string | null
    readonly branch_id: string | null
    readonly group_id: string | null
    readonly owner_id: string
    readonly url: string
    readonly types: string[]
    readonly state: 'ENABLED' | 'DISABLED'
    readonly description: string | null
    readonly metadata: unknown
    readonly created_at: Date
    readonly updated_at: Date
    readonly disabled_reason: string | null
    readonly disabled_at: Date | null
    readonly deleted_at: Date | null
    readonly address: string | null
  }
  readonly 'delivery.events': {
    readonly id: string
    readonly dialect: 'signed' | 'terminal' | 'encrypted'
    readonly type: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly payment_intent_id: string | null
    readonly payment_link_id: string | null
    readonly body: string
    readonly test: boolean
    readonly created_at: Date
  }
  readonly 'delivery.hands': {
    readonly id: bigint
    readonly destination_id: string
    readonly event_ids: readonly string[]
    readonly first_event_id: string
    readonly last_event_id: string
    readonly dispatched_at: Date
    readonly lease_until: Date
  }
  readonly 'delivery.lanes': {
    readonly destination_id: string
    readonly state: 'OPEN' | 'PAUSED' | 'CLOSING' | 'CLOSED'
    readonly slow: boolean
    readonly failing_since: Date | null
    readonly look_at: Date
    readonly version: bigint
    readonly head_at: Date
  }
  readonly 'delivery.outbox': {
    readonly event_id: string
    readonly dialect: string
    readonly type: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly status: 'PENDING' | 'SUBMITTING' | 'SUBMIT_FAILED'
    readonly setback_count: number
    readonly run_at: Date
    readonly lease_until: Date | null
    readonly fence: number
    readonly created_at: Date
    readonly updated_at: Date
    readonly group_id: string | null
  }
  readonly 'delivery.queue': {
    readonly id: bigint
    readonly event_id: string
    readonly destination_id: string
    readonly attempt_no: number
    readonly attempts_before: number
    readonly setback_count: number
    readonly run_at: Date
    readonly lease_until: Date | null
    readonly fence: number
    readonly dispatched_at: Date
    readonly ended_before: boolean
  }
  readonly 'delivery.secrets': {
    readonly id: string
    readonly destination_id: string
    readonly sealed: Buffer
    readonly created_at: Date
    readonly expires_at: Date | null
  }
  readonly 'delivery.unsubscribed': {
    readonly event_id: string
    readonly at: Date
  }
  readonly 'ecommerce.idempotency': {
    readonly entity_id: string
    readonly operation: string
    readonly key: string
    readonly request_hash: Buffer
    readonly response: Buffer
    readonly expires_at: Date
  }
  readonly 'ecommerce.link_uses': {
    readonly attempt_id: string
    readonly link_id: string
    readonly state: 'RESERVED' | 'SPENT' | 'RELEASED'
  }
  readonly 'ecommerce.links': {
    readonly id: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly branch_reference_number: string
    readonly token: string
    readonly type: 'one_time' | 'multi_use'
    readonly state: 'ACTIVE' | 'CONSUMED' | 'EXPIRED' | 'CANCELLED'
    readonly amount: bigint
    readonly currency: string
    readonly line_items: unknown
    readonly description: string | null
    readonly order_reference: string | null
    readonly redirect_urls: unknown | null
    readonly metadata: unknown
    readonly max_uses: number | null
    readonly reserved_count: number
    readonly success_count: number
    readonly expires_at: Date
    readonly expiry_announced: boolean
    readonly cancelled_at: Date | null
    readonly cancellation_reason: string | null
    readonly created_at: Date
    readonly updated_at: Date
    readonly had_code: boolean
  }
  readonly 'identity.activation_codes': {
    readonly code: string
    readonly branch_id: string
    readonly created_at: Date
  }
  readonly 'identity.changes': {
    readonly only_row: boolean
    readonly version: bigint
  }
  readonly 'identity.encryption_keys': {
    readonly id: string
    readonly merchant_id: string
    readonly sealed: Buffer
    readonly created_at: Date
  }
  readonly 'identity.entities': {
    readonly id: string
    readonly level: 'partner' | 'merchant' | 'branch'
    readonly partner_id: string
    readonly merchant_id: string | null
    readonly branch_id: string | null
    readonly name: string
    readonly reference_number: string | null
    readonly state: 'ACTIVE' | 'INACTIVE' | 'LOCKED'
    readonly created_at: Date
  }
  readonly 'identity.groups': {
    readonly id: string
    readonly merchant_id: string
    readonly created_at: Date
  }
  readonly 'identity.keys': {
    readonly id: string
    readonly hash: Buffer
    readonly last_four: string
    readonly entity_id: string
    readonly scopes: string[]
    readonly state: 'ACTIVE' | 'EXPIRED' | 'REVOKED' | 'SUSPENDED' | 'DELETED'
    readonly sealed: Buffer | null
    readonly expires_at: Date | null
    readonly created_at: Date
    readonly updated_at: Date
  }
  readonly 'identity.terminal_keys': {
    readonly id: string
    readonly api_key_hash: Buffer
    readonly sealed_secret: Buffer
    readonly role: 'desktop' | 'terminal'
    readonly group_id: string
    readonly branch_id: string | null
    readonly device_id: string | null
    readonly state: 'ACTIVE' | 'EXPIRED' | 'REVOKED' | 'SUSPENDED' | 'DELETED'
    readonly created_at: Date
    readonly updated_at: Date
  }
  readonly 'kernel.clock': {
    readonly only_row: boolean
    readonly offset_ms: bigint
    readonly version: bigint
  }
  readonly 'kernel.installation': {
    readonly only_row: boolean
    readonly mode: 'sandbox' | 'live'
    readonly key_id: string
    readonly fingerprint: Buffer
    readonly created_at: Date
    readonly sealed_data_key: Buffer | null
  }
  readonly 'kernel.migrations': {
    readonly name: string
    readonly applied_at: Date
    readonly sha256: string | null
  }
  readonly 'payments.attempts': {
    readonly id: string
    readonly intent_id: string
    readonly number: number
    readonly state: 'REQUIRES_ACTION' | 'PROCESSING' | 'SUCCEEDED' | 'DECLINED' | 'FAILED' | 'ABANDONED'
    readonly failure_category: string | null
    readonly decline_reason: string | null
    readonly card_brand: string | null
    readonly card_last_four: string | null
    readonly card_fingerprint: string | null
    readonly approval_code: string | null
    readonly processor_transaction_id: string | null
    readonly reconciliation_id: string | null
    readonly invoice_number: string | null
    readonly completed_at: Date | null
    readonly challenge_expires_at: Date | null
    readonly run_at: Date | null
    readonly lease_until: Date | null
    readonly inquiry_count: number
    readonly created_at: Date
    readonly state_at: Date
    readonly method: 'card' | 'qrph'
    readonly code_text: string | null
  }
  readonly 'payments.ending_links': {
    readonly link_id: string
    readonly state: string
    readonly at: Date
  }
  readonly 'payments.intents': {
    readonly id: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly branch_name: string
    readonly link_id: string | null
    readonly amount: bigint
    readonly currency: string
    readonly state: 'ACTIVE' | 'CONSUMED' | 'EXPIRED' | 'CANCELLED'
    readonly description: string | null
    readonly order_reference: string | null
    readonly redirect_urls: unknown | null
    readonly metadata: unknown
    readonly checkout_token_hash: Buffer
    readonly form_nonce: string | null
    readonly attempt_count: number
    readonly latest_attempt_id: string | null
    readonly expires_at: Date
    readonly succeeded_at: Date | null
    readonly created_at: Date
    readonly state_at: Date
  }
  readonly 'payments.put_offs': {
    readonly id: string
    readonly failure_count: number
    readonly run_at: Date
  }
  readonly 'payments.refunds': {
    readonly id: string
    readonly intent_id: string
    readonly transaction_id: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly amount: bigint
    readonly currency: string
    readonly state: 'PENDING' | 'SUCCEEDED' | 'FAILED'
    readonly reason: string | null
    readonly run_at: Date | null
    readonly lease_until: Date | null
    readonly inquiry_count: number
    readonly created_at: Date
    readonly state_at: Date
  }
  readonly 'payments.settlement_days': {
    readonly batch_number: string
    readonly settled_at: Date
    readonly closed_at: Date | null
  }
  readonly 'payments.settlement_shares': {
    readonly branch_id: string
    readonly batch_number: string
    readonly currency: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly transaction_count: bigint
    readonly gross: bigint
    readonly refunds: bigint
  }
  readonly 'payments.transactions': {
    readonly id: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly status:
      | 'CAPTURED'
      | 'AUTHORIZED'
      | 'PENDING'
      | 'DECLINED'
      | 'VOIDED'
      | 'REFUNDED'
      | 'PARTIALLY_REFUNDED'
      | 'FAILED'
      | 'EXPIRED'
      | 'CANCELLED'
    readonly amount: bigint
    readonly currency: string
    readonly payment_method: string
    readonly card_brand: string | null
    readonly card_last_four: string | null
    readonly correlation_id: string | null
    readonly amount_authorized: bigint
    readonly amount_received: bigint
    readonly amount_refunded: bigint
    readonly approval_code: string | null
    readonly reference_number: string | null
    readonly receipt_number: string | null
    readonly settlement_status: 'UNSETTLED' | 'SETTLED' | 'NOT_APPLICABLE'
    readonly created_at: Date
    readonly updated_at: Date
    readonly amount_refund_reserved: bigint
    readonly captured_at: Date | null
    readonly settled_at: Date | null
    readonly batch_number: string | null
    readonly amount_refunded_settled: bigint
    readonly terminal_device_id: string | null
    readonly lapses_at: Date | null
  }
  readonly 'qr.codes': {
    readonly id: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly reference: string
    readonly amount: bigint
    readonly currency: string
    readonly text: string
    readonly state: 'PENDING' | 'PAID' | 'DECLINED' | 'EXPIRED'
    readonly decline_reason: string | null
    readonly created_at: Date
    readonly expires_at: Date
    readonly state_at: Date
    readonly bank_reference: string | null
  }
  readonly 'qr.unmatched_payments': {
    readonly id: string
    readonly code_id: string
    readonly code_state: string
    readonly amount: bigint
    readonly currency: string
    readonly bank_reference: string
    readonly at: Date
    readonly settled_at: Date | null
    readonly note: string | null
    readonly merchant_id: string
    readonly reference: string
  }
  readonly 'sandbox.authorizations': {
    readonly attempt_id: string
    readonly outcome: 'approved' | 'declined' | 'failed' | 'none'
    readonly reason:
      'generic' | 'insufficient_funds' | 'lost_card' | 'stolen_card' | 'expired_card' | 'wrong_cvc' | null
    readonly category: 'PAYMENT_PROCESSING_ERROR' | 'PROCESSOR_UNAVAILABLE' | null
    readonly approval_code: string | null
    readonly transaction_id: string | null
    readonly reconciliation_id: string | null
    readonly completed_at: Date | null
    readonly answers_at: Date
    readonly created_at: Date
  }
  readonly 'sandbox.challenges': {
    readonly attempt_id: string
    readonly token: string
    readonly return_url: string
    readonly payee: string
    readonly amount: bigint
    readonly currency: string
    readonly card_last_four: string
    readonly decision: 'approved' | 'declined'
    readonly result: 'passed' | 'refused' | 'unavailable' | null
    readonly created_at: Date
  }
  readonly 'sandbox.refunds': {
    readonly refund_id: string
    readonly outcome: 'refunded' | 'failed' | 'none'
    readonly answers_at: Date
    readonly created_at: Date
  }
  readonly 'sandbox.seed': {
    readonly only_row: boolean
    readonly sealed: Buffer
    readonly story_told: boolean
    readonly created_at: Date
  }
  readonly 'sandbox.terminal_tasks': {
    readonly id: string
    readonly group_id: string
    readonly device_id: string
    readonly transaction_id: string | null
    readonly task: 'approve' | 'connect'
    readonly run_at: Date
  }
  readonly 'sandbox.virtual_terminals': {
    readonly group_id: string
    readonly device_id: string
    readonly sealed: Buffer
    readonly created_at: Date
    readonly node_id: string | null
    readonly partner_id: string | null
    readonly lease_until: Date | null
    readonly asked: 'start' | 'stop' | null
  }
  readonly 'terminals.attention': {
    readonly transaction_id: string
    readonly cause: 'void_refused' | 'void_unanswered' | 'foreign_result' | 'malformed_result' | 'further_approval'
    readonly detail: string
    readonly created_at: Date
    readonly id: string
    readonly settled_at: Date | null
    readonly note: string | null
  }
  readonly 'terminals.nodes': {
    readonly id: string
    readonly beat_at: Date
  }
  readonly 'terminals.past_ids': {
    readonly group_id: string
    readonly transaction_id: string
  }
  readonly 'terminals.sockets': {
    readonly key_id: string
    readonly connection_id: string
    readonly node_id: string
    readonly group_id: string
    readonly terminal_id: string | null
    readonly connected_at: Date
    readonly dismissed: boolean
  }
  readonly 'terminals.terminals': {
    readonly id: string
    readonly group_id: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly key_id: string
    readonly device_id: string | null
    readonly connection_id: string
    readonly status: 'online' | 'reconnecting' | 'offline'
    readonly connected_at: Date
    readonly last_activity_at: Date
    readonly offline_at: Date | null
    readonly metadata: string | null
  }
  readonly 'terminals.transactions': {
    readonly id: string
    readonly group_id: string
    readonly transaction_id: string
    readonly partner_id: string
    readonly merchant_id: string
    readonly branch_id: string
    readonly terminal_id: string
    readonly device_id: string | null
    readonly addressed: string
    readonly key_id: string
    readonly way: 'http' | 'socket'
    readonly webhook_mode: boolean
    readonly request_hash: Buffer
    readonly request: string
    readonly amount: bigint
    readonly currency: string
    readonly payment_method: string
    readonly state: 'PENDING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'AWAITING_RECONNECT' | 'VOIDED'
    readonly given_up: 'TERMINAL_CONNECTION_ERROR' | 'TIMEOUT' | null
    readonly given_up_at: Date | null
    readonly announced: 'payment.completed' | 'payment.failed' | 'payment.cancelled' | 'payment.timeout' | null
    readonly sent_to: string | null
    readonly cancel_asked: boolean
    readonly outcome: 'SUCCESS' | 'FAILED' | 'CANCELLED' | null
    readonly our_code: string | null
    readonly authorization_code: string | null
    readonly error_code: string | null
    readonly error_message: string | null
    readonly receipt_data: string | null
    readonly outcome_at: Date | null
    readonly void_cause: 'late' | 'mismatch' | 'contradiction' | 'confirmed' | null
    readonly void_state: 'ASKED' | 'CONFIRMED' | 'REFUSED' | null
    readonly void_reason: string | null
    readonly void_error: string | null
    readonly void_asked_at: Date | null
    readonly void_step_s: number | null
    readonly voided_at: Date | null
    readonly complete_unseen: boolean
    readonly voided_unseen: boolean
    readonly created_at: Date
    readonly updated_at: Date
    readonly ended_at: Date | null
    readonly version: number
    readonly reach_at: Date | null
    readonly grace_at: Date | null
    readonly wait_at: Date | null
    readonly no_result_at: Date | null
    readonly cancel_at: Date | null
    readonly void_at: Date | null
    readonly run_at: Date | null
    readonly receipt_json: string | null
    readonly voided_code: string | null
  }
  readonly 'terminals.unmatched_results': {
    readonly id: string
    readonly group_id: string
    readonly terminal_id: string
    readonly transaction_id: string
    readonly amount: bigint | null
    readonly currency: string | null
    readonly detail: string
    readonly created_at: Date
    readonly settled_at: Date | null
    readonly note: string | null
  }
  readonly 'terminals.used_signatures': {
    readonly key_id: string
    readonly signature: Buffer
    readonly transaction_id: string
    readonly expires_at: Date
  }
}

/** A value of each composite type, as `recordsOf` takes it. */
export interface Records {
  readonly 'delivery.new_event': {
    readonly id: string | null
    readonly dialect: string | null
    readonly type: string | null
    readonly partner_id: string | null
    readonly merchant_id: string | null
    readonly branch_id: string | null
    readonly group_id: string | null
    readonly payment_intent_id: string | null
    readonly payment_link_id: string | null
    readonly body: string | null
    readonly at: Date | null
  }
  readonly 'payments.begun_at_terminal': {
    readonly id: string | null
    readonly partner_id: string | null
    readonly merchant_id: string | null
    readonly branch_id: string | null
    readonly amount: bigint | null
    readonly currency: string | null
    readonly payment_method: string | null
    readonly device_id: string | null
    readonly transaction_id: string | null
    readonly created_at: Date | null
  }
  readonly 'payments.changed_at_terminal': {
    readonly id: string | null
    readonly status: string | null
    readonly approval_code: string | null
    readonly at: Date | null
  }
  readonly 'terminals.asked_payment': {
    readonly place: number | null
    readonly id: string | null
    readonly group_id: string | null
    readonly transaction_id: string | null
    readonly is_chosen: boolean | null
    readonly addressed: string | null
    readonly terminal_id: string | null
    readonly here: string | null
    readonly partner_id: string | null
    readonly merchant_id: string | null
    readonly key_id: string | null
    readonly way: string | null
    readonly webhook_mode: boolean | null
    readonly request_hash: Buffer | null
    readonly request: string | null
    readonly amount: bigint | null
    readonly currency: string | null
    readonly payment_method: string | null
    readonly created_at: Date | null
    readonly reach_at: Date | null
    readonly wait_at: Date | null
    readonly signature: Buffer | null
    readonly signed_until: Date | null
  }
  readonly 'terminals.changed_transaction': {
    readonly id: string | null
    readonly group_id: string | null
    readonly before_version: number | null
    readonly before_state: string | null
    readonly held_by: string | null
    readonly updated_at: Date | null
    readonly report: string | null
    readonly state: string | null
    readonly given_up: string | null
    readonly given_up_at: Date | null
    readonly announced: string | null
    readonly sent_to: string | null
    readonly cancel_asked: boolean | null
    readonly outcome: string | null
    readonly our_code: string | null
    readonly authorization_code: string | null
    readonly error_code: string | null
    readonly error_message: string | null
    readonly receipt_data: string | null
    readonly receipt_json: string | null
    readonly outcome_at: Date | null
    readonly void_cause: string | null
    readonly void_state: string | null
    readonly void_reason: string | null
    readonly void_error: string | null
    readonly void_asked_at: Date | null
    readonly void_step_s: number | null
    readonly voided_at: Date | null
    readonly complete_unseen: boolean | null
    readonly voided_unseen: boolean | null
    readonly ended_at: Date | null
    readonly reach_at: Date | null
    readonly grace_at: Date | null
    readonly wait_at: Date | null
    readonly no_result_at: Date | null
    readonly cancel_at: Date | null
    readonly void_at: Date | null
    readonly voided_code: string | null
  }
  readonly 'terminals.new_socket': {
    readonly key_id: string | null
    readonly connection_id: string | null
    readonly node_id: string | null
    readonly group_id: string | null
    readonly terminal_id: string | null
    readonly is_new: boolean | null
    readonly branch_id: string | null
    readonly partner_id: string | null
    readonly merchant_id: string | null
    readonly device_id: string | null
  }
}

/** The types of their columns, in their order. */
export const recordTypes = {
  'delivery.new_event': {
    id: 'uuid',
    dialect: 'text',
    type: 'text',
    partner_id: 'uuid',
    merchant_id: 'uuid',
    branch_id: 'uuid',
    group_id: 'uuid',
    payment_intent_id: 'uuid',
    payment_link_id: 'uuid',
    body: 'text',
    at: 'timestamp with time zone',
  },
  'payments.begun_at_terminal': {
    id: 'uuid',
    partner_id: 'uuid',
    merchant_id: 'uuid',
    branch_id: 'uuid',
    amount: 'bigint',
    currency: 'text',
    payment_method: 'text',
    device_id: 'text',
    transaction_id: 'text',
    created_at: 'timestamp with time zone',
  },
  'payments.changed_at_terminal': {
    id: 'uuid',
    status: 'text',
    approval_code: 'text',
    at: 'timestamp with time zone',
  },
  'terminals.asked_payment': {
    place: 'integer',
    id: 'uuid',
    group_id: 'uuid',
    transaction_id: 'text',
    is_chosen: 'boolean',
    addressed: 'text',
    terminal_id: 'uuid',
    here: 'uuid',
    partner_id: 'uuid',
    merchant_id: 'uuid',
    key_id: 'uuid',
    way: 'text',
    webhook_mode: 'boolean',
    request_hash: 'bytea',
    request: 'text',
    amount: 'bigint',
    currency: 'text',
    payment_method: 'text',
    created_at: 'timestamp with time zone',
    reach_at: 'timestamp with time zone',
    wait_at: 'timestamp with time zone',
    signature: 'bytea',
    signed_until: 'timestamp with time zone',
  },
  'terminals.changed_transaction': {
    id: 'uuid',
    group_id: 'uuid',
    before_version: 'integer',
    before_state: 'text',
    held_by: 'uuid',
    updated_at: 'timestamp with time zone',
    report: 'text',
    state: 'text',
    given_up: 'text',
    given_up_at: 'timestamp with time zone',
    announced: 'text',
    sent_to: 'uuid',
    cancel_asked: 'boolean',
    outcome: 'text',
    our_code: 'text',
    authorization_code: 'text',
    error_code: 'text',
    error_message: 'text',
    receipt_data: 'text',
    receipt_json: 'text',
    outcome_at: 'timestamp with time zone',
    void_cause: 'text',
    void_state: 'text',
    void_reason: 'text',
    void_error: 'text',
    void_asked_at: 'timestamp with time zone',
    void_step_s: 'integer',
    voided_at: 'timestamp with time zone',
    complete_unseen: 'boolean',
    voided_unseen: 'boolean',
    ended_at: 'timestamp with time zone',
    reach_at: 'timestamp with time zone',
    grace_at: 'timestamp with time zone',
    wait_at: 'timestamp with time zone',
    no_result_at: 'timestamp with time zone',
    cancel_at: 'timestamp with time zone',
    void_at: 'timestamp with time zone',
    voided_code: 'text',
  },
  'terminals.new_socket': {
    key_id: 'uuid',
    connection_id: 'uuid',
    node_id: 'uuid',
    group_id: 'uuid',
    terminal_id: 'uuid',
    is_new: 'boolean',
    branch_id: 'uuid',
    partner_id: 'uuid',
    merchant_id: 'uuid',
    device_id: 'text',
  },
} as const
