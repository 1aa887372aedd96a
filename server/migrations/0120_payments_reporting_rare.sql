-- What hardly any row has, where a walk in order would pass too many others: the rows of an entity by their values, with all that a list
-- is sorted by. Those of a value, or of a combination of values, are read in the index alone and sorted; PostgreSQL 18 skips over what is
-- not asked for, and goes to a time among the rows of a value. A row whose values are all common is not in here, and PENDING, which each
-- payment is for a moment, is apart.
drop index payments.transactions_of_rare_status, payments.transactions_of_rare_card, payments.transactions_of_rare_method;
create index transactions_of_branch_by_value on payments.transactions (branch_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status not in ('CAPTURED', 'DECLINED', 'PENDING') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT';
create index transactions_of_merchant_by_value on payments.transactions (merchant_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status not in ('CAPTURED', 'DECLINED', 'PENDING') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT';
create index transactions_of_partner_by_value on payments.transactions (partner_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status not in ('CAPTURED', 'DECLINED', 'PENDING') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT';
create index transactions_open on payments.transactions (merchant_id) where status = 'PENDING';
