create schema ecommerce;

create table ecommerce.links (
  id uuid primary key,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  branch_reference_number text not null,
  -- 128 random bits in the shareable address; whoever has the address may pay.
  token text not null unique,
  type text not null check (type in ('one_time', 'multi_use')),
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'CONSUMED', 'EXPIRED', 'CANCELLED')),
  amount bigint not null check (amount > 0),
  currency text not null,
  line_items json not null,
  description text,
  order_reference text,
  redirect_urls json,
  metadata json not null,
  max_uses integer check (max_uses > 0),
  reserved_count integer not null default 0 check (reserved_count >= 0),
  success_count integer not null default 0,
  expires_at timestamptz not null,
  expiry_announced boolean not null default false,
  cancelled_at timestamptz,
  cancellation_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (type = 'multi_use' or max_uses is null),
  -- The cap, held by the row itself.
  check (reserved_count + success_count <= case type when 'one_time' then 1 else max_uses end)
);
create index links_of_branch on ecommerce.links (branch_id, id);
create index links_of_merchant on ecommerce.links (merchant_id, id);
create index links_of_partner on ecommerce.links (partner_id, id);
create index links_to_expire on ecommerce.links (expires_at) where state = 'ACTIVE';

-- One row per attempt that reserved a use of a link, so that a settlement repeated after a crash counts once.
create table ecommerce.link_uses (
  attempt_id uuid primary key,
  link_id uuid not null references ecommerce.links,
  state text not null check (state in ('RESERVED', 'SPENT', 'RELEASED'))
);

create table ecommerce.idempotency (
  entity_id uuid not null,
  operation text not null,
  key text not null,
  request_hash bytea not null,
  -- The first answer, sealed: it may hold a client_secret.
  response bytea not null,
  expires_at timestamptz not null,
  primary key (entity_id, operation, key)
);
create index idempotency_to_drop on ecommerce.idempotency (expires_at);

-- published
create function ecommerce.next_due() returns timestamptz
  language sql stable
  return (select min(l.expires_at) from ecommerce.links l where l.state = 'ACTIVE');
