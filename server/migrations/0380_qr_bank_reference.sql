-- The bank's name for the payment that paid a code: told again, it is the same payment. Of one that was paid before this it is not known.
alter table qr.codes add column bank_reference text;

-- Money without an owner that a bank tells of again is the same money.
create unique index unmatched_payments_once on qr.unmatched_payments (code_id, bank_reference);
drop index qr.unmatched_payments_of_code;
