-- Among the rows of a value a time is gone to, and those of other times are not read.
drop index payments.transactions_of_branch_by_value, payments.transactions_of_merchant_by_value, payments.transactions_of_partner_by_value;
create index transactions_of_branch_by_value on payments.transactions (branch_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status not in ('CAPTURED', 'DECLINED', 'PENDING') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT';
create index transactions_of_merchant_by_value on payments.transactions (merchant_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status not in ('CAPTURED', 'DECLINED', 'PENDING') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT';
create index transactions_of_partner_by_value on payments.transactions (partner_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status not in ('CAPTURED', 'DECLINED', 'PENDING') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT';
