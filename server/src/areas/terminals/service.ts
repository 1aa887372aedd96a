import type { TerminalPrincipal } from '../../identity/terminal-keys.ts'
import { idsWithin, isUuid } from '../../kernel/ids.ts'
import { listedBy, pageSizeDefault, positionIn, type Listed } from '../../kernel/list.ts'
import { together } from '../../kernel/together.ts'
import { askVoid, happen, unchanged, voidWaitMs } from './course.ts'
import type { TerminalsDependencies } from './dependencies.ts'
import { notOfThisList, paymentOfAnother, refuse, terminalOfAnother } from './errors.ts'
import { isOpen, type TransactionState } from './machine.ts'
import { isPastRetention } from './retention.ts'
import { paymentCases } from './service-payments.ts'
import { connectionStore, type TerminalRow } from './store-connections.ts'
import { transactionStore as store, type TransactionRow } from './store-transactions.ts'

export interface TransactionFilter {
  readonly status?: readonly TransactionState[] | undefined
  readonly terminalId?: string | undefined
  readonly dateFrom?: string | undefined
  readonly dateTo?: string | undefined
  readonly pageSize?: number | undefined
  readonly cursor?: string | undefined
}

/** What became of a void. */
export interface Voided {
  readonly success: boolean
  readonly row: TransactionRow
  readonly reason: string
  readonly error: string | null
}

export type TerminalsService = ReturnType<typeof createTerminalsService>

const pollMs = 5_000
// Whoever looks again does so in the same moments as others, so that they look together.
const lookMs = 100
const readTogetherMax = 128

