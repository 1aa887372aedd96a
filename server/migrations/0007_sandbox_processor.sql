-- The simulated card processor's own memory. It stands for a system outside the platform: nothing references it, it is written in
-- transactions of its own, and it holds no card data.
create schema if not exists sandbox;

-- It belongs to the simulator among the connectors of payments, and nobody else has business here.
-- published
create table sandbox.authorizations (
  attempt_id uuid primary key,
  -- none: the platform asked before any authorization came, and was told that none exists. That answer is final, so this row
  -- stands in the way of an authorization that comes later.
  outcome text not null check (outcome in ('approved', 'declined', 'failed', 'none')),
  reason text check (reason in ('generic', 'insufficient_funds', 'lost_card', 'stolen_card', 'expired_card', 'wrong_cvc')),
  category text check (category in ('PAYMENT_PROCESSING_ERROR', 'PROCESSOR_UNAVAILABLE')),
  approval_code text check (approval_code ~ '^[0-9]{6}$'),
  transaction_id text unique,
  reconciliation_id text,
  completed_at timestamptz,
  -- Business time from which the decision is told.
  answers_at timestamptz not null,
  created_at timestamptz not null default kernel.now(),
  check ((outcome = 'declined') = (reason is not null)),
  check ((outcome = 'failed') = (category is not null)),
  check (num_nonnulls(approval_code, transaction_id, reconciliation_id, completed_at) = case when outcome = 'approved' then 4 else 0 end)
);
