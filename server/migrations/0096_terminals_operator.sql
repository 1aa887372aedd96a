-- What an operator orders. The process that holds the socket carries it out within a second.
alter table terminals.sockets add column dismissed boolean not null default false;
create index sockets_to_dismiss on terminals.sockets (node_id) where dismissed;

-- The socket of a key is closed. False where it has none.
-- published
create function terminals.disconnect(key uuid) returns boolean
  language sql as $$
  with told as (update terminals.sockets s set dismissed = true where s.key_id = key returning s.key_id)
  select exists (select from told)
$$;

-- A device id of a group belongs to another key from now on, and the key that had it loses its connection under it. Says what stands against
-- it: there is no such device, or the key has as many as it may have.
-- published
create function terminals.move_device(of_group uuid, device text, to_key uuid, devices_max integer) returns text
  language plpgsql as $$
declare
  moved terminals.terminals;
begin
  select t.* into moved from terminals.terminals t where t.group_id = of_group and t.device_id = device;
  if not found then
    return 'unknown';
  end if;
  -- Connections of both keys come and go before this or after it.
  perform pg_advisory_xact_lock(hashtextextended('terminals ' || k.id, 0))
     from (select id from unnest(array[moved.key_id, to_key]) id order by id) k;
  if (select count(*) from terminals.terminals t where t.key_id = to_key and t.id <> moved.id) >= devices_max then
    return 'full';
  end if;
  update terminals.sockets s set dismissed = true where s.terminal_id = moved.id and s.key_id <> to_key;
  update terminals.terminals t set key_id = to_key where t.id = moved.id and t.key_id in (moved.key_id, to_key);
  -- Somebody else has just moved it to a third.
  return case when found then 'moved' else 'unknown' end;
end
$$;

-- What each of a few keys has connected as.
-- published
create function terminals.list_devices(keys uuid[])
  returns table (key_id uuid, device_id text, status text, last_activity_at timestamptz)
  language sql stable
  begin atomic
    select t.key_id, t.device_id, case when t.offline_at <= kernel.now() then 'offline' else t.status end, t.last_activity_at
      from terminals.terminals t
     where t.key_id = any(keys)
     order by t.key_id, t.id;
  end;
