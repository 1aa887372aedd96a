-- Of a code of area E, or of an attempt of a checkout: the id is what the bank was told. Whose it is stands here, for both.
alter table qr.unmatched_payments
  drop constraint unmatched_payments_code_id_fkey,
  add column merchant_id uuid,
  add column reference text;
update qr.unmatched_payments u set merchant_id = c.merchant_id, reference = c.reference from qr.codes c where c.id = u.code_id;
alter table qr.unmatched_payments
  alter column merchant_id set not null,
  alter column reference set not null;

-- published
create or replace function qr.list_unmatched(rows_max integer)
  returns table (id uuid, cause text, detail text, at timestamptz, merchant_id uuid, payment text, amount bigint, currency text)
  language sql stable
  begin atomic
    select u.id, 'unmatched_money'::text, format('A bank took it for a code that was %s; its name for the payment is %s.', u.code_state, u.bank_reference),
           u.at, u.merchant_id, u.reference, u.amount, u.currency
      from qr.unmatched_payments u
     where u.settled_at is null
     order by u.at, u.id
     limit rows_max;
  end;
