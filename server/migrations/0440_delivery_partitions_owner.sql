-- Each new partition is its table's owner's, whoever of the owners makes it: they could neither migrate nor drop what another of them had made.
-- published
create or replace function delivery.ensure_partitions(time_from timestamptz, time_to timestamptz) returns integer
  language plpgsql as $$
declare
  week timestamptz := date_trunc('week', time_from at time zone 'UTC') at time zone 'UTC';
  made integer := 0;
  suffix text;
  parent text;
  owner text;
begin
  perform pg_advisory_xact_lock(hashtext('delivery.partitions'));
  while week < time_to loop
    suffix := to_char(week at time zone 'UTC', 'IYYY"w"IW');
    foreach parent in array array['events', 'unsubscribed', 'deliveries', 'attempts'] loop
      if to_regclass(format('delivery.%I', parent || '_' || suffix)) is null then
        -- Made apart and attached: that takes no lock on the parent which a payment, or a reader that is in its way, would wait for.
        execute format('create table delivery.%I (like delivery.%I including all)', parent || '_' || suffix, parent);
        select pg_get_userbyid(c.relowner) into owner from pg_catalog.pg_class c where c.oid = format('delivery.%I', parent)::regclass;
        if owner <> current_user then
          -- Not every member may hand over; a payment needs its partition all the same.
          begin
            execute format('alter table delivery.%I owner to %I', parent || '_' || suffix, owner);
          exception when insufficient_privilege then null;
          end;
        end if;
        execute format(
          'alter table delivery.%I attach partition delivery.%I for values from (%L) to (%L)', parent, parent || '_' || suffix,
          case parent when 'attempts' then week::text else kernel.uuid_floor(week)::text end,
          case parent when 'attempts' then (week + interval '7 days')::text else kernel.uuid_floor(week + interval '7 days')::text end
        );
        made := made + 1;
      end if;
    end loop;
    week := week + interval '7 days';
  end loop;
  return made;
end $$;
