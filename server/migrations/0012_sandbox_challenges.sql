-- The challenges of the simulated issuer. As with its authorizations: a system outside the platform, with no card data.
-- published
create table sandbox.challenges (
  attempt_id uuid primary key,
  -- Of the page that the payer answers on.
  token text not null unique,
  return_url text not null,
  payee text not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  card_last_four text not null check (card_last_four ~ '^[0-9]{4}$'),
  -- What the processor decides once the challenge is passed.
  decision text not null check (decision in ('approved', 'declined')),
  -- Null until the payer has answered; the first answer stays.
  result text check (result in ('passed', 'refused', 'unavailable')),
  created_at timestamptz not null default kernel.now()
);
