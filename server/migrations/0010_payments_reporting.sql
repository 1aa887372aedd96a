-- Reporting and settlement.
alter table payments.transactions
  -- When the money was captured: what a settlement goes by.
  add column captured_at timestamptz,
  add column settled_at timestamptz,
  add column batch_number text,
  -- As much of amount_refunded as settlements have counted.
  add column amount_refunded_settled bigint not null default 0,
  add column terminal_device_id text,
  add constraint settled_in_a_batch check ((settlement_status = 'SETTLED') = (settled_at is not null and batch_number is not null)),
  add constraint refunds_settled_within_refunded check (amount_refunded_settled between 0 and amount_refunded);

-- A list comes by one of three, for an entity of one of three levels; the id breaks ties in the same direction. Those by created_at are there.
create index transactions_of_branch_by_update on payments.transactions (branch_id, updated_at, id);
create index transactions_of_merchant_by_update on payments.transactions (merchant_id, updated_at, id);
create index transactions_of_partner_by_update on payments.transactions (partner_id, updated_at, id);
create index transactions_of_branch_by_amount on payments.transactions (branch_id, amount, id);
create index transactions_of_merchant_by_amount on payments.transactions (merchant_id, amount, id);
create index transactions_of_partner_by_amount on payments.transactions (partner_id, amount, id);
-- A filter that keeps few rows would make a walk through those in order long. What is common is not in here.
create index transactions_of_rare_status on payments.transactions (merchant_id, status) where status not in ('CAPTURED', 'DECLINED', 'PENDING');
create index transactions_of_rare_card on payments.transactions (merchant_id, card_brand) where card_brand not in ('VISA', 'MASTERCARD');
create index transactions_of_rare_method on payments.transactions (merchant_id, payment_method) where payment_method <> 'CARD_NOT_PRESENT';

create index transactions_to_settle on payments.transactions (captured_at) where settlement_status = 'UNSETTLED';
create index refunds_to_settle on payments.transactions (updated_at)
  where settlement_status = 'SETTLED' and amount_refunded > amount_refunded_settled;

-- One per batch. While it is open its transactions are being counted; once closed nothing of it changes any more.
create table payments.settlement_days (
  -- The day that begins then in Asia/Manila, as in 2026-01-15.
  batch_number text primary key check (batch_number ~ '^\d{4}-\d{2}-\d{2}$'),
  settled_at timestamptz not null unique,
  closed_at timestamptz
);
create unique index one_open_settlement on payments.settlement_days ((true)) where closed_at is null;

-- What a day's batch holds of each branch.
create table payments.settlement_shares (
  branch_id uuid not null,
  batch_number text not null references payments.settlement_days,
  currency text not null,
  partner_id uuid not null,
  merchant_id uuid not null,
  transaction_count bigint not null,
  gross bigint not null,
  refunds bigint not null,
  primary key (branch_id, batch_number, currency)
);
create index settlement_shares_of_merchant on payments.settlement_shares (merchant_id, batch_number, currency);
create index settlement_shares_of_partner on payments.settlement_shares (partner_id, batch_number, currency);

-- The first 00:00 in Asia/Manila after a time: when what happened then is settled.
create function payments.settlement_after(at timestamptz) returns timestamptz
  language sql immutable strict
  return (date_trunc('day', at at time zone 'Asia/Manila') + interval '1 day') at time zone 'Asia/Manila';

-- When the next settlement is due; null while there is nothing to settle. What came too late for a batch that is closed is in the next.
-- published
create function payments.next_settlement_due() returns timestamptz
  language sql stable
  return coalesce(
    (select d.settled_at from payments.settlement_days d where d.closed_at is null),
    (select greatest(payments.settlement_after(waits.since), payments.settlement_after((select max(d.settled_at) from payments.settlement_days d)))
       from (select least(
         (select min(t.captured_at) from payments.transactions t where t.settlement_status = 'UNSETTLED'),
         (select min(t.updated_at) from payments.transactions t
           where t.settlement_status = 'SETTLED' and t.amount_refunded > t.amount_refunded_settled)
       ) as since) waits
      where waits.since is not null)
  );

-- Transactions as they are stored, for reports. One of a challenge whose time is over is in transaction_lapses as well, and that tells.
-- published
create view payments.transaction_report as
  select t.id, t.partner_id, t.merchant_id, t.branch_id, t.status, t.amount, t.currency, t.payment_method, t.card_brand,
         t.card_last_four, t.correlation_id, t.amount_authorized, t.amount_received, t.amount_refunded, t.approval_code,
         t.reference_number, t.receipt_number, t.settlement_status, t.settled_at, t.batch_number, t.terminal_device_id,
         t.created_at, t.updated_at
    from payments.transactions t;

-- Attempts that a deadline has ended and no sweeper has come by yet: how they stand, and since when.
-- published
create view payments.transaction_lapses as
  select a.id, i.partner_id, i.merchant_id, i.branch_id, 'DECLINED' as status, a.challenge_expires_at as updated_at
    from payments.attempts a join payments.intents i on i.id = a.intent_id
   where a.state = 'REQUIRES_ACTION' and a.challenge_expires_at <= kernel.now() and a.challenge_expires_at < i.expires_at
  union all
  select a.id, i.partner_id, i.merchant_id, i.branch_id, 'EXPIRED', i.expires_at
    from payments.intents i join payments.attempts a on a.id = i.latest_attempt_id
   where i.state = 'ACTIVE' and i.succeeded_at is null and i.expires_at <= kernel.now()
     and a.state = 'REQUIRES_ACTION' and a.challenge_expires_at >= i.expires_at;

-- What happened to a transaction, as far as its rows tell.
-- published
create view payments.transaction_history as
  select t.id as transaction_id, t.partner_id, t.merchant_id, t.branch_id, 1 as step, t.id as source_id, 'CREATED' as type,
         t.created_at as at, t.amount, null as reason
    from payments.transactions t
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 2, t.id,
         case a.state when 'SUCCEEDED' then 'CAPTURED' when 'ABANDONED' then t.status else a.state end, a.state_at, t.amount, a.failure_category
    from payments.transactions t join payments.attempts a on a.id = t.id
   where a.state not in ('REQUIRES_ACTION', 'PROCESSING')
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

-- Batches that are closed, by branch.
-- published
create view payments.settlement_report as
  select s.partner_id, s.merchant_id, s.branch_id, s.batch_number, d.settled_at, s.currency, s.transaction_count, s.gross, s.refunds
    from payments.settlement_shares s join payments.settlement_days d on d.batch_number = s.batch_number
   where d.closed_at is not null;
