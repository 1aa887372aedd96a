-- When the next settlement is due; null while there is nothing to settle. What came too late for a batch that is closed is in the next.
-- published
create or replace function payments.next_settlement_due() returns timestamptz
  language sql stable
  return coalesce(
    (select d.settled_at from payments.settlement_days d where d.closed_at is null),
    (select greatest(payments.settlement_after(waits.since), payments.settlement_after(last.settled_at))
       from (select max(d.settled_at) as settled_at from payments.settlement_days d) last
      cross join lateral (select least(
         (select min(t.captured_at) from payments.transactions t where t.settlement_status = 'UNSETTLED'),
         (select min(t.updated_at) from payments.transactions t
           where t.settlement_status = 'SETTLED' and t.amount_refunded > t.amount_refunded_settled),
         -- updated_at is that of a payment's last refund, and one before it may belong to an earlier batch. Where the batches are up to
         -- date no row is as young as that.
         (select min(r.state_at) from payments.transactions t join payments.refunds r on r.transaction_id = t.id
           where t.settlement_status = 'SETTLED' and t.amount_refunded > t.amount_refunded_settled
             and t.updated_at >= payments.settlement_after(last.settled_at)
             and r.state = 'SUCCEEDED' and r.state_at >= last.settled_at)
       ) as since) waits
      where waits.since is not null)
  );
