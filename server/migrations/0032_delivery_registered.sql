-- An account registers a URL for encrypted notifications once, whichever of its branches they are for.
create unique index one_live_url_per_account on delivery.destinations (merchant_id, url) where dialect = 'encrypted' and deleted_at is null;
create index destinations_registered on delivery.destinations (merchant_id, number) where dialect = 'encrypted' and deleted_at is null;

-- Live destinations of encrypted notifications, by the number that area E shows.
-- published
create view delivery.registered_destinations as
  select d.id, d.number, d.merchant_id, d.branch_id, d.url, d.types, d.state, d.metadata, d.created_at, d.updated_at
    from delivery.destinations d where d.dialect = 'encrypted' and d.deleted_at is null;
