-- Payments of terminals begin and end by the dozen in one statement. Processes that run on from before call the function for one.

-- published
create function payments.begin_terminal_transactions(given json) returns void
  language sql as $$
  insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method,
                                     terminal_device_id, reference_number, created_at, updated_at)
  select g.id, g.partner_id, g.merchant_id, g.branch_id, 'PENDING', g.amount, g.currency, g.payment_method, g.device_id, g.transaction_id,
         g.created_at, g.created_at
    from json_to_recordset(given) as g(id uuid, partner_id uuid, merchant_id uuid, branch_id uuid, amount bigint, currency text,
      payment_method text, device_id text, transaction_id text, created_at timestamptz)
$$;

-- Found by their ids, whatever the table looked like when the plan was made: a hash of dozens of ids is joined with all rows of a young one.
-- published
create function payments.change_terminal_transactions(given json) returns void
  language sql set enable_seqscan = off as $$
  update payments.transactions t
     set status = g.status,
         approval_code = coalesce(g.approval_code, t.approval_code),
         amount_authorized = case g.status when 'CAPTURED' then t.amount else 0 end,
         amount_received = case g.status when 'CAPTURED' then t.amount else 0 end,
         captured_at = case g.status when 'CAPTURED' then g.at else t.captured_at end,
         -- What was settled stays so: a void that comes later is for a person to see.
         settlement_status = case
           when t.settlement_status = 'SETTLED' then 'SETTLED'
           when g.status = 'CAPTURED' then 'UNSETTLED'
           else 'NOT_APPLICABLE' end,
         updated_at = greatest(t.updated_at, g.at)
    from json_to_recordset(given) as g(id uuid, status text, approval_code text, at timestamptz)
   where t.id = g.id and t.status <> g.status
$$;
