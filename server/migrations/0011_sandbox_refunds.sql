-- The simulated processor's own memory of refunds, beside that of its authorizations.
-- published
create table sandbox.refunds (
  refund_id uuid primary key,
  -- none: the platform asked before any refund came, and was told that none exists. That answer is final, so this row stands in the
  -- way of a refund that comes later.
  outcome text not null check (outcome in ('refunded', 'failed', 'none')),
  -- Business time from which the outcome is told.
  answers_at timestamptz not null,
  created_at timestamptz not null default kernel.now()
);
