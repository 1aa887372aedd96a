-- Ids of payments whose rows are gone: they stay taken.
create table terminals.past_ids (
  group_id uuid not null,
  transaction_id text not null,
  primary key (group_id, transaction_id)
);

-- A signature may outlast its payment, where a sandbox's clock has moved; it leads to nothing then. No payment pays for a look at them all.
alter table terminals.used_signatures drop constraint used_signatures_transaction_id_fkey;
create index attention_of_transaction on terminals.attention (transaction_id);

-- Those of sockets end earlier than those of HTTP, which are found by their ids.
create index transactions_of_sockets_ended on terminals.transactions (ended_at) where way = 'socket' and ended_at is not null;
