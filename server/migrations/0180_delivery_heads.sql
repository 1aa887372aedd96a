-- Business time before which a lane has no delivery: where a claim begins to read. Deliveries that are over stay in the index until the next
-- vacuum, which among millions of others is long after, and each claim read past all of them. Whoever adds a delivery, or moves one, lowers it;
-- a claim raises it to the first that it saw, under the same condition as `look_at`. Never to the last ten seconds: a process that runs on from
-- before lowers nothing, but adds nothing older than its statement.
alter table delivery.lanes add head_at timestamptz not null default '-infinity';
