/**
 * An array as PostgreSQL reads it. Given to the driver as a text, since its own writing of an array takes longer than the statement that
 * reads it: it quotes and escapes every element, numbers too.
 */
export const arrayOf = (values: readonly Element[]): string => columnOf(values, (value) => value)

/** One value of each row, as such an array. */
export function columnOf<Row>(rows: readonly Row[], valueOf: (row: Row) => Element): string {
  let elements = ''
  for (const row of rows) elements += (elements === '' ? '' : ',') + elementOf(valueOf(row))
  return `{${elements}}`
}

type Element = string | number | bigint | boolean | null

function elementOf(value: Element): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  if (plain.test(value) && (value.length !== 4 || value.toUpperCase() !== 'NULL')) return value
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

// Ids, times and words need no quotes.
const plain = /^[\w:.+-]+$/
