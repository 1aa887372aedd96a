-- Since when each of a few keys has had its socket; those that have none are left out.
-- published
create function terminals.list_sockets(keys uuid[])
  returns table (key_id uuid, connected_at timestamptz)
  language sql stable
  begin atomic
    select s.key_id, s.connected_at from terminals.sockets s where s.key_id = any(keys);
  end;
