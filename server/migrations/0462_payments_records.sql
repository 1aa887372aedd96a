-- Nobody changes payments of terminals by JSON any more.
drop function payments.change_terminal_transactions(json);
