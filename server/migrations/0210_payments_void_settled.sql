-- A payment of a terminal that is voided after it was settled: its batch has paid it out, so it keeps what it received and its place there,
-- and has given all of it back. Settlement takes that off the batch of the void's day, as it does with a refund.
-- published
create or replace function payments.change_terminal_transactions(given json) returns void
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
    from json_to_recordset(given) as g(id uuid, status text, approval_code text, at timestamptz)
   where t.id = any(array(select a.id from json_to_recordset(given) as a(id uuid))) and t.id = g.id and t.status <> g.status
$$;

-- Those of before were left without their amounts. What they gave back is in the batch that comes next.
update payments.transactions t
   set amount_authorized = t.amount, amount_received = t.amount, amount_refunded = t.amount
 where t.status = 'VOIDED' and t.settlement_status = 'SETTLED' and t.amount_received = 0;
