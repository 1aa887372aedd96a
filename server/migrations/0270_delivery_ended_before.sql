-- Whether a delivery may have ended before, so that delivery.deliveries may have a row of it: one that is sent again. What a dispatch makes
-- has not, and its end is written without looking for an earlier one. True for what is queued by now, and for what a process that runs on from
-- before queues.
alter table delivery.queue add ended_before boolean not null default true;
