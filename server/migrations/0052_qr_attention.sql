-- A person settles money that nobody knew the owner of, with a note.
alter table qr.unmatched_payments
  add column settled_at timestamptz,
  add column note text,
  add check ((settled_at is null) = (note is null));
create index unmatched_payments_open on qr.unmatched_payments (at, id) where settled_at is null;

-- The oldest first.
-- published
create function qr.list_unmatched(rows_max integer)
  returns table (id uuid, cause text, detail text, at timestamptz, merchant_id uuid, payment text, amount bigint, currency text)
  language sql stable
  begin atomic
    select u.id, 'unmatched_money'::text, format('A bank took it for a code that was %s; its name for the payment is %s.', u.code_state, u.bank_reference),
           u.at, c.merchant_id, c.reference, u.amount, u.currency
      from qr.unmatched_payments u join qr.codes c on c.id = u.code_id
     where u.settled_at is null
     order by u.at, u.id
     limit rows_max;
  end;

-- True where it was open.
-- published
create function qr.settle_unmatched(unmatched_id uuid, words text) returns boolean
  language sql as $$
  with settled as (
    update qr.unmatched_payments u set settled_at = kernel.now(), note = words where u.id = unmatched_id and u.settled_at is null returning u.id
  )
  select exists (select from settled)
$$;
