-- A payment is PENDING for a moment, and its row was put into each index of the lists twice: when it began, and when it ended. The lists
-- are in them from its end on; the few that are PENDING are found by one small index, whoever asks.
drop index payments.transactions_of_branch, payments.transactions_of_merchant, payments.transactions_of_partner,
  payments.transactions_of_branch_by_update, payments.transactions_of_merchant_by_update, payments.transactions_of_partner_by_update,
  payments.transactions_of_branch_by_amount, payments.transactions_of_merchant_by_amount, payments.transactions_of_partner_by_amount,
  payments.transactions_of_branch_by_late_update, payments.transactions_of_merchant_by_late_update,
  payments.transactions_of_partner_by_late_update, payments.transactions_of_another_time, payments.transactions_of_branch_by_value,
  payments.transactions_of_merchant_by_value, payments.transactions_of_partner_by_value, payments.transactions_open;

create index transactions_of_branch on payments.transactions (branch_id, created_at, id)
  include (status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_merchant on payments.transactions (merchant_id, created_at, id)
  include (status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_partner on payments.transactions (partner_id, created_at, id)
  include (status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_branch_by_update on payments.transactions (branch_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_merchant_by_update on payments.transactions (merchant_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_partner_by_update on payments.transactions (partner_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_branch_by_amount on payments.transactions (branch_id, amount, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_merchant_by_amount on payments.transactions (merchant_id, amount, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING';
create index transactions_of_partner_by_amount on payments.transactions (partner_id, amount, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING';

create index transactions_of_branch_by_late_update on payments.transactions (branch_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING' and updated_at - created_at > interval '48 hours';
create index transactions_of_merchant_by_late_update on payments.transactions (merchant_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING' and updated_at - created_at > interval '48 hours';
create index transactions_of_partner_by_late_update on payments.transactions (partner_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where status <> 'PENDING' and updated_at - created_at > interval '48 hours';

create index transactions_of_another_time on payments.transactions (partner_id, amount, id)
  include (merchant_id, branch_id, created_at, status, payment_method, card_brand)
  where status <> 'PENDING' and not payments.tells_time(id, created_at);

create index transactions_of_branch_by_value on payments.transactions (branch_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status <> 'PENDING'
    and (status not in ('CAPTURED', 'DECLINED') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT');
create index transactions_of_merchant_by_value on payments.transactions (merchant_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status <> 'PENDING'
    and (status not in ('CAPTURED', 'DECLINED') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT');
create index transactions_of_partner_by_value on payments.transactions (partner_id, status, payment_method, card_brand, created_at)
  include (id, updated_at, amount)
  where status <> 'PENDING'
    and (status not in ('CAPTURED', 'DECLINED') or card_brand not in ('VISA', 'MASTERCARD') or payment_method <> 'CARD_NOT_PRESENT');

-- Whose key it is knows the partner, and a branch's the merchant too. The currency, by which no list is filtered, leaves it an order where
-- all three are given: pages walk along it. Entries that are alike take little room.
create index transactions_open on payments.transactions (partner_id, merchant_id, branch_id, currency) where status = 'PENDING';
