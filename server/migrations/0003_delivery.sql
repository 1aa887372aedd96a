create schema delivery;

-- Where events go: the endpoints of areas A, D and E alike. The dialect says how a body is made, signed and judged.
create table delivery.destinations (
  id uuid primary key,
  -- Area E shows integers.
  number bigint generated always as identity unique,
  dialect text not null check (dialect in ('signed', 'terminal', 'encrypted')),
  partner_id uuid not null,
  merchant_id uuid,
  branch_id uuid,
  group_id uuid,
  -- The one entity (or group) that owns it: its events and those of everything under it are delivered.
  owner_id uuid not null,
  url text not null,
  types text[] not null,
  state text not null default 'ENABLED' check (state in ('ENABLED', 'DISABLED')),
  description text,
  metadata json not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Both null unless it was disabled by us.
  disabled_reason text,
  disabled_at timestamptz,
  deleted_at timestamptz
);
create unique index one_live_url_per_owner on delivery.destinations (owner_id, dialect, url) where deleted_at is null;
create index destinations_of_partner on delivery.destinations (partner_id, id);
create index destinations_of_merchant on delivery.destinations (merchant_id, id);
create index destinations_of_branch on delivery.destinations (branch_id, id);

-- Newest first signs first; one that expires goes on signing until then.
create table delivery.secrets (
  id uuid primary key,
  destination_id uuid not null references delivery.destinations,
  sealed bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz
);
create index secrets_of_destination on delivery.secrets (destination_id, id desc);

-- The line in front of each destination, one row each, and where workers look for work: a search of the queue itself would go through
-- the million waiting deliveries of a dead destination to find the next one's.
create table delivery.lanes (
  destination_id uuid primary key references delivery.destinations,
  -- OPEN sends; PAUSED holds what is queued; CLOSING drops what is queued, piece by piece, and ends CLOSED.
  state text not null default 'OPEN' check (state in ('OPEN', 'PAUSED', 'CLOSING', 'CLOSED')),
  -- The last attempt failed or took long: such lanes share a part of the slots, so that the others find one free.
  slow boolean not null default false,
  -- The first of nothing but failures since; business time.
  failing_since timestamptz,
  -- Business time before which nobody need look: the first retry, or the end of the first lease, or never.
  look_at timestamptz not null default 'infinity',
  -- Grows whenever work is added. Whoever looked may postpone the next look only if this stood still meanwhile, so nothing is overlooked.
  version bigint not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 500);
create index lanes_to_look_at on delivery.lanes (state, slow, look_at);

-- What happened, written once. Ids carry business time, so a week of ids is a week of events: partitions are found by id and dropped whole
-- when their time is up. What changes is kept apart, in small rows, and an event's status is read off them (store-events.ts).
--
-- Partitions are only added to, and read by statements that lock nothing: PostgreSQL 18 (seen in 18.4) can crash where one statement joins
-- a partitioned table by its key and locks a row that somebody else has just changed (pruning while EvalPlanQual runs).
create table delivery.events (
  id uuid primary key,
  dialect text not null check (dialect in ('signed', 'terminal', 'encrypted')),
  type text not null,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  payment_intent_id uuid,
  payment_link_id uuid,
  -- Made once, sent unchanged on every attempt.
  body text not null,
  test boolean not null default false,
  created_at timestamptz not null
) partition by range (id);
create index events_of_branch on delivery.events (branch_id, dialect, id) where not test;

