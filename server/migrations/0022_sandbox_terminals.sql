-- Virtual terminals: the key that was made for each, sealed.
create table sandbox.virtual_terminals (
  group_id uuid not null,
  device_id text not null,
  sealed bytea not null,
  created_at timestamptz not null,
  primary key (group_id, device_id)
);

-- What a virtual terminal will do, in business time. A row stays until the platform has taken notice of it.
create table sandbox.terminal_tasks (
  id uuid primary key,
  group_id uuid not null,
  device_id text not null,
  transaction_id text,
  task text not null check (task in ('approve', 'connect')),
  run_at timestamptz not null
);
create index terminal_tasks_to_do on sandbox.terminal_tasks (run_at);

-- published
create function sandbox.next_due() returns timestamptz
  language sql stable
  return (select min(t.run_at) from sandbox.terminal_tasks t);
