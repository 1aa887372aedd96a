-- A page of a report is found in an index alone: what a list is filtered by goes along with what it is sorted by, so that rows which
-- do not fit cost no look at the table.
drop index payments.transactions_of_branch, payments.transactions_of_merchant, payments.transactions_of_partner,
  payments.transactions_of_branch_by_update, payments.transactions_of_merchant_by_update, payments.transactions_of_partner_by_update,
  payments.transactions_of_branch_by_amount, payments.transactions_of_merchant_by_amount, payments.transactions_of_partner_by_amount;
create index transactions_of_branch on payments.transactions (branch_id, created_at, id) include (status, payment_method, card_brand);
create index transactions_of_merchant on payments.transactions (merchant_id, created_at, id) include (status, payment_method, card_brand);
create index transactions_of_partner on payments.transactions (partner_id, created_at, id) include (status, payment_method, card_brand);
create index transactions_of_branch_by_update on payments.transactions (branch_id, updated_at, id)
  include (created_at, status, payment_method, card_brand);
create index transactions_of_merchant_by_update on payments.transactions (merchant_id, updated_at, id)
  include (created_at, status, payment_method, card_brand);
create index transactions_of_partner_by_update on payments.transactions (partner_id, updated_at, id)
  include (created_at, status, payment_method, card_brand);
create index transactions_of_branch_by_amount on payments.transactions (branch_id, amount, id)
  include (created_at, status, payment_method, card_brand);
create index transactions_of_merchant_by_amount on payments.transactions (merchant_id, amount, id)
  include (created_at, status, payment_method, card_brand);
create index transactions_of_partner_by_amount on payments.transactions (partner_id, amount, id)
  include (created_at, status, payment_method, card_brand);

-- By updated_at, what was created in some time is near that time, save for what changed long after: refunds above all.
create index transactions_of_branch_by_late_update on payments.transactions (branch_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where updated_at - created_at > interval '48 hours';
create index transactions_of_merchant_by_late_update on payments.transactions (merchant_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where updated_at - created_at > interval '48 hours';
create index transactions_of_partner_by_late_update on payments.transactions (partner_id, updated_at, id)
  include (created_at, status, payment_method, card_brand) where updated_at - created_at > interval '48 hours';

-- What hardly any row has, wherever it is asked for: even in an index a walk through all others would be long. PENDING is rare too, for
-- a payment is so for a moment.
drop index payments.transactions_of_rare_status, payments.transactions_of_rare_card, payments.transactions_of_rare_method;
create index transactions_of_rare_status on payments.transactions (status, merchant_id) where status not in ('CAPTURED', 'DECLINED');
create index transactions_of_rare_card on payments.transactions (card_brand, merchant_id) where card_brand not in ('VISA', 'MASTERCARD');
create index transactions_of_rare_method on payments.transactions (payment_method, merchant_id) where payment_method <> 'CARD_NOT_PRESENT';

-- An index tells by itself only of pages that a vacuum has seen since they changed. The default waits for a fifth of all rows.
alter table payments.transactions set (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02
);
