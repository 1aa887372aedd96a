-- What open refunds hold back of a payment. Together with what was refunded it never exceeds what was received: the row itself sees to it.
alter table payments.transactions
  add column amount_refund_reserved bigint not null default 0 check (amount_refund_reserved >= 0),
  add constraint refunds_within_received check (amount_refunded + amount_refund_reserved <= amount_received);

create table payments.refunds (
  id uuid primary key,
  intent_id uuid not null references payments.intents,
  -- The attempt that was paid, and its transaction.
  transaction_id uuid not null references payments.transactions,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  state text not null check (state in ('PENDING', 'SUCCEEDED', 'FAILED')),
  reason text,
  -- When the reconciler asks the processor next (business time), and who is calling or asking (system time).
  run_at timestamptz,
  lease_until timestamptz,
  inquiry_count integer not null default 0,
  created_at timestamptz not null,
  -- When `state` was reached.
  state_at timestamptz not null,
  check ((state = 'PENDING') = (run_at is not null))
);
create index refunds_of_transaction on payments.refunds (transaction_id, id);
create index refunds_to_inquire on payments.refunds (run_at) where state = 'PENDING';

-- published
create or replace function payments.next_due() returns timestamptz
  language sql stable
  return least(
    (select min(i.expires_at) from payments.intents i where i.state = 'ACTIVE' and i.succeeded_at is null),
    (select min(a.run_at) from payments.attempts a where a.state = 'PROCESSING'),
    (select min(a.challenge_expires_at) from payments.attempts a where a.state = 'REQUIRES_ACTION'),
    (select min(r.run_at) from payments.refunds r where r.state = 'PENDING')
  );
