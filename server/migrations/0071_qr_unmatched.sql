-- Of a code of area E, or of an attempt of a checkout: the id is what the bank was told.
alter table qr.unmatched_payments drop constraint unmatched_payments_code_id_fkey;
