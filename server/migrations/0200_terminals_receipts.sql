-- The JSON of a receipt that no text here can hold as it is: with NUL, as printers take it, or half a surrogate pair. Then there is no
-- receipt_data.
alter table terminals.transactions add column receipt_json text;
