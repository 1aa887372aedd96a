-- Lists of merchants and branches come by name.
create index merchants_by_name on identity.entities (partner_id, name collate "C", id) where level = 'merchant';
create index branches_of_partner_by_name on identity.entities (partner_id, name collate "C", id) where level = 'branch';
create index branches_of_merchant_by_name on identity.entities (merchant_id, name collate "C", id) where level = 'branch';

-- What entities are called, for who reports of them.
-- published
create view identity.entity_names as
  select e.id, e.level, e.partner_id, e.merchant_id, e.branch_id, e.name collate "C" as name from identity.entities e;

-- published
create view identity.branch_codes as
  select c.branch_id, c.code from identity.activation_codes c;
