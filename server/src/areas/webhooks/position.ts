import type { Cursors } from '../../kernel/cursor.ts'
import { refuse } from './errors.ts'

/** What a cursor stands for; INVALID_CURSOR when another list, other filters or another entity made it. */
export function positionIn(
  cursors: Cursors,
  cursor: string | undefined,
  boundTo: readonly unknown[],
): string | undefined {
  if (cursor === undefined) return undefined
  const position = cursors.read(cursor, boundTo)
  if (position !== null) return position[0]
  throw refuse('INVALID_CURSOR', 'cursor: is not one of this list with these filters; start again without it.')
}
