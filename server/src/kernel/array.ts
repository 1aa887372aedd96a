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

/** The same, but empty where every value is null, for an `unnest` of several arrays: it fills up those that are shorter. */
export function sparseColumnOf<Row>(rows: readonly Row[], valueOf: (row: Row) => Element): string {
  return rows.every((row) => valueOf(row) === null) ? '{}' : columnOf(rows, valueOf)
}

/** The elements of such an array where none is quoted or null: numbers and ids. */
export const elementsOf = (array: string): string[] => (array === '{}' ? [] : array.slice(1, -1).split(','))

type Element = string | number | bigint | boolean | null

function elementOf(value: Element): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  if (plain.test(value) && (value.length !== 4 || value.toUpperCase() !== 'NULL')) return value
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

// Ids, times and words need no quotes.
const plain = /^[\w:.+-]+$/
