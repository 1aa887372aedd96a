-- Payments at terminals come as rows in PostgreSQL's binary form: to read them as JSON took a sixth of all that PostgreSQL does for a payment.
-- What is done with them is as before. Sockets that connect in one moment come so, too.
create type terminals.new_socket as (
  key_id uuid, connection_id uuid, node_id uuid, group_id uuid, terminal_id uuid, is_new boolean, branch_id uuid, partner_id uuid, merchant_id uuid,
  device_id text
);

drop function terminals.save_transactions(json, integer, json);
drop function terminals.take_payments(json, timestamptz);
drop type terminals.asked_payment;
create type terminals.asked_payment as (
  place integer, id uuid, group_id uuid, transaction_id text, is_chosen boolean, addressed text, terminal_id uuid, here uuid, partner_id uuid,
  merchant_id uuid, key_id uuid, way text, webhook_mode boolean, request_hash bytea, request text, amount bigint, currency text,
  payment_method text, created_at timestamptz, reach_at timestamptz, wait_at timestamptz, signature bytea, signed_until timestamptz
);

-- Takes payments at terminals, by one call for however many come in one moment: locks the terminals, finds what is only asked again, and stores
-- those that may begin, with their signatures and what reports show. Each statement in here sees all that was committed before it, so that
-- of two calls for one terminal the second finds the payment of the first. A row for each; without a terminal where the group has none of this
-- device id, or of this id where one is given.
create function terminals.take_payments(asked terminals.asked_payment[], busy_after timestamptz)
  returns table (place integer, terminal uuid, device text, branch uuid, connection uuid, standing text, repeats uuid, is_busy boolean, is_added boolean)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  -- In one order, so that nobody waits in a circle.
  locked uuid[] := array(
    select t.id
      from (select distinct coalesce(g.terminal_id, d.id) as id
              from unnest(asked) g
              left join lateral (
                select d.id from terminals.terminals d where d.group_id = g.group_id and d.device_id = g.addressed and g.terminal_id is null offset 0) d on true
             order by id) l
     cross join lateral (select t.id from terminals.terminals t where t.id = l.id for no key update) t);
begin
  return query
  with looked as materialized (
    select g.*, t.*,
           case when g.is_chosen then (
             select b.id from terminals.transactions b where b.group_id = g.group_id and b.transaction_id = g.transaction_id)
           else (
             select u.transaction_id from terminals.used_signatures u
              where u.key_id = g.key_id and u.signature = g.signature) end as repeats,
           -- Open and not given up, or given up a short while ago, as far as it is stored.
           coalesce((
             select true from terminals.transactions b
              where b.terminal_id = t.terminal and b.state in ('PENDING', 'AWAITING_RECONNECT')
                and (b.given_up_at is null or b.given_up_at > busy_after)
              limit 1), false) as is_busy
      from unnest(asked) g
      left join lateral (
        select t.id as terminal, t.device_id as device, t.branch_id as branch, t.connection_id as connection,
               case when t.offline_at <= (select kernel.now()) then 'offline' else t.status end as standing
          from (select d.* from terminals.terminals d where g.terminal_id is null and d.group_id = g.group_id and d.device_id = g.addressed
                union all
                select d.* from terminals.terminals d where d.id = g.terminal_id) t
         where t.id = any(locked) offset 0) t on true),
  added as (
    insert into terminals.transactions (id, group_id, transaction_id, partner_id, merchant_id, branch_id, terminal_id, device_id, addressed, key_id,
      way, webhook_mode, request_hash, request, amount, currency, payment_method, state, sent_to, created_at, updated_at, reach_at, wait_at)
    select g.id, g.group_id, g.transaction_id, g.partner_id, g.merchant_id, g.branch, g.terminal, g.device, g.addressed, g.key_id,
           g.way, g.webhook_mode, g.request_hash, g.request, g.amount, g.currency, g.payment_method, 'PENDING',
           case when g.here = g.connection then g.here end, g.created_at, g.created_at,
           case when g.here is distinct from g.connection then g.reach_at end, g.wait_at
      from looked g
     where g.standing = 'online' and g.repeats is null and not g.is_busy
       and (not g.is_chosen
            or not exists (select from terminals.past_ids p where p.group_id = g.group_id and p.transaction_id = g.transaction_id offset 0))
     order by g.id
    on conflict (group_id, transaction_id) do nothing returning id),
  signed as (
    insert into terminals.used_signatures (key_id, signature, transaction_id, expires_at)
    select g.key_id, g.signature, g.id, g.signed_until from looked g join added using (id)
     where g.signature is not null
    on conflict do nothing),
  reported as materialized (
    select payments.begin_terminal_transactions(array_agg(
             row(g.id, g.partner_id, g.merchant_id, g.branch, g.amount, g.currency, g.payment_method, g.device, g.transaction_id, g.created_at)::payments.begun_at_terminal))
      from looked g join added using (id)
    having count(*) > 0)
  select g.place, g.terminal, g.device, g.branch, g.connection, g.standing, g.repeats, g.is_busy, a.id is not null
    from looked g left join added a using (id) left join reported on true;

  -- In a statement after the insert: an id whose row goes in this very moment is seen to be taken all the same.
  if exists (
    select from unnest(asked) g
      join terminals.past_ids p on p.group_id = g.group_id and p.transaction_id = g.transaction_id
      join terminals.transactions t on t.id = g.id
     where g.is_chosen)
  then
    raise exception 'an id was used long ago' using constraint = 'transaction_id_is_new';
  end if;
end
$$;

-- Saves changes of payments, what reports show of them and what is announced: all of it, or nothing where one is no longer as it was read, or is
-- the word of a connection that is none any more. Each row is found by its id and then by its place. The version is asked for once more where
-- the row is changed: of a row that was waited for, PostgreSQL's releases until late in 2025 do not look at the place again. Tells whether any of
-- the events is to be dispatched.
create function terminals.save_transactions(changes terminals.changed_transaction[], wanted integer, events delivery.new_event[]) returns boolean
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
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
