-- Events that are written by the dozen come as rows in PostgreSQL's binary form, not as JSON, which takes many times as long to read.
drop function delivery.append_events(json);

-- published
create type delivery.new_event as (
  id uuid, dialect text, type text, partner_id uuid, merchant_id uuid, branch_id uuid, group_id uuid, payment_intent_id uuid,
  payment_link_id uuid, body text, at timestamptz
);

-- Several events at once, as append_event writes one. One that nobody subscribes to as things stand is dispatched by that, and costs no
-- dispatcher a look. Tells whether any is left to dispatch.
-- published
create function delivery.append_events(given delivery.new_event[]) returns boolean
  language sql set enable_seqscan = off as $$
  with happened as materialized (
    select g.*, exists (
             select from delivery.destinations d
              where d.owner_id = any (array[g.branch_id, g.merchant_id, g.partner_id, g.group_id]) and d.dialect = g.dialect
                and d.deleted_at is null and d.state = 'ENABLED' and g.type = any (d.types) offset 0) as is_heard
      from unnest(given) g),
  told as (
    insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, payment_intent_id, payment_link_id, body, created_at)
    select h.id, h.dialect, h.type, h.partner_id, h.merchant_id, h.branch_id, h.payment_intent_id, h.payment_link_id, h.body, h.at
      from happened h),
  unheard as (
    insert into delivery.unsubscribed (event_id, at) select h.id, h.at from happened h where not h.is_heard),
  queued as (
    insert into delivery.outbox (event_id, dialect, type, partner_id, merchant_id, branch_id, group_id, run_at, created_at, updated_at)
    select h.id, h.dialect, h.type, h.partner_id, h.merchant_id, h.branch_id, h.group_id, least(h.at, (select kernel.now())), h.at, h.at
      from happened h where h.is_heard)
  select exists (select from happened h where h.is_heard)
$$;
