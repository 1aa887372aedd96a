-- By amount, what was created in some time is where its ids are: PostgreSQL 18 skips from amount to amount to them. Most ids tell when
-- their rows were created; what has another from elsewhere is found by itself.
-- published
create function payments.tells_time(id uuid, at timestamptz) returns boolean
  language sql immutable
  return abs(('x' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(48)::bigint - extract(epoch from at - timestamptz '1970-01-01 00:00:00+00') * 1000) <= 3600000;

create index transactions_of_another_time on payments.transactions (partner_id, amount, id)
  include (merchant_id, branch_id, created_at, status, payment_method, card_brand) where not payments.tells_time(id, created_at);
