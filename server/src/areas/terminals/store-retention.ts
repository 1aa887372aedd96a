import { statement, type Queries } from '../../kernel/db.ts'

const dropWhere = (name: string, past: string) =>
  statement(
    name,
    `with past as materialized (
       select t.id, t.group_id, t.transaction_id from terminals.transactions t
        where ${past} and t.run_at is null
          and not exists (select from terminals.attention a where a.transaction_id = t.id and a.settled_at is null)
        limit $2 for update of t skip locked
     ), taken as (
       insert into terminals.past_ids (group_id, transaction_id) select group_id, transaction_id from past on conflict do nothing
     ), settled as (
       delete from terminals.attention a using past where a.transaction_id = past.id
     )
     delete from terminals.transactions t using past where t.id = past.id returning t.id`,
  )

const drops = {
  // By the primary key: what has ended so long ago was begun before, and payments pay for no index more.
  http: dropWhere(
    'terminals.dropPastHttp',
    `t.way = 'http' and t.id < kernel.uuid_floor($1::timestamptz) and t.ended_at <= $1::timestamptz`,
  ),
  socket: dropWhere('terminals.dropPastSocket', `t.way = 'socket' and t.ended_at <= $1::timestamptz`),
}

const dropUnmatched = statement(
  'terminals.dropUnmatched',
  `delete from terminals.unmatched_results where id = any(array(
     select id from terminals.unmatched_results where settled_at <= $1 limit $2)) returning id`,
)

export const retentionStore = {
  /** Drops payments that ended by then, so many at most, and keeps their ids; resolves to how many they were. */
  drop: async (on: Queries, way: keyof typeof drops, endedBy: Date, rowsMax: number): Promise<number> =>
    (await on.run(drops[way], [endedBy, rowsMax])).length,
  /** Drops approvals of no payment that were settled by then. */
  dropUnmatched: async (on: Queries, settledBy: Date, rowsMax: number): Promise<number> =>
    (await on.run(dropUnmatched, [settledBy, rowsMax])).length,
}
