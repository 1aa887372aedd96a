-- An approval of a payment that had another one is money that no payment of Kaha's has.
alter table terminals.attention drop constraint attention_cause_check;
alter table terminals.attention add constraint attention_cause_check
  check (cause in ('void_refused', 'void_unanswered', 'foreign_result', 'malformed_result', 'further_approval'));
