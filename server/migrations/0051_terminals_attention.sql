-- A person settles what needs one, with a note. The same cause after that is a new one.
alter table terminals.attention
  add column id uuid not null default gen_random_uuid(),
  add column settled_at timestamptz,
  add column note text,
  add check ((settled_at is null) = (note is null));
alter table terminals.attention drop constraint attention_pkey;
alter table terminals.attention add primary key (id);
create unique index one_open_attention_per_cause on terminals.attention (transaction_id, cause) where settled_at is null;

-- The oldest first.
-- published
create function terminals.list_attention(rows_max integer)
  returns table (id uuid, cause text, detail text, at timestamptz, merchant_id uuid, payment text, amount bigint, currency text)
  language sql stable
  begin atomic
    select a.id, a.cause, a.detail, a.created_at, t.merchant_id, t.transaction_id, t.amount, t.currency
      from terminals.attention a join terminals.transactions t on t.id = a.transaction_id
     where a.settled_at is null
     order by a.created_at, a.id
     limit rows_max;
  end;

-- True where it was open.
-- published
create function terminals.settle_attention(attention_id uuid, words text) returns boolean
  language sql as $$
  with settled as (
    update terminals.attention a set settled_at = kernel.now(), note = words where a.id = attention_id and a.settled_at is null returning a.id
  )
  select exists (select from settled)
$$;
