-- What an operator says of a device: the text of a JSON object.
alter table terminals.terminals add column metadata text;

-- False where the group has no such device.
-- published
create function terminals.describe_device(of_group uuid, device text, words text) returns boolean
  language sql as $$
  with described as (
    update terminals.terminals t set metadata = words where t.group_id = of_group and t.device_id = device returning t.id
  )
  select exists (select from described)
$$;
