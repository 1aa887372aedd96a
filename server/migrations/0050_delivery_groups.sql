-- Groups of terminals own destinations too: an event of one goes to those of the group that it happened in.
alter table delivery.outbox add column group_id uuid;
create index destinations_of_group on delivery.destinations (group_id, id);

-- A group may send different events to one URL; who subscribes is still looked up by owner.
create index destinations_of_owner on delivery.destinations (owner_id, dialect) where deleted_at is null;
drop index delivery.one_live_url_per_owner;
create unique index one_live_url_per_owner on delivery.destinations (owner_id, dialect, url)
  where deleted_at is null and dialect <> 'terminal';

-- Whoever knows no groups calls it as before.
drop function delivery.append_event(uuid, text, text, uuid, uuid, uuid, uuid, uuid, text, timestamptz);
-- published
create function delivery.append_event(
  id uuid, dialect text, type text, partner_id uuid, merchant_id uuid, branch_id uuid,
  payment_intent_id uuid, payment_link_id uuid, body text, at timestamptz, group_id uuid default null
) returns void
  language sql as $$
  insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, payment_intent_id, payment_link_id, body, created_at)
  values (id, dialect, type, partner_id, merchant_id, branch_id, payment_intent_id, payment_link_id, body, at);
  insert into delivery.outbox (event_id, dialect, type, partner_id, merchant_id, branch_id, group_id, run_at, created_at, updated_at)
  values (id, dialect, type, partner_id, merchant_id, branch_id, group_id, least(at, kernel.now()), at, at)
$$;
