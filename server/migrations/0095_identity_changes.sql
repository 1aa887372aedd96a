-- Grows whenever a key of area D or an account comes into another state. Who keeps sockets open for keys looks at it every second, and so
-- learns of a change however it was made, and whatever became of the word of it.
create table identity.changes (
  only_row boolean primary key default true check (only_row),
  version bigint not null default 0
);
insert into identity.changes default values;

create function identity.note_change() returns trigger
  language plpgsql as $$
begin
  update identity.changes set version = version + 1;
  return null;
end
$$;
create trigger terminal_key_changed after update of state on identity.terminal_keys
  for each statement execute function identity.note_change();
create trigger account_changed after update of state on identity.entities
  for each statement execute function identity.note_change();
