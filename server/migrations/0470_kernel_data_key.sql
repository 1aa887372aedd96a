-- All that is sealed, and every token that is derived, hangs on a key of the database's own, and that one is sealed under the master key:
-- another master key is another value here. Null in an installation from before, whose master key is its data key. The fingerprint beside it
-- is the data key's.
alter table kernel.installation add column sealed_data_key bytea;
