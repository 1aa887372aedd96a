-- Attempts that are paid by a QR Ph code: they have no card, and a text that the payer's bank reads.
alter table payments.attempts
  add column method text not null default 'card' check (method in ('card', 'qrph')),
  add column code_text text,
  alter column card_last_four drop not null,
  alter column card_fingerprint drop not null,
  add constraint paid_by_card_or_by_code check (
    case method
      when 'card' then card_last_four is not null and card_fingerprint is not null and code_text is null
      else card_brand is null and card_last_four is null and card_fingerprint is null and code_text is not null
    end
  );
comment on column payments.attempts.challenge_expires_at is 'When REQUIRES_ACTION is over: a challenge counts as abandoned, a code has expired.';

-- Payments that a deadline has ended and no sweeper has come by yet: how they stand, and since when.
-- published
create or replace view payments.transaction_lapses as
  select a.id, i.partner_id, i.merchant_id, i.branch_id, case a.method when 'qrph' then 'EXPIRED' else 'DECLINED' end as status,
         a.challenge_expires_at as updated_at
    from payments.attempts a join payments.intents i on i.id = a.intent_id
   where a.state = 'REQUIRES_ACTION' and a.challenge_expires_at <= kernel.now()
     and (a.challenge_expires_at < i.expires_at or a.method = 'qrph')
  union all
  select a.id, i.partner_id, i.merchant_id, i.branch_id, 'EXPIRED', i.expires_at
    from payments.intents i join payments.attempts a on a.id = i.latest_attempt_id
   where i.state = 'ACTIVE' and i.succeeded_at is null and i.expires_at <= kernel.now()
     and a.state = 'REQUIRES_ACTION' and a.challenge_expires_at >= i.expires_at and a.method = 'card'
  union all
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 'EXPIRED', t.lapses_at
    from payments.transactions t where t.lapses_at <= kernel.now();
