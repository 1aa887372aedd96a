-- Found by their ids, whatever the table looked like when the plan was made: joined with the ids alone, all rows of a young table were read
-- along its index, for each payment that ended, until it was analysed.
-- published
create or replace function payments.change_terminal_transactions(given json) returns void
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
   where t.id = any(array(select a.id from json_to_recordset(given) as a(id uuid))) and t.id = g.id and t.status <> g.status
$$;
