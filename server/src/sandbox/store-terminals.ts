import { statement, type Queries } from '../kernel/db.ts'

/** Where the key of a virtual terminal is sealed: additional data of the seal. */
export const virtualKeyPlace = (groupId: string, deviceId: string) =>
  `sandbox.virtual_terminals.sealed:${groupId}:${deviceId}`

export interface TaskRow {
  readonly id: string
  readonly group_id: string
  readonly device_id: string
  readonly transaction_id: string | null
  readonly task: 'approve' | 'connect'
}

const lockKey = statement(
  'sandbox.lockVirtualKey',
  `select pg_advisory_xact_lock(hashtextextended('sandbox ' || $1 || $2, 0))`,
)
const findKey = statement(
  'sandbox.findVirtualKey',
  `select sealed from sandbox.virtual_terminals where group_id = $1 and device_id = $2`,
)
const insertKey = statement(
  'sandbox.insertVirtualKey',
  `insert into sandbox.virtual_terminals (group_id, device_id, sealed, created_at) values ($1, $2, $3, $4)`,
)
const insertTask = statement(
  'sandbox.insertTerminalTask',
  `insert into sandbox.terminal_tasks (id, group_id, device_id, transaction_id, task, run_at) values ($1, $2, $3, $4, $5, $6)`,
)
const dueTasks = statement(
  'sandbox.dueTerminalTasks',
  `select id, group_id, device_id, transaction_id, task from sandbox.terminal_tasks where run_at <= kernel.now() order by run_at, id limit 100`,
)
const dropTask = statement('sandbox.dropTerminalTask', `delete from sandbox.terminal_tasks where id = $1`)
const dropTasksOf = statement(
  'sandbox.dropTerminalTasksOf',
  `delete from sandbox.terminal_tasks where group_id = $1 and device_id = $2 and ($3::text is null or transaction_id = $3) returning id`,
)
const dropAllTasks = statement('sandbox.dropAllTerminalTasks', `delete from sandbox.terminal_tasks`)

export const terminalTaskStore = {
  lockKey: (tx: Queries, groupId: string, deviceId: string) => tx.run(lockKey, [groupId, deviceId]),
  findKey: async (tx: Queries, groupId: string, deviceId: string) =>
    (await tx.run<{ sealed: Buffer }>(findKey, [groupId, deviceId]))[0]?.sealed,
  insertKey: (tx: Queries, groupId: string, deviceId: string, sealed: Buffer, at: Date) =>
    tx.run(insertKey, [groupId, deviceId, sealed, at]),
  insertTask: (on: Queries, row: TaskRow, runAt: Date) =>
    on.run(insertTask, [row.id, row.group_id, row.device_id, row.transaction_id, row.task, runAt]),
  due: (on: Queries) => on.run<TaskRow>(dueTasks, []),
  drop: (on: Queries, id: string) => on.run(dropTask, [id]),
  /** How many were dropped. */
  dropOf: async (on: Queries, groupId: string, deviceId: string, transactionId: string | null) =>
    (await on.run(dropTasksOf, [groupId, deviceId, transactionId])).length,
  dropAll: (on: Queries) => on.run(dropAllTasks, []),
}
