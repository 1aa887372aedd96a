-- As before it, but that a signed request is that of its payment also where that is gone, since a sandbox's clock was moved past its retention
-- within the window: it is refused then, and not charged once more.
create or replace function terminals.take_payments(given json, busy_after timestamptz)
  returns table (place integer, terminal uuid, device text, branch uuid, connection uuid, standing text, repeats uuid, is_busy boolean, is_added boolean)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  asked terminals.asked_payment[] := array(select g from json_populate_recordset(null::terminals.asked_payment, given) g);
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
              where u.key_id = g.key_id and u.signature = decode(g.signature, 'hex')) end as repeats,
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
           g.way, g.webhook_mode, decode(g.request_hash, 'hex'), g.request, g.amount, g.currency, g.payment_method, 'PENDING',
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
    select g.key_id, decode(g.signature, 'hex'), g.id, to_timestamp(g.signed_until_ms / 1000) from looked g join added using (id)
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
