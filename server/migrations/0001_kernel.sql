create schema if not exists kernel;

-- Business time is system time plus this offset, which only grows. The version tells processes that it moved.
create table kernel.clock (
  only_row boolean primary key default true check (only_row),
  offset_ms bigint not null default 0 check (offset_ms >= 0),
  version bigint not null default 0
);
insert into kernel.clock default values;

-- published
create function kernel.now() returns timestamptz
  language sql stable
  return clock_timestamp() + (select c.offset_ms from kernel.clock c) * interval '1 millisecond';

-- Moves business time forward to a time, rounded up so that what falls due then is due; never back.
-- published
create function kernel.move_clock_to(at timestamptz) returns bigint
  language sql as $$
  update kernel.clock
     set offset_ms = greatest(offset_ms, ceil(extract(epoch from at - clock_timestamp()) * 1000)::bigint), version = version + 1
  returning offset_ms
$$;

-- Sets how far business time is ahead of system time; never less than before.
-- published
create function kernel.raise_clock_offset(ms bigint) returns bigint
  language sql as $$
  update kernel.clock set offset_ms = greatest(offset_ms, ms), version = version + 1 returning offset_ms
$$;

-- The smallest UUIDv7 of a millisecond: what a range of time is as a range of ids.
-- published
create function kernel.uuid_floor(at timestamptz) returns uuid
  language sql immutable strict parallel safe
  return (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid;

-- What this database is for. The master key itself is never stored; its fingerprint is, so that a start with another key, or in the
-- other mode, is refused in words.
create table kernel.installation (
  only_row boolean primary key default true check (only_row),
  mode text not null check (mode in ('sandbox', 'live')),
  key_id text not null,
  fingerprint bytea not null,
  created_at timestamptz not null default clock_timestamp()
);
