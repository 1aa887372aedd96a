-- Several events at once, as append_event writes one.
-- published
create function delivery.append_events(given json) returns void
  language sql as $$
  insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, payment_intent_id, payment_link_id, body, created_at)
  select g.id, g.dialect, g.type, g.partner_id, g.merchant_id, g.branch_id, g.payment_intent_id, g.payment_link_id, g.body, g.at
    from json_to_recordset(given) as g(id uuid, dialect text, type text, partner_id uuid, merchant_id uuid, branch_id uuid,
      payment_intent_id uuid, payment_link_id uuid, body text, at timestamptz);
  insert into delivery.outbox (event_id, dialect, type, partner_id, merchant_id, branch_id, group_id, run_at, created_at, updated_at)
  select g.id, g.dialect, g.type, g.partner_id, g.merchant_id, g.branch_id, g.group_id, least(g.at, kernel.now()), g.at, g.at
    from json_to_recordset(given) as g(id uuid, dialect text, type text, partner_id uuid, merchant_id uuid, branch_id uuid, group_id uuid,
      at timestamptz)
$$;
