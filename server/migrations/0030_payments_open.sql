-- Payments that other rooms begin and end: they call these functions, and name no table.
alter table payments.transactions
  -- When a PENDING one is EXPIRED, whether or not anybody has stored it by then.
  add column lapses_at timestamptz,
  add constraint only_pending_lapses check (status = 'PENDING' or lapses_at is null);
create index transactions_to_lapse on payments.transactions (lapses_at) where lapses_at is not null;

-- Begins a payment, PENDING. lapses_at may be null.
-- published
create function payments.open_transaction(
  id uuid, partner_id uuid, merchant_id uuid, branch_id uuid, amount bigint, currency text, payment_method text, correlation_id uuid,
  at timestamptz, lapses_at timestamptz
) returns uuid
  language sql as $$
  insert into payments.transactions as t
    (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, correlation_id, created_at, updated_at, lapses_at)
  values ($1, $2, $3, $4, 'PENDING', $5, $6, $7, $8, $9, $9, $10)
  returning t.id
$$;

-- Ends a payment that is PENDING: CAPTURED in full, or with another end. Null where it was not PENDING any more.
-- published
create function payments.end_transaction(id uuid, status text, reference_number text, at timestamptz) returns uuid
  language sql as $$
  update payments.transactions as t
     set status = $2, updated_at = greatest(t.updated_at, $4), reference_number = $3, lapses_at = null,
         amount_authorized = case when $2 = 'CAPTURED' then t.amount else 0 end,
         amount_received = case when $2 = 'CAPTURED' then t.amount else 0 end,
         settlement_status = case when $2 = 'CAPTURED' then 'UNSETTLED' else 'NOT_APPLICABLE' end,
         captured_at = case when $2 = 'CAPTURED' then $4 end
   where t.id = $1 and t.status = 'PENDING'
  returning t.id
$$;

-- Payments that a deadline has ended and no sweeper has come by yet: how they stand, and since when.
-- published
create or replace view payments.transaction_lapses as
  select a.id, i.partner_id, i.merchant_id, i.branch_id, 'DECLINED' as status, a.challenge_expires_at as updated_at
    from payments.attempts a join payments.intents i on i.id = a.intent_id
   where a.state = 'REQUIRES_ACTION' and a.challenge_expires_at <= kernel.now() and a.challenge_expires_at < i.expires_at
  union all
  select a.id, i.partner_id, i.merchant_id, i.branch_id, 'EXPIRED', i.expires_at
    from payments.intents i join payments.attempts a on a.id = i.latest_attempt_id
   where i.state = 'ACTIVE' and i.succeeded_at is null and i.expires_at <= kernel.now()
     and a.state = 'REQUIRES_ACTION' and a.challenge_expires_at >= i.expires_at
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 'EXPIRED', t.lapses_at
    from payments.transactions t where t.lapses_at <= kernel.now();

-- What happened to a transaction, as far as its rows tell.
-- published
create or replace view payments.transaction_history as
  select t.id as transaction_id, t.partner_id, t.merchant_id, t.branch_id, 1 as step, t.id as source_id, 'CREATED' as type,
         t.created_at as at, t.amount, null as reason
    from payments.transactions t
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 2, t.id,
         case a.state when 'SUCCEEDED' then 'CAPTURED' when 'ABANDONED' then t.status else a.state end, a.state_at, t.amount, a.failure_category
    from payments.transactions t join payments.attempts a on a.id = t.id
   where a.state not in ('REQUIRES_ACTION', 'PROCESSING')
  union all
  -- One without an attempt has its end in its own row.
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 2, t.id,
         case when t.captured_at is null then t.status else 'CAPTURED' end, coalesce(t.captured_at, t.updated_at), t.amount, null
    from payments.transactions t
   where (t.status not in ('PENDING', 'VOIDED') or t.captured_at is not null) and not exists (select from payments.attempts a where a.id = t.id)
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 6, t.id, 'VOIDED', t.updated_at, t.amount, null
    from payments.transactions t
   where t.status = 'VOIDED'
  union all
  select r.transaction_id, r.partner_id, r.merchant_id, r.branch_id, 3, r.id, 'REFUND_REQUESTED', r.created_at, r.amount, r.reason
    from payments.refunds r
  union all
  select r.transaction_id, r.partner_id, r.merchant_id, r.branch_id, 4, r.id,
         case r.state when 'SUCCEEDED' then 'REFUNDED' else 'REFUND_FAILED' end, r.state_at, r.amount, r.reason
    from payments.refunds r where r.state <> 'PENDING'
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 5, t.id, 'SETTLED', t.settled_at, t.amount_received, null
    from payments.transactions t where t.settled_at is not null;
