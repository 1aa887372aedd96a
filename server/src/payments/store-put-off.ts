import { statement, type Queries } from '../kernel/db.ts'

const putOff = statement('payments.putOff', 'select payments.put_off($1)')

// One whose next try is due counts until that has had its time.
const countPutOff = statement(
  'payments.countPutOff',
  `select count(*)::integer as count from payments.put_offs where run_at > kernel.now() - interval '1 minute'`,
)

export const putOffStore = {
  /** Leaves what is due of a link, an intent, an attempt, a code or a terminal payment alone for a while. */
  putOff: (on: Queries, id: string) => on.run(putOff, [id]),
  countPutOff: async (on: Queries): Promise<number> =>
    (await on.run<{ count: number }>(countPutOff, []))[0]?.count ?? 0,
}
