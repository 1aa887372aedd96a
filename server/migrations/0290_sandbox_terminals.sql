-- Which process runs a virtual terminal, under a lease in system time, and for whom: what the terminal will do is that process's to do. What
-- another process asks of it stays until it is done.
alter table sandbox.virtual_terminals
  add node_id uuid,
  add partner_id uuid,
  add lease_until timestamptz,
  add asked text check (asked in ('start', 'stop'));

-- What nobody does any more is not due: time need not wait for it.
-- published
create or replace function sandbox.next_due() returns timestamptz
  language sql stable
  return (
    select min(t.run_at) from sandbox.terminal_tasks t
      join sandbox.virtual_terminals v on v.group_id = t.group_id and v.device_id = t.device_id
     where v.lease_until > clock_timestamp());
