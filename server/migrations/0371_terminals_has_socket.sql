-- Whether a device of a group is connected to any process, as far as is stored.
-- published
create function terminals.has_socket(of_group uuid, of_device text) returns boolean
  language sql stable
  begin atomic
    select exists (
      select from terminals.terminals t join terminals.sockets s on s.connection_id = t.connection_id
       where t.group_id = of_group and t.device_id = of_device);
  end;
