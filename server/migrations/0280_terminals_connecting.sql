-- Who connects goes into two indexes fewer: a device id is found in the one that keeps it unique, in whatever group, and sockets of a process are
-- only looked for among those of all.
create unique index one_terminal_per_device_of_group on terminals.terminals (device_id, group_id) where device_id is not null;
drop index terminals.one_terminal_per_device;
drop index terminals.terminals_by_device;
drop index terminals.sockets_of_node;
