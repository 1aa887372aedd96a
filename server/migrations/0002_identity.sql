create schema identity;

-- A partner, a merchant under it or a branch under that; the path columns name the entity itself too.
create table identity.entities (
  id uuid primary key,
  level text not null check (level in ('partner', 'merchant', 'branch')),
  partner_id uuid not null references identity.entities,
  merchant_id uuid references identity.entities,
  branch_id uuid references identity.entities,
  name text not null,
  reference_number text,
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'INACTIVE', 'LOCKED')),
  created_at timestamptz not null,
  check ((merchant_id is null) = (level = 'partner')),
  check ((branch_id is null) = (level <> 'branch')),
  check ((reference_number is null) = (level <> 'branch')),
  unique (partner_id, reference_number)
);
create index entities_of_merchant on identity.entities (merchant_id);

create table identity.keys (
  id uuid primary key,
  hash bytea not null unique,
  last_four text not null,
  entity_id uuid not null references identity.entities,
  scopes text[] not null,
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'EXPIRED', 'REVOKED', 'SUSPENDED', 'DELETED')),
  -- Merchants and branches only: notifications of area E are encrypted with the key itself.
  sealed bytea,
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index keys_of_entity on identity.keys (entity_id);

create table identity.encryption_keys (
  id uuid primary key,
  merchant_id uuid not null references identity.entities,
  sealed bytea not null,
  created_at timestamptz not null
);
create index encryption_keys_of_merchant on identity.encryption_keys (merchant_id, id desc);

create table identity.activation_codes (
  code text primary key,
  branch_id uuid not null unique references identity.entities,
  created_at timestamptz not null
);

create table identity.groups (
  id uuid primary key,
  merchant_id uuid not null references identity.entities,
  created_at timestamptz not null
);

create table identity.terminal_keys (
  id uuid primary key,
  api_key_hash bytea not null unique,
  sealed_secret bytea not null,
  role text not null check (role in ('desktop', 'terminal')),
  group_id uuid not null references identity.groups,
  branch_id uuid references identity.entities,
  device_id text,
  state text not null default 'ACTIVE' check (state in ('ACTIVE', 'EXPIRED', 'REVOKED', 'SUSPENDED', 'DELETED')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (role <> 'terminal' or branch_id is not null)
);
create index terminal_keys_of_group on identity.terminal_keys (group_id);
create unique index one_key_per_device on identity.terminal_keys (group_id, device_id) where device_id is not null;
