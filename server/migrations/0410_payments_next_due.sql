-- What is left of a link that has ended is due until it has ended with it.
-- published
create or replace function payments.next_due() returns timestamptz
  language sql stable
  return least(
    (select min(i.expires_at) from payments.intents i where i.state = 'ACTIVE' and i.succeeded_at is null),
    (select min(a.run_at) from payments.attempts a where a.state = 'PROCESSING'),
    (select min(a.challenge_expires_at) from payments.attempts a where a.state = 'REQUIRES_ACTION'),
    (select min(r.run_at) from payments.refunds r where r.state = 'PENDING'),
    (select min(e.at) from payments.ending_links e)
  );