-- Events to dispatch. The row goes when the event's deliveries are queued.
create table delivery.outbox (
  event_id uuid primary key,
  dialect text not null,
  type text not null,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  status text not null default 'PENDING' check (status in ('PENDING', 'SUBMITTING', 'SUBMIT_FAILED')),
  -- Failures of ours in a row.
  setback_count integer not null default 0,
  -- When to dispatch it, in business time.
  run_at timestamptz not null,
  -- System time of the database.
  lease_until timestamptz,
  fence integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index outbox_to_dispatch on delivery.outbox (run_at);

-- Events that nobody subscribed to when they were dispatched.
create table delivery.unsubscribed (
  event_id uuid primary key,
  at timestamptz not null
) partition by range (event_id);

-- Deliveries that are open. One slot per event and destination: a resend takes the slot of a waiting retry and never races it.
create table delivery.queue (
  id bigint generated by default as identity primary key,
  event_id uuid not null,
  destination_id uuid not null,
  -- Attempts spent; grows on settling only, so a worker that died has spent none.
  attempt_no integer not null default 0,
  -- Attempts of dispatches before this one.
  attempts_before integer not null default 0,
  -- Failures of ours in a row.
  setback_count integer not null default 0,
  -- Business time.
  run_at timestamptz not null,
  -- System time of the database: an advance of business time ends no lease.
  lease_until timestamptz,
  fence integer not null default 0,
  -- Business time, the same for all deliveries of one dispatch.
  dispatched_at timestamptz not null,
  unique (event_id, destination_id)
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index queue_of_lane on delivery.queue (destination_id, run_at);

-- Deliveries that are over. One that is resent is in the queue as well, and that row tells of it until it is over again.
create table delivery.deliveries (
  event_id uuid not null,
  destination_id uuid not null,
  state text not null check (state in ('DELIVERED', 'EXHAUSTED', 'CLOSED')),
  -- Of all dispatches.
  attempt_count integer not null,
  dispatched_at timestamptz not null,
  ended_at timestamptz not null,
  primary key (event_id, destination_id)
) partition by range (event_id);

-- Attempts that counted. Kept for a shorter time than the events, and found by time.
create table delivery.attempts (
  event_id uuid not null,
  destination_id uuid not null,
  -- Over all dispatches, from 1.
  number integer not null,
  -- Business time.
  started_at timestamptz not null,
  duration_ms integer not null,
  status integer,
  error_class text,
  -- A sentence for the merchant.
  error_message text,
  owner text check (owner in ('destination', 'path')),
  request_headers json not null,
  answer text,
  primary key (event_id, destination_id, started_at, number)
) partition by range (started_at);

-- Makes the weekly partitions (Monday to Monday, UTC) that hold everything from one time to another.
-- published
create function delivery.ensure_partitions(time_from timestamptz, time_to timestamptz) returns integer
  language plpgsql as $$
declare
  week timestamptz := date_trunc('week', time_from at time zone 'UTC') at time zone 'UTC';
  made integer := 0;
  suffix text;
  parent text;
begin
  perform pg_advisory_xact_lock(hashtext('delivery.partitions'));
  while week < time_to loop
    suffix := to_char(week at time zone 'UTC', 'IYYY"w"IW');
    foreach parent in array array['events', 'unsubscribed', 'deliveries', 'attempts'] loop
      if to_regclass(format('delivery.%I', parent || '_' || suffix)) is null then
        -- Made apart and attached: that takes no lock on the parent which a payment, or a reader that is in its way, would wait for.
        execute format('create table delivery.%I (like delivery.%I including all)', parent || '_' || suffix, parent);
        execute format(
          'alter table delivery.%I attach partition delivery.%I for values from (%L) to (%L)', parent, parent || '_' || suffix,
          case parent when 'attempts' then week::text else kernel.uuid_floor(week)::text end,
          case parent when 'attempts' then (week + interval '7 days')::text else kernel.uuid_floor(week + interval '7 days')::text end
        );
        made := made + 1;
      end if;
    end loop;
    week := week + interval '7 days';
  end loop;
  return made;
end $$;

-- Drops the weekly partitions of one table that ended by then, and tells which. It waits for readers a second at most, since whoever
-- comes after it waits too; what is left is for the next time.
create function delivery.drop_partitions(parent text, ended_by timestamptz) returns text[]
  language plpgsql as $$
declare
  partition text;
  dropped text[] := '{}';
begin
  perform set_config('lock_timeout', '1s', true);
  perform pg_advisory_xact_lock(hashtext('delivery.partitions'));
  for partition in
    with week as materialized (
      select c.relname as name, to_date(right(c.relname, 7), 'IYYY"w"IW')::timestamp at time zone 'UTC' as starts
        from (select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = format('delivery.%I', parent)::regclass offset 0) i
        join pg_catalog.pg_class c on c.oid = i.inhrelid
    )
    select w.name from week w where w.starts + interval '7 days' <= ended_by order by w.name
  loop
    execute format('drop table delivery.%I', partition);
    dropped := dropped || partition;
  end loop;
  return dropped;
end $$;

-- Writes an event beside the change that caused it, in the caller's transaction. It is due at once, though the caller's clock be ahead.
-- published
create function delivery.append_event(
  id uuid, dialect text, type text, partner_id uuid, merchant_id uuid, branch_id uuid,
  payment_intent_id uuid, payment_link_id uuid, body text, at timestamptz
) returns void
  language sql as $$
  insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, payment_intent_id, payment_link_id, body, created_at)
  values (id, dialect, type, partner_id, merchant_id, branch_id, payment_intent_id, payment_link_id, body, at);
  insert into delivery.outbox (event_id, dialect, type, partner_id, merchant_id, branch_id, run_at, created_at, updated_at)
  values (id, dialect, type, partner_id, merchant_id, branch_id, least(at, kernel.now()), at, at)
$$;

-- When the earliest thing of this room falls due; null when nothing is open. A row in flight counts as due, one that waits behind
-- a paused destination does not count.
-- published
create function delivery.next_due() returns timestamptz
  language sql stable
  -- Whatever the planner believes of the size of these tables (server/src/delivery/store-plan.ts).
  set enable_seqscan = off
  return least(
    (select min(o.run_at) from delivery.outbox o),
    (select min(l.look_at) from delivery.lanes l where l.state = 'CLOSING' and l.look_at < 'infinity'),
    (select min(q.run_at)
       from delivery.lanes l
      cross join lateral (
        select w.run_at from delivery.queue w where w.destination_id = l.destination_id order by w.run_at limit 1
      ) q
      where l.state = 'OPEN' and l.look_at < 'infinity')
  );