/** What a till can do, whichever way it speaks. Every call is within the group of its key. */
export function createTerminalsService(deps: TerminalsDependencies) {
  const { db, clock, cursors, ledger, waits } = deps
  const stopping = new AbortController()

  const findByDevice = together({
    async work(those: readonly { readonly groupId: string; readonly deviceId: string }[]) {
      const rows = await connectionStore.findByDevice(db, those)
      const byName = new Map(rows.map((row) => [`${row.group_id} ${row.device_id ?? ''}`, row]))
      return those.map(({ groupId, deviceId }) => byName.get(`${groupId} ${deviceId}`))
    },
    itemsMax: readTogetherMax,
    batchesMax: 2,
  })

  /** The terminal by its device id, else by its connection id. */
  const findTerminal = async (groupId: string, terminalId: string): Promise<TerminalRow> => {
    const found =
      (await findByDevice({ groupId, deviceId: terminalId })) ??
      (isUuid(terminalId) ? await connectionStore.findByConnection(db, groupId, terminalId) : undefined)
    if (found !== undefined) return found
    if (await connectionStore.exists(db, terminalId, isUuid(terminalId) ? terminalId : null, groupId))
      throw refuse('GROUP_MISMATCH', terminalOfAnother)
    throw refuse('TERMINAL_NOT_FOUND', 'The group has no such terminal; it has one from its first connection on.')
  }

  const findTransaction = async (groupId: string, transactionId: string): Promise<TransactionRow> => {
    const found = await store.find(db, groupId, transactionId)
    if (found !== undefined && !isPastRetention(found, clock.now())) return ledger.upToNow(found)
    if (found === undefined && (await store.isElsewhere(db, transactionId, groupId, clock.now())))
      throw paymentOfAnother()
    throw refuse('TRANSACTION_NOT_FOUND', 'There is no such transaction, or its retention has ended.')
  }

  /** A payment that is known, where it has changed. */
  const readNewer = together({
    async work(those: readonly TransactionRow[]) {
      const byId = new Map((await store.readNewer(db, those)).map((row) => [row.id, row]))
      return those.map(({ id }) => byId.get(id))
    },
    itemsMax: readTogetherMax,
  })

  // The payment goes on, and so does whoever waits for it: what cannot be read in this moment is looked at again.
  const look = (row: TransactionRow) => readNewer(row).catch(() => undefined)

  /** Waits until the payment is as wanted, until a deadline of business time, or until the server stops. */
  const waitUntil = async (
    row: TransactionRow,
    isDone: (row: TransactionRow) => boolean,
    deadlineOf: (row: TransactionRow) => Date | null,
    isFresh = false,
  ): Promise<TransactionRow> => {
    const wait = waits.next(row.id)
    try {
      let current = isFresh ? row : ((await readNewer(row)) ?? row)
      while (!isDone(current) && !stopping.signal.aborted) {
        const deadline = deadlineOf(current)
        const leftMs = deadline === null ? pollMs : deadline.getTime() - clock.now().getTime()
        // The deadline is a row that a worker claims; whoever waits for it need not wait for the worker.
        if (leftMs <= 0) {
          const applied = await ledger.change(row.id, unchanged)
          if (applied === undefined || applied.version === current.version) return applied ?? current
          current = applied
          continue
        }
        const given = await wait.happened(Math.min(leftMs, pollMs - (clock.wall() % lookMs)))
        current = given === undefined || given.version < current.version ? ((await look(current)) ?? current) : given
      }
      return current
    } finally {
      wait.leave()
    }
  }

  /** The first of those that may end a wait. */
  const firstDeadline = ({ reach_at, grace_at, wait_at }: TransactionRow): Date | null => {
    const times = [reach_at, grace_at, wait_at].flatMap((at) => at?.getTime() ?? [])
    return times.length === 0 ? null : new Date(Math.min(...times))
  }

  const isSettled = (row: TransactionRow) => row.given_up !== null || !isOpen(row.state)

  const alreadyVoided = (row: TransactionRow, reason: string): Voided => {
    const isConfirmed = row.void_cause === 'confirmed' || row.void_state === 'CONFIRMED'
    return {
      success: isConfirmed,
      row,
      reason: row.void_reason ?? reason,
      error: isConfirmed ? null : 'PENDING_CONFIRMATION',
    }
  }

  /** True when a void that runs was written less than its wait ago. */
  const runs = (row: TransactionRow, now: Date) =>
    row.void_state === 'ASKED' && row.void_asked_at !== null && now.getTime() < row.void_asked_at.getTime() + voidWaitMs

  return {
    ...paymentCases(deps, {
      findTerminal,
      waitFor: (row, isFresh) => waitUntil(row, isSettled, firstDeadline, isFresh),
    }),

    /** Terminals that are online or reconnecting. */
    listTerminals: (principal: TerminalPrincipal): Promise<TerminalRow[]> =>
      connectionStore.listConnected(db, principal.groupId),

    findTransaction: (principal: TerminalPrincipal, transactionId: string) =>
      findTransaction(principal.groupId, transactionId),

    async listTransactions(principal: TerminalPrincipal, query: TransactionFilter): Promise<Listed<TransactionRow>> {
      const { status, terminalId, dateFrom, dateTo, cursor, pageSize = pageSizeDefault } = query
      const within = idsWithin(dateFrom, dateTo)
      if (within === null)
        throw refuse('INVALID_REQUEST', 'dateFrom: is after dateTo.', 'dateFrom', 'not_after_date_to')
      const bound = ['terminal transactions', principal.groupId, status, terminalId, dateFrom, dateTo]
      const position = positionIn(cursors, cursor, bound, notOfThisList)
      await ledger.applyDue(principal.groupId)
      const rows = await store.list(db, principal.groupId, {
        from: within.from,
        before: position ?? within.before,
        states: status ?? null,
        terminalId: terminalId ?? null,
        now: clock.now(),
        rowsMax: pageSize + 1,
      })
      return listedBy(cursors, rows, pageSize, bound)
    },

    /** Asks for the end of an open payment; the result of the terminal decides. */
    async cancel(principal: TerminalPrincipal, transactionId: string): Promise<TransactionRow> {
      const { id } = await findTransaction(principal.groupId, transactionId)
      let refused = false
      const row = await ledger.change(id, (course, now) => {
        refused = !isOpen(course.state)
        return refused ? unchanged(course) : happen(course, course.created_at, 'cancel', now)
      })
      if (row === undefined || refused)
        throw refuse('INVALID_TRANSACTION_STATE', 'Only a payment that is open can be cancelled; this one has ended.')
      return row
    },

    /** Asks the terminal for a void of a completed payment, and waits 30 s for its answer. */
    async void(principal: TerminalPrincipal, transactionId: string, reason = 'requested'): Promise<Voided> {
      const found = await findTransaction(principal.groupId, transactionId)
      const terminal = await connectionStore.read(db, found.terminal_id, found.group_id)
      const asked = await ledger.change(found.id, (course, now) => {
        if (course.state !== 'COMPLETED' || runs(course, now) || terminal?.status !== 'online') return unchanged(course)
        return askVoid({ ...course, void_state: null }, reason, now)
      })
      if (asked === undefined) throw refuse('TRANSACTION_NOT_FOUND', 'There is no such transaction.')
      // Of the void that runs, which this one may have joined; one that does not begin has its own.
      const itsReason = asked.void_state === 'ASKED' ? (asked.void_reason ?? reason) : reason
      const refusedWith = (row: TransactionRow, error: string): Voided => ({
        success: false,
        row,
        reason: itsReason,
        error,
      })
      if (asked.state === 'VOIDED') return alreadyVoided(asked, reason)
      if (asked.state !== 'COMPLETED') return refusedWith(asked, 'INVALID_TRANSACTION_STATE')
      if (asked.void_state !== 'ASKED') return refusedWith(asked, 'TERMINAL_OFFLINE')
      const end = asked.void_asked_at === null ? null : new Date(asked.void_asked_at.getTime() + voidWaitMs)
      const row = await waitUntil(
        asked,
        (one) => one.state === 'VOIDED' || one.void_state !== 'ASKED',
        () => end,
      )
      if (row.state === 'VOIDED') return alreadyVoided(row, reason)
      return refusedWith(row, row.void_state === 'REFUSED' ? (row.void_error ?? 'TERMINAL_REFUSED') : 'TIMEOUT')
    },

    /** From now on calls that wait are answered as things stand. */
    stop(): void {
      stopping.abort()
      waits.wakeAll()
    },
  }
}
