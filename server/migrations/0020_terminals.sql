create schema terminals;

-- Processes that hold sockets. One that says nothing for 15 s (system time) holds none any more.
create table terminals.nodes (
  id uuid primary key,
  beat_at timestamptz not null
);

-- A terminal is its device id, or without one its key. A device id belongs to the key that used it first.
create table terminals.terminals (
  id uuid primary key,
  group_id uuid not null,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  key_id uuid not null,
  device_id text,
  -- The present connection, or the latest.
  connection_id uuid not null,
  status text not null check (status in ('online', 'reconnecting', 'offline')),
  connected_at timestamptz not null,
  last_activity_at timestamptz not null,
  -- When a terminal that is reconnecting counts as offline; business time.
  offline_at timestamptz,
  check ((status = 'reconnecting') = (offline_at is not null))
);
create unique index one_terminal_per_device on terminals.terminals (group_id, device_id) where device_id is not null;
create unique index one_terminal_per_bare_key on terminals.terminals (key_id) where device_id is null;
create unique index terminals_by_connection on terminals.terminals (connection_id);
create index terminals_by_device on terminals.terminals (device_id) where device_id is not null;
create index terminals_of_key on terminals.terminals (key_id);
create index terminals_connected on terminals.terminals (group_id, id) where status <> 'offline';
create index terminals_to_give_up on terminals.terminals (offline_at) where status = 'reconnecting';

-- Sockets that are open: one per key, whichever process holds it.
create table terminals.sockets (
  key_id uuid primary key,
  connection_id uuid not null unique,
  node_id uuid not null,
  group_id uuid not null,
  terminal_id uuid references terminals.terminals,
  connected_at timestamptz not null
);
create index sockets_of_node on terminals.sockets (node_id);

create table terminals.transactions (
  id uuid primary key,
  group_id uuid not null,
  transaction_id text not null,
  partner_id uuid not null,
  merchant_id uuid not null,
  branch_id uuid not null,
  terminal_id uuid not null references terminals.terminals,
  device_id text,
  -- The terminal as the request named it.
  addressed text not null,
  -- Who started it, and by which way.
  key_id uuid not null,
  way text not null check (way in ('http', 'socket')),
  webhook_mode boolean not null,
  request_hash bytea not null,
  -- As it is given back: exact text.
  request text not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  payment_method text not null,

  state text not null check (state in ('PENDING', 'COMPLETED', 'FAILED', 'CANCELLED', 'AWAITING_RECONNECT', 'VOIDED')),
  -- What the waiting side was told when it was told that there is no payment. Once given up, money is never kept.
  given_up text check (given_up in ('TERMINAL_CONNECTION_ERROR', 'TIMEOUT')),
  given_up_at timestamptz,
  announced text check (announced in ('payment.completed', 'payment.failed', 'payment.cancelled', 'payment.timeout')),
  -- The connection that it was sent to last; set before the first byte is written.
  sent_to uuid,
  cancel_asked boolean not null default false,
  -- The first result, or the platform's own word where there is none.
  outcome text check (outcome in ('SUCCESS', 'FAILED', 'CANCELLED')),
  our_code text,
  authorization_code text,
  error_code text,
  error_message text,
  receipt_data text,
  outcome_at timestamptz,
  void_cause text check (void_cause in ('late', 'mismatch', 'contradiction', 'confirmed')),
  void_state text check (void_state in ('ASKED', 'CONFIRMED', 'REFUSED')),
  void_reason text,
  void_error text,
  void_asked_at timestamptz,
  void_step_s integer,
  voided_at timestamptz,
  -- Pushes that the desktop which started it has not confirmed.
  complete_unseen boolean not null default false,
  voided_unseen boolean not null default false,

  created_at timestamptz not null,
  updated_at timestamptz not null,
  ended_at timestamptz,
  version integer not null default 0,
  -- Deadlines, in business time; a worker claims whatever is due.
  reach_at timestamptz,
  grace_at timestamptz,
  wait_at timestamptz,
  no_result_at timestamptz,
  cancel_at timestamptz,
  void_at timestamptz,
  run_at timestamptz generated always as (least(reach_at, grace_at, wait_at, no_result_at, cancel_at, void_at)) stored,

  unique (group_id, transaction_id),
  -- Whoever was told that there is no payment has none.
  check (given_up is null or state <> 'COMPLETED'),
  check ((state = 'VOIDED') = (voided_at is not null))
) with (fillfactor = 70);
create index transactions_to_run on terminals.transactions (run_at) where run_at is not null;
create index transactions_of_group on terminals.transactions (group_id, id);
create index transactions_by_name on terminals.transactions (transaction_id);
create index transactions_open on terminals.transactions (terminal_id) where state in ('PENDING', 'AWAITING_RECONNECT');
create index transactions_to_ask on terminals.transactions (terminal_id) where our_code = 'NO_RESULT' or void_state = 'ASKED';
create index transactions_unseen on terminals.transactions (key_id) where complete_unseen or voided_unseen;

-- Signatures of payments, until their time leaves the window (system time): the same request again finds its payment.
create table terminals.used_signatures (
  key_id uuid not null,
  signature bytea not null,
  transaction_id uuid not null references terminals.transactions,
  expires_at timestamptz not null,
  primary key (key_id, signature)
);
create index used_signatures_to_drop on terminals.used_signatures (expires_at);

-- What a person must look at. Once per payment and cause.
create table terminals.attention (
  transaction_id uuid not null references terminals.transactions,
  cause text not null check (cause in ('void_refused', 'void_unanswered', 'foreign_result', 'malformed_result')),
  detail text not null,
  created_at timestamptz not null,
  primary key (transaction_id, cause)
);

-- published
create function terminals.next_due() returns timestamptz
  language sql stable
  return least(
    (select min(t.run_at) from terminals.transactions t where t.run_at is not null),
    (select min(t.offline_at) from terminals.terminals t where t.status = 'reconnecting')
  );
