-- Ends the statement that called it, and all that it did, where some of its rows were no longer as they had been read.
create function terminals.require_all(written bigint, asked integer) returns void
  language plpgsql as $$
begin
  if written <> asked then
    raise exception 'a transaction is no longer as it was read' using constraint = 'transaction_unchanged';
  end if;
end
$$;
