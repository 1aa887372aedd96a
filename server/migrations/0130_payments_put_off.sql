-- Ends of links, intents and challenges that failed: each is left alone for a while, so that it keeps no other from its turn. Apart from what
-- it is about, for that may be a row that cannot be written.
create table payments.put_offs (
  id uuid primary key,
  failure_count integer not null,
  run_at timestamptz not null
);

-- Each time for twice as long, from 2 seconds to 5 minutes. What nobody has asked for again in a day is forgotten.
-- published
create function payments.put_off(of_id uuid) returns void
  language sql as $$
  delete from payments.put_offs where run_at < kernel.now() - interval '1 day';
  insert into payments.put_offs as p (id, failure_count, run_at) values (of_id, 1, kernel.now() + interval '2 seconds')
  on conflict (id) do update
     set failure_count = p.failure_count + 1,
         run_at = kernel.now() + least(300, 2 ^ least(p.failure_count + 1, 9)) * interval '1 second'
$$;

-- published
create function payments.is_put_off(of_id uuid) returns boolean
  language sql stable as $$
  select exists (select from payments.put_offs p where p.id = of_id and p.run_at > kernel.now())
$$;
