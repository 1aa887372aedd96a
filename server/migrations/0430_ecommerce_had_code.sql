-- Whether a QR Ph code was ever shown with a link: then nobody can say of it that nothing was charged. Of the links that are there already
-- nobody knows, so it is as if one was.
alter table ecommerce.links add column had_code boolean not null default true;
alter table ecommerce.links alter column had_code set default false;
