import type { Cursors } from './cursor.ts'

/** What a list found, newest first, and how it goes on. */
export interface Listed<Row> {
  readonly rows: readonly Row[]
  readonly pageSize: number
  /** Null on the last page. */
  readonly nextCursor: string | null
}

export const pageSizeDefault = 20

/**
 * The page of a list by id. `found` holds one row more than the page where the list goes on. The cursor is bound to the list, its filters and the
 * entity that asked.
 */
export function listedBy<Row extends { readonly id: string }>(
  cursors: Cursors,
  found: readonly Row[],
  pageSize: number,
  boundTo: readonly unknown[],
): Listed<Row> {
  const rows = found.slice(0, pageSize)
  const last = rows.at(-1)
  const nextCursor = found.length > pageSize && last !== undefined ? cursors.write([last.id], boundTo) : null
  return { rows, pageSize, nextCursor }
}

/** The list as areas A and C show it. */
export const listEnvelope = <Row, Shown>(
  { rows, pageSize, nextCursor }: Listed<Row>,
  present: (row: Row) => Shown,
) => ({
  data: rows.map(present),
  pagination: { page_size: pageSize, has_more: nextCursor !== null, next_cursor: nextCursor },
})
