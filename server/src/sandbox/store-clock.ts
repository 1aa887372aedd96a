import { statement, type Queries } from '../kernel/db.ts'

// Every room publishes when its earliest open thing falls due. A row in flight keeps its time, so it counts until it is settled.
const readDue = statement(
  'sandbox.readDue',
  `select due.at as next, due.at <= kernel.now() as busy
     from (select least(delivery.next_due(), payments.next_due(), payments.next_settlement_due(), ecommerce.next_due(), terminals.next_due(), qr.next_due(), sandbox.next_due()) as at) due`,
)
const moveClock = statement('sandbox.moveClock', 'select kernel.move_clock_to($1)')
const raiseOffset = statement('sandbox.raiseOffset', 'select kernel.raise_clock_offset($1)')
// Taken again by whoever has it, which says that it is still held.
const takeTurn = statement(
  'sandbox.takeClockTurn',
  `select pg_try_advisory_xact_lock(hashtext('sandbox.clock')) as taken`,
)

/** When the next thing falls due, null where none is open; and whether that is over and not done. */
interface Due {
  readonly next: Date | null
  readonly busy: boolean
}

export const clockStore = {
  due: async (on: Queries): Promise<Due> => {
    const [row] = await on.run<{ next: Date | null; busy: boolean | null }>(readDue, [])
    return { next: row?.next ?? null, busy: row?.busy ?? false }
  },
  moveTo: (on: Queries, to: Date) => on.run(moveClock, [to]),
  /** To so many ms ahead of system time. */
  raiseOffset: (on: Queries, ms: number) => on.run(raiseOffset, [ms]),
  takeTurn: async (tx: Queries): Promise<boolean> =>
    (await tx.run<{ taken: boolean }>(takeTurn, []))[0]?.taken === true,
}
