create schema qr;

create table qr.codes (
  id uuid primary key,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  -- The merchant's name for the payment: one code each, whatever became of it.
  reference text not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  -- What stands in the picture.
  text text not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'PAID', 'DECLINED', 'EXPIRED')),
  decline_reason text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- When `state` was reached; EXPIRED is reached at expires_at, whenever that is noticed.
  state_at timestamptz not null,
  unique (merchant_id, reference),
  check ((state = 'DECLINED') = (decline_reason is not null))
);
create index codes_to_expire on qr.codes (expires_at) where state = 'PENDING';

-- Money that a bank took for a code that was final. Whose it is, a person has to find out.
create table qr.unmatched_payments (
  id uuid primary key,
  code_id uuid not null references qr.codes,
  code_state text not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  bank_reference text not null,
  at timestamptz not null
);
create index unmatched_payments_of_code on qr.unmatched_payments (code_id);

-- published
create function qr.next_due() returns timestamptz
  language sql stable
  return (select min(c.expires_at) from qr.codes c where c.state = 'PENDING');
