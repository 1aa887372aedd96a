-- A page of events is found in an index alone: the events of a branch stand far apart in the table, and each with its body, so that a page
-- from long ago was as many reads of what nobody has looked at since.
drop index delivery.events_of_branch;
create index events_of_branch on delivery.events (branch_id, dialect, id)
  include (type, partner_id, merchant_id, payment_intent_id, payment_link_id, created_at) where not test;
