-- What has ended by a deadline or with its link, and is not stored: how it stands, and since when, no sooner than it began, which was by the
-- clock of a process perhaps that was ahead. Nearly always no link is ending, and then nothing is looked at for it; otherwise one begins
-- with what is open, for a link may have any number of intents.
-- published
create or replace view payments.transaction_lapses as
  select a.id, i.partner_id, i.merchant_id, i.branch_id, case a.method when 'qrph' then 'EXPIRED' else 'DECLINED' end as status,
         greatest(a.challenge_expires_at, a.state_at) as updated_at
    from payments.attempts a join payments.intents i on i.id = a.intent_id
   where a.state = 'REQUIRES_ACTION' and a.challenge_expires_at <= kernel.now()
     and (a.challenge_expires_at < i.expires_at or a.method = 'qrph')
     and not exists (select from payments.ending_links e
                      where e.link_id = i.link_id and e.at < i.expires_at and e.at <= a.challenge_expires_at)
  union all
  select a.id, i.partner_id, i.merchant_id, i.branch_id, 'EXPIRED', greatest(i.expires_at, a.state_at)
    from payments.intents i join payments.attempts a on a.id = i.latest_attempt_id
   where i.state = 'ACTIVE' and i.succeeded_at is null and i.expires_at <= kernel.now()
     and a.state = 'REQUIRES_ACTION' and a.challenge_expires_at >= i.expires_at and a.method = 'card'
     and not exists (select from payments.ending_links e where e.link_id = i.link_id and e.at < i.expires_at)
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 'EXPIRED', t.lapses_at
    from payments.transactions t where t.lapses_at <= kernel.now()
  union all
  select a.id, i.partner_id, i.merchant_id, i.branch_id, case e.state when 'EXPIRED' then 'EXPIRED' else 'CANCELLED' end,
         greatest(e.at, a.state_at)
    from payments.attempts a join payments.intents i on i.id = a.intent_id
   cross join lateral (select n.state, n.at from payments.ending_links n where n.link_id = i.link_id offset 0) e
   where (select exists (select from payments.ending_links)) and a.state = 'REQUIRES_ACTION' and i.state = 'ACTIVE'
     and e.at < i.expires_at and e.at <= a.challenge_expires_at;
