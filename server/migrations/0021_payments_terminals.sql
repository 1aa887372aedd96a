-- Puts how a payment of a terminal stands into the transactions that reports read.
-- published
create function payments.put_terminal_transaction(
  id uuid, partner_id uuid, merchant_id uuid, branch_id uuid, status text, amount bigint, currency text, payment_method text,
  device_id text, approval_code text, reference_number text, at timestamptz, is_new boolean
) returns void
  language sql as $$
  insert into payments.transactions (id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method,
                                     terminal_device_id, reference_number, created_at, updated_at)
  select id, partner_id, merchant_id, branch_id, status, amount, currency, payment_method, device_id, reference_number, at, at
   where is_new;
  update payments.transactions t
     set status = put_terminal_transaction.status,
         approval_code = coalesce(put_terminal_transaction.approval_code, t.approval_code),
         amount_authorized = case put_terminal_transaction.status when 'CAPTURED' then t.amount else 0 end,
         amount_received = case put_terminal_transaction.status when 'CAPTURED' then t.amount else 0 end,
         captured_at = case put_terminal_transaction.status when 'CAPTURED' then put_terminal_transaction.at else t.captured_at end,
         -- What was settled stays so: a void that comes later is for a person to see.
         settlement_status = case
           when t.settlement_status = 'SETTLED' then 'SETTLED'
           when put_terminal_transaction.status = 'CAPTURED' then 'UNSETTLED'
           else 'NOT_APPLICABLE' end,
         updated_at = greatest(t.updated_at, put_terminal_transaction.at)
   where t.id = put_terminal_transaction.id and not is_new and t.status <> put_terminal_transaction.status;
$$;
