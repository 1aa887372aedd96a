-- Payments of terminals, by the dozen and as rows: as JSON each was written and read once more on its way from one room to the other. Whoever
-- runs on from before changes them by JSON.

-- published
create type payments.begun_at_terminal as (
  id uuid, partner_id uuid, merchant_id uuid, branch_id uuid, amount bigint, currency text, payment_method text, device_id text,
  transaction_id text, created_at timestamptz
);

-- published
create function payments.begin_terminal_transactions(given payments.begun_at_terminal[]) returns void
  language sql as $$
  insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method,
                                     terminal_device_id, reference_number, created_at, updated_at)
  select g.id, g.partner_id, g.merchant_id, g.branch_id, 'PENDING', g.amount, g.currency, g.payment_method, g.device_id, g.transaction_id,
         g.created_at, g.created_at
    from unnest(given) g
$$;

-- published
create type payments.changed_at_terminal as (id uuid, status text, approval_code text, at timestamptz);

-- published
create function payments.change_terminal_transactions(given payments.changed_at_terminal[]) returns void
  language sql set enable_seqscan = off as $$
  update payments.transactions t
     set status = g.status,
         approval_code = coalesce(g.approval_code, t.approval_code),
         amount_authorized = case when g.status = 'CAPTURED' or t.settlement_status = 'SETTLED' then t.amount else 0 end,
         amount_received = case when g.status = 'CAPTURED' or t.settlement_status = 'SETTLED' then t.amount else 0 end,
         amount_refunded = case when g.status = 'VOIDED' and t.settlement_status = 'SETTLED' then t.amount else t.amount_refunded end,
         captured_at = case g.status when 'CAPTURED' then g.at else t.captured_at end,
         settlement_status = case
           when t.settlement_status = 'SETTLED' then 'SETTLED'
           when g.status = 'CAPTURED' then 'UNSETTLED'
           else 'NOT_APPLICABLE' end,
         updated_at = greatest(t.updated_at, g.at)
    from unnest(given) g
   where t.id = any(array(select a.id from unnest(given) a)) and t.id = g.id and t.status <> g.status
$$;

-- published
create or replace function payments.change_terminal_transactions(given json) returns void
  language sql as $$
  select payments.change_terminal_transactions(array(select g from json_populate_recordset(null::payments.changed_at_terminal, given) g))
$$;
drop function payments.begin_terminal_transactions(json);
