-- What one dispatch gave to one worker for one destination: deliveries that go out with their dispatch and never wait for anybody have no row
-- in the queue, but this one together. Open of it is what has neither an end in delivery.deliveries nor a row in the queue, where a retry
-- waits, or what was given back. The row goes with the last of them. When its lease runs out, the next to look queues what is open.
create table delivery.hands (
  id bigint generated always as identity primary key,
  destination_id uuid not null,
  -- In their order.
  event_ids uuid[] not null,
  first_event_id uuid not null generated always as (event_ids[1]) stored,
  last_event_id uuid not null generated always as (event_ids[cardinality(event_ids)]) stored,
  -- Business time, as in the queue.
  dispatched_at timestamptz not null,
  -- System time of the database.
  lease_until timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
-- Ids of events that were made together begin alike, and are hardly shorter compressed.
alter table delivery.hands alter event_ids set storage external;
create index hands_of_events on delivery.hands (first_event_id);

-- As before, with what is in hands.
-- published
create or replace function delivery.next_due() returns timestamptz
  language sql stable
  set enable_seqscan = off
  return least(
    (select min(o.run_at) from delivery.outbox o),
    (select min(h.dispatched_at) from delivery.hands h),
    (select min(l.look_at) from delivery.lanes l where l.state = 'CLOSING' and l.look_at < 'infinity'),
    (select min(q.run_at)
       from delivery.lanes l
      cross join lateral (
        select w.run_at from delivery.queue w where w.destination_id = l.destination_id order by w.run_at limit 1
      ) q
      where l.state = 'OPEN' and l.look_at < 'infinity')
  );
