-- Payments that a deadline has ended and no worker has come by yet: how they stand in reports, and since when.
-- published
create view terminals.transaction_lapses as
  select t.id, t.partner_id, t.merchant_id, t.branch_id, 'FAILED' as status,
         case when t.state = 'PENDING' and t.sent_to is null and t.reach_at is not null then t.reach_at
              else t.created_at + interval '24 hours' end as updated_at
    from terminals.transactions t
   where t.run_at <= kernel.now() and t.state in ('PENDING', 'AWAITING_RECONNECT')
     and (t.created_at <= kernel.now() - interval '24 hours'
          or (t.state = 'PENDING' and t.sent_to is null and t.reach_at <= kernel.now()));

-- Reports have such an end at its deadline, whenever it is stored.
create or replace function terminals.save_transactions(given json, wanted integer, events json) returns boolean
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  changes terminals.changed_transaction[] := array(select g from json_populate_recordset(null::terminals.changed_transaction, given) g);
  saved bigint;
  reports payments.changed_at_terminal[];
begin
  with changed as (
    update terminals.transactions t
       set state = g.state, given_up = g.given_up, given_up_at = g.given_up_at, announced = g.announced, sent_to = g.sent_to,
           cancel_asked = g.cancel_asked, outcome = g.outcome, our_code = g.our_code, authorization_code = g.authorization_code,
           error_code = g.error_code, error_message = g.error_message, receipt_data = g.receipt_data, receipt_json = g.receipt_json,
           outcome_at = g.outcome_at, void_cause = g.void_cause, void_state = g.void_state, void_reason = g.void_reason,
           void_error = g.void_error, void_asked_at = g.void_asked_at, void_step_s = g.void_step_s, voided_at = g.voided_at,
           complete_unseen = g.complete_unseen, voided_unseen = g.voided_unseen, ended_at = g.ended_at, reach_at = g.reach_at,
           grace_at = g.grace_at, wait_at = g.wait_at, no_result_at = g.no_result_at, cancel_at = g.cancel_at, void_at = g.void_at,
           voided_code = g.voided_code, updated_at = g.updated_at, version = t.version + 1
      from unnest(changes) g
     cross join lateral (
       select b.ctid as place from terminals.transactions b
        where b.id = g.id and b.version = g.before_version and b.state = g.before_state and b.group_id = g.group_id
          and (g.held_by is null or (select true from terminals.sockets s where s.connection_id = g.held_by)) offset 0) b
     where t.ctid = b.place and t.version = g.before_version
    returning t.id, g.report, t.authorization_code, case t.state when 'FAILED' then t.ended_at else t.updated_at end as at)
  select count(*), array_agg(row(c.id, c.report, c.authorization_code, c.at)::payments.changed_at_terminal) filter (where c.report is not null)
    into saved, reports from changed c;
  perform terminals.require_all(saved, wanted);
  if reports is not null then
    perform payments.change_terminal_transactions(reports);
  end if;
  return case when events is not null then delivery.append_events(events) end;
end
$$;
