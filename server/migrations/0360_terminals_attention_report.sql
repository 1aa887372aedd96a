-- What a person must see to, or has seen to: settled_at and note are null while it is open.
drop function terminals.list_attention(integer);

-- published
create view terminals.attention_report as
  select a.id, a.cause, a.detail, a.created_at as at, t.merchant_id, t.branch_id, t.transaction_id as payment, t.amount, t.currency,
         a.settled_at, a.note
    from terminals.attention a join terminals.transactions t on t.id = a.transaction_id
  union all
  select u.id, 'unmatched_result', u.detail, u.created_at, t.merchant_id, t.branch_id, u.transaction_id, u.amount, u.currency,
         u.settled_at, u.note
    from terminals.unmatched_results u join terminals.terminals t on t.id = u.terminal_id;
