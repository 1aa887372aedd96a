-- An address may be three times as long as its URL, and an index takes no text that long: the digest of it stands for it. The cast reads a
-- backslash as the beginning of an escape.
drop index delivery.one_live_url_per_owner;
create unique index one_live_url_per_owner
  on delivery.destinations (owner_id, dialect, sha256(replace(coalesce(address, url), '\', '\\')::bytea))
  where deleted_at is null and dialect <> 'terminal';
drop index delivery.one_live_url_per_account;
create unique index one_live_url_per_account
  on delivery.destinations (merchant_id, sha256(replace(coalesce(address, url), '\', '\\')::bytea))
  where dialect = 'encrypted' and deleted_at is null;
