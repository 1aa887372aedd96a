-- Meets those that connect in one moment, by one call: has their keys wait for one another until the transaction ends, then gives what the keys
-- are connected as, and then the terminals that they may be, locked: of a device id, of a key, or what a key is connected as, since an operator
-- may have moved that to another key. Each statement in here sees all that was committed before it, so that of two connections of one key the
-- second meets the first. Groups and device ids belong together, in pairs. Keys must come in their order, and terminals are locked in that of their
-- ids, so that nobody waits in a circle.
--
-- Plans are made when there are hardly any terminals, and kept: here, and of what the transaction does after it, they must find rows by their
-- keys all the same. Each table is looked in by itself: of a join PostgreSQL may make a walk through all the terminals of a group.
create function terminals.meet(keys uuid[], groups uuid[], devices text[])
  returns table (is_socket boolean, key_id uuid, connection_id uuid, terminal_id uuid, group_id uuid, device_id text, status text)
  language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
  ids uuid[];
begin
  perform set_config('enable_seqscan', 'off', true);
  perform pg_advisory_xact_lock(hashtextextended('terminals ' || k, 0)) from unnest(keys) k;

  return query
  select true, s.key_id, s.connection_id, s.terminal_id, s.group_id, null::text, null::text from terminals.sockets s where s.key_id = any(keys);

  ids := array(
    select d.id from unnest(groups, devices) a(group_id, device_id)
     cross join lateral (
       select d.id from terminals.terminals d where d.group_id = a.group_id and d.device_id = a.device_id offset 0) d
     union all select t.id from terminals.terminals t where t.key_id = any(keys)
     union all select s.terminal_id from terminals.sockets s where s.key_id = any(keys));
  return query
  select false, t.key_id, t.connection_id, t.id, t.group_id, t.device_id,
         case when t.offline_at <= (select kernel.now()) then 'offline' else t.status end
    from terminals.terminals t where t.id = any(ids) order by t.id for no key update;
end
$$;
