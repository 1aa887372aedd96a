-- What terminals have approved of payments that their groups do not have: rows that are gone since, or that never were, as after a restored backup.
-- A person settles them as other causes; a group has so many open ones at most, and those that were settled go in time.
create table terminals.unmatched_results (
  id uuid primary key default gen_random_uuid(),
  group_id uuid not null,
  terminal_id uuid not null references terminals.terminals,
  transaction_id text not null,
  -- As the terminal said it, where that is an amount of a currency.
  amount bigint,
  currency text,
  detail text not null,
  created_at timestamptz not null,
  settled_at timestamptz,
  note text,
  check ((amount is null) = (currency is null)),
  check ((settled_at is null) = (note is null))
);
create unique index one_open_unmatched_result on terminals.unmatched_results (group_id, terminal_id, transaction_id) where settled_at is null;
create index unmatched_results_settled on terminals.unmatched_results (settled_at) where settled_at is not null;

-- published
create or replace function terminals.list_attention(rows_max integer)
  returns table (id uuid, cause text, detail text, at timestamptz, merchant_id uuid, payment text, amount bigint, currency text)
  language sql stable
  begin atomic
    select a.id, a.cause, a.detail, a.created_at, t.merchant_id, t.transaction_id, t.amount, t.currency
      from terminals.attention a join terminals.transactions t on t.id = a.transaction_id
     where a.settled_at is null
    union all
    select u.id, 'unmatched_result', u.detail, u.created_at, t.merchant_id, u.transaction_id, u.amount, u.currency
      from terminals.unmatched_results u join terminals.terminals t on t.id = u.terminal_id
     where u.settled_at is null
     order by 4, 1
     limit rows_max;
  end;

-- published
create or replace function terminals.settle_attention(attention_id uuid, words text) returns boolean
  language sql as $$
  with settled as (
    update terminals.attention a set settled_at = kernel.now(), note = words where a.id = attention_id and a.settled_at is null returning a.id
  ), matched as (
    update terminals.unmatched_results u set settled_at = kernel.now(), note = words where u.id = attention_id and u.settled_at is null
    returning u.id
  )
  select exists (select from settled) or exists (select from matched)
$$;
