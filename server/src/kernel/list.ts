import type { Cursors } from './cursor.ts'
import type { Fault } from './fault.ts'

/** What a list found, newest first, and how it goes on. */
export interface Listed<Row> {
  readonly rows: readonly Row[]
  readonly pageSize: number
  /** Null on the last page. */
  readonly nextCursor: string | null
}

export const pageSizeDefault = 20

/** Behind which row a cursor goes on; undefined without a cursor. Throws the refusal where another list, other filters or another entity made it. */
export function positionIn(
  cursors: Cursors,
  cursor: string | undefined,
  boundTo: readonly unknown[],
  refusal: () => Fault,
): string | undefined {
  if (cursor === undefined) return undefined
  const position = cursors.read(cursor, boundTo)
  if (position === null) throw refusal()
  return position[0]
}

/**
 * The page of a list by id. `found` holds one row more than the page where the list goes on. The cursor is bound to the list, its filters and the
 * entity that asked. A search that stopped before the page was full goes on behind the row `stoppedAt`.
 */
export function listedBy<Row extends { readonly id: string }>(
  cursors: Cursors,
  found: readonly Row[],
  pageSize: number,
  boundTo: readonly unknown[],
  stoppedAt: string | null = null,
): Listed<Row> {
  const rows = found.slice(0, pageSize)
  const last = found.length > pageSize ? (rows.at(-1)?.id ?? null) : stoppedAt
  const nextCursor = last === null ? null : cursors.write([last], boundTo)
  return { rows, pageSize, nextCursor }
}

/** The list as areas A, B and C show it. */
export const listEnvelope = <Row, Shown>(
  { rows, pageSize, nextCursor }: Listed<Row>,
  present: (row: Row) => Shown,
) => ({
  data: rows.map(present),
  pagination: { page_size: pageSize, has_more: nextCursor !== null, next_cursor: nextCursor },
})
