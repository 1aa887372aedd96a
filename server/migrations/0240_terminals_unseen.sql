-- What a till has missed is read in the order in which it came about, from where it was told before, and none of what is too old.
create index transactions_missed on terminals.transactions (key_id, updated_at, id) where complete_unseen or voided_unseen;
drop index terminals.transactions_unseen;
