-- Money that nobody knew the owner of, open and settled. Of which branch its code was tells the transaction, which has the id of the code.
drop function qr.list_unmatched(integer);

-- published
create view qr.unmatched_report as
  select u.id, 'unmatched_money'::text as cause,
         format('A bank took it for a code that was %s; its name for the payment is %s.', u.code_state, u.bank_reference) as detail,
         u.at, u.merchant_id, t.branch_id, u.reference as payment, u.amount, u.currency, u.settled_at, u.note
    from qr.unmatched_payments u left join payments.transaction_report t on t.id = u.code_id;
