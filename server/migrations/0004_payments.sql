create schema payments;

create table payments.intents (
  id uuid primary key,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  -- As it was called then; events tell it.
  branch_name text not null,
  link_id uuid,
  amount bigint not null check (amount > 0),
  currency text not null,
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'CONSUMED', 'EXPIRED', 'CANCELLED')),
  description text,
  order_reference text,
  redirect_urls json,
  metadata json not null,
  -- SHA-256 of the token in the payer's address; the token itself is derived, never stored.
  checkout_token_hash bytea not null unique,
  -- Made by the first submission of a checkout form: a second one finds this row.
  form_nonce text,
  attempt_count integer not null default 0,
  latest_attempt_id uuid,
  expires_at timestamptz not null,
  succeeded_at timestamptz,
  created_at timestamptz not null,
  -- When `state` was reached; EXPIRED is reached at expires_at, whenever that is noticed.
  state_at timestamptz not null
);
create unique index one_intent_per_form on payments.intents (link_id, form_nonce) where form_nonce is not null;
create index intents_of_link_open on payments.intents (link_id) where state = 'ACTIVE' and succeeded_at is null;
create index intents_to_expire on payments.intents (expires_at) where state = 'ACTIVE' and succeeded_at is null;

create table payments.attempts (
  id uuid primary key,
  intent_id uuid not null references payments.intents,
  number integer not null,
  state text not null check (state in ('REQUIRES_ACTION', 'PROCESSING', 'SUCCEEDED', 'DECLINED', 'FAILED', 'ABANDONED')),
  failure_category text,
  decline_reason text,
  card_brand text,
  card_last_four text not null,
  card_fingerprint text not null,
  approval_code text,
  processor_transaction_id text,
  reconciliation_id text,
  invoice_number text,
  completed_at timestamptz,
  challenge_expires_at timestamptz,
  -- When the reconciler asks the processor next (business time), and who is asking (system time).
  run_at timestamptz,
  lease_until timestamptz,
  inquiry_count integer not null default 0,
  created_at timestamptz not null,
  -- When `state` was reached.
  state_at timestamptz not null,
  unique (intent_id, number),
  check ((state = 'SUCCEEDED') = (approval_code is not null))
);
create unique index one_success_per_intent on payments.attempts (intent_id) where state = 'SUCCEEDED';
create unique index one_open_attempt_per_intent on payments.attempts (intent_id) where state in ('PROCESSING', 'REQUIRES_ACTION');
create index attempts_to_inquire on payments.attempts (run_at) where state = 'PROCESSING';
create index attempts_to_abandon on payments.attempts (challenge_expires_at) where state = 'REQUIRES_ACTION';

create sequence payments.invoice_numbers;

-- One per payment attempt of area C, per terminal transaction of D, per QR code of E: what reporting reads.
create table payments.transactions (
  id uuid primary key,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  status text not null check (
    status in ('CAPTURED', 'AUTHORIZED', 'PENDING', 'DECLINED', 'VOIDED', 'REFUNDED', 'PARTIALLY_REFUNDED', 'FAILED',
      'EXPIRED', 'CANCELLED')
  ),
  amount bigint not null check (amount > 0),
  currency text not null,
  payment_method text not null,
  card_brand text,
  card_last_four text,
  correlation_id uuid,
  amount_authorized bigint not null default 0,
  amount_received bigint not null default 0,
  amount_refunded bigint not null default 0 check (amount_refunded <= amount_received),
  approval_code text,
  reference_number text,
  receipt_number text,
  settlement_status text not null default 'NOT_APPLICABLE' check (settlement_status in ('UNSETTLED', 'SETTLED', 'NOT_APPLICABLE')),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index transactions_of_branch on payments.transactions (branch_id, created_at, id);
create index transactions_of_merchant on payments.transactions (merchant_id, created_at, id);
create index transactions_of_partner on payments.transactions (partner_id, created_at, id);

-- published
create function payments.next_due() returns timestamptz
  language sql stable
  return least(
    (select min(i.expires_at) from payments.intents i where i.state = 'ACTIVE' and i.succeeded_at is null),
    (select min(a.run_at) from payments.attempts a where a.state = 'PROCESSING'),
    (select min(a.challenge_expires_at) from payments.attempts a where a.state = 'REQUIRES_ACTION')
  );
