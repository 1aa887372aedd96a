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

/** A virtual terminal that a process runs, and what another process asks of it. */
export interface HeldRow {
  readonly group_id: string
  readonly device_id: string
  readonly asked: Errand | null
}

export type Errand = 'start' | 'stop'

/** Terminals of a partner by their device id: that of one group, or of every group. */
export interface TerminalsNamed {
  readonly partnerId: string
  readonly groupId: string | null
  readonly deviceId: string
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
const hasSocket = statement('sandbox.hasSocket', 'select terminals.has_socket($1, $2) as has_socket')
const insertTask = statement(
  'sandbox.insertTerminalTask',
  `insert into sandbox.terminal_tasks (id, group_id, device_id, transaction_id, task, run_at) values ($1, $2, $3, $4, $5, $6)`,
)
const dueTasks = statement(
  'sandbox.dueTerminalTasks',
  `select t.id, t.group_id, t.device_id, t.transaction_id, t.task from sandbox.terminal_tasks t
     join sandbox.virtual_terminals v on v.group_id = t.group_id and v.device_id = t.device_id
    where v.node_id = $1 and t.run_at <= kernel.now() order by t.run_at, t.id limit 100`,
)
const postponeTask = statement(
  'sandbox.postponeTerminalTask',
  `update sandbox.terminal_tasks set run_at = kernel.now() + $2::integer * interval '1 second' where id = $1`,
)
const dropTask = statement('sandbox.dropTerminalTask', `delete from sandbox.terminal_tasks where id = $1`)
const dropTasksOf = statement(
  'sandbox.dropTerminalTasksOf',
  `delete from sandbox.terminal_tasks where group_id = $1 and device_id = $2 and transaction_id = $3 returning id`,
)

const lease = `clock_timestamp() + interval '8 seconds'`
// What it would have done belongs to a run that is over.
const claimTerminal = statement(
  'sandbox.claimVirtualTerminal',
  `with claimed as (
     update sandbox.virtual_terminals v set node_id = $1, partner_id = $2, lease_until = ${lease}, asked = null
      where v.group_id = $3 and v.device_id = $4 and (v.node_id is null or v.node_id = $1 or v.lease_until <= clock_timestamp())
      returning v.group_id, v.device_id),
   dropped as (
     delete from sandbox.terminal_tasks t using claimed c where t.group_id = c.group_id and t.device_id = c.device_id)
   select 1 as claimed from claimed`,
)
const releaseTerminals = statement(
  'sandbox.releaseVirtualTerminals',
  `with released as (
     update sandbox.virtual_terminals v set node_id = null, lease_until = null, asked = null
      where v.node_id = $1 and ($2::uuid is null or v.group_id = $2) and ($3::text is null or v.device_id = $3)
      returning v.group_id, v.device_id)
   delete from sandbox.terminal_tasks t using released r where t.group_id = r.group_id and t.device_id = r.device_id`,
)
// A lease that ran out is renewed all the same where nobody has claimed its terminal: after a minute without a database nothing is lost but time.
const renewLeases = statement(
  'sandbox.renewTerminalLeases',
  `with renewed as (
     update sandbox.virtual_terminals v set lease_until = ${lease}
      where v.node_id = $1 and v.lease_until < clock_timestamp() + interval '6 seconds')
   select h.group_id, h.device_id, h.asked from sandbox.virtual_terminals h where h.node_id = $1`,
)
const dropLeftTasks = statement(
  'sandbox.dropLeftTerminalTasks',
  `delete from sandbox.terminal_tasks t
    where not exists (select from sandbox.virtual_terminals v
                       where v.group_id = t.group_id and v.device_id = t.device_id and v.lease_until > clock_timestamp() - interval '1 hour')`,
)
const whoseAsked = `v.partner_id = $2 and v.device_id = $4 and ($3::uuid is null or v.group_id = $3)
  and v.node_id <> $1 and v.lease_until > clock_timestamp()`
const askNodes = statement(
  'sandbox.askTerminalNodes',
  `update sandbox.virtual_terminals v set asked = $5 where ${whoseAsked} returning v.group_id`,
)
const stillAsked = statement(
  'sandbox.stillAskedOfTerminalNodes',
  `select v.group_id from sandbox.virtual_terminals v where ${whoseAsked} and v.asked is not null`,
)
const heldElsewhere = statement(
  'sandbox.terminalsHeldElsewhere',
  `select exists (select from sandbox.terminal_tasks t
                   where t.group_id = v.group_id and t.device_id = v.device_id and t.task = 'connect') as comes_back
     from sandbox.virtual_terminals v where ${whoseAsked}`,
)
const markAnswered = statement(
  'sandbox.markTerminalAnswered',
  `update sandbox.virtual_terminals v set asked = null
    where v.node_id = $1 and v.group_id = $2 and v.device_id = $3 and v.asked = 'start'`,
)

const whose = (nodeId: string, { partnerId, groupId, deviceId }: TerminalsNamed) => [
  nodeId,
  partnerId,
  groupId,
  deviceId,
]

export const terminalTaskStore = {
  /** Whether the platform counts it as connected. */
  hasSocket: async (on: Queries, groupId: string, deviceId: string): Promise<boolean> =>
    (await on.run<{ has_socket: boolean }>(hasSocket, [groupId, deviceId]))[0]?.has_socket ?? false,
  lockKey: (tx: Queries, groupId: string, deviceId: string) => tx.run(lockKey, [groupId, deviceId]),
  findKey: async (tx: Queries, groupId: string, deviceId: string) =>
    (await tx.run<{ sealed: Buffer }>(findKey, [groupId, deviceId]))[0]?.sealed,
  insertKey: (tx: Queries, groupId: string, deviceId: string, sealed: Buffer, at: Date) =>
    tx.run(insertKey, [groupId, deviceId, sealed, at]),
  insertTask: (on: Queries, row: TaskRow, runAt: Date) =>
    on.run(insertTask, [row.id, row.group_id, row.device_id, row.transaction_id, row.task, runAt]),
  /** Of the terminals that a process runs. */
  due: (on: Queries, nodeId: string) => on.run<TaskRow>(dueTasks, [nodeId]),
  postpone: (on: Queries, id: string, seconds: number) => on.run(postponeTask, [id, seconds]),
  drop: (on: Queries, id: string) => on.run(dropTask, [id]),
  /** How many were dropped. */
  dropOf: async (on: Queries, groupId: string, deviceId: string, transactionId: string) =>
    (await on.run(dropTasksOf, [groupId, deviceId, transactionId])).length,
  /** What belongs to terminals that nobody runs any more. */
  dropLeft: (on: Queries) => on.run(dropLeftTasks, []),
}

export const terminalLeaseStore = {
  /** False where another process runs it. */
  claim: async (on: Queries, nodeId: string, partnerId: string, groupId: string, deviceId: string) =>
    (await on.run(claimTerminal, [nodeId, partnerId, groupId, deviceId])).length === 1,
  release: (on: Queries, nodeId: string, groupId: string, deviceId: string) =>
    on.run(releaseTerminals, [nodeId, groupId, deviceId]),
  releaseAll: (on: Queries, nodeId: string) => on.run(releaseTerminals, [nodeId, null, null]),
  /** Resolves to all that the process runs. */
  renew: (on: Queries, nodeId: string) => on.run<HeldRow>(renewLeases, [nodeId]),
  /** How many were asked: those that other processes run. */
  ask: async (on: Queries, nodeId: string, asking: TerminalsNamed, what: Errand) =>
    (await on.run(askNodes, [...whose(nodeId, asking), what])).length,
  isAsked: async (on: Queries, nodeId: string, asking: TerminalsNamed) =>
    (await on.run(stillAsked, whose(nodeId, asking))).length > 0,
  /** Those that other processes run, and whether their scripts have them off the line for now. */
  elsewhere: (on: Queries, nodeId: string, asking: TerminalsNamed) =>
    on.run<{ comes_back: boolean }>(heldElsewhere, whose(nodeId, asking)),
  markAnswered: (on: Queries, nodeId: string, groupId: string, deviceId: string) =>
    on.run(markAnswered, [nodeId, groupId, deviceId]),
}
