-- Two spellings of one URL are one receiver: `https://Example.com:443/x` and `https://example.com/x`. An address is the URL in the form that
-- WHATWG gives it; a destination from before has none, and its URL stands for it.
alter table delivery.destinations add column address text;
drop index delivery.one_live_url_per_owner;
create unique index one_live_url_per_owner on delivery.destinations (owner_id, dialect, coalesce(address, url))
  where deleted_at is null and dialect <> 'terminal';
drop index delivery.one_live_url_per_account;
create unique index one_live_url_per_account on delivery.destinations (merchant_id, coalesce(address, url))
  where dialect = 'encrypted' and deleted_at is null;
