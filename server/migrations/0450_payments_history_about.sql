-- What happened to a transaction, as far as its rows tell, and which other thing it is about: the intent of an attempt, or a refund. Why a refund was wanted is
-- not why it failed.
-- published
create or replace view payments.transaction_history as
  select t.id as transaction_id, t.partner_id, t.merchant_id, t.branch_id, 1 as step, t.id as source_id, 'CREATED' as type,
         t.created_at as at, t.amount, null as reason, a.intent_id as about_id
    from payments.transactions t left join payments.attempts a on a.id = t.id
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 2, t.id,
         case a.state when 'SUCCEEDED' then 'CAPTURED' when 'ABANDONED' then t.status else a.state end, a.state_at, t.amount, a.failure_category, null
    from payments.transactions t join payments.attempts a on a.id = t.id
   where a.state not in ('REQUIRES_ACTION', 'PROCESSING')
  union all
  -- One without an attempt has its end in its own row.
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 2, t.id,
         case when t.captured_at is null then t.status else 'CAPTURED' end, coalesce(t.captured_at, t.updated_at), t.amount, null, null
    from payments.transactions t
   where (t.status not in ('PENDING', 'VOIDED') or t.captured_at is not null) and not exists (select from payments.attempts a where a.id = t.id)
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 6, t.id, 'VOIDED', t.updated_at, t.amount, null, null
    from payments.transactions t
   where t.status = 'VOIDED'
  union all
  select r.transaction_id, r.partner_id, r.merchant_id, r.branch_id, 3, r.id, 'REFUND_REQUESTED', r.created_at, r.amount, r.reason, r.id
    from payments.refunds r
  union all
  select r.transaction_id, r.partner_id, r.merchant_id, r.branch_id, 4, r.id,
         case r.state when 'SUCCEEDED' then 'REFUNDED' else 'REFUND_FAILED' end, r.state_at, r.amount,
         case r.state when 'SUCCEEDED' then r.reason end, r.id
    from payments.refunds r where r.state <> 'PENDING'
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 5, t.id, 'SETTLED', t.settled_at, t.amount_received, null, null
    from payments.transactions t where t.settled_at is not null;
