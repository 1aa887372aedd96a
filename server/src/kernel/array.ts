/**
 * An array as PostgreSQL reads it. Given to the driver as a text, since its own writing of an array takes longer than the statement that
 * reads it: it quotes and escapes every element, numbers too.
 */
export function arrayOf(values: readonly (string | number | bigint | boolean | null)[]): string {
  return `{${values.map(elementOf).join(',')}}`
}

function elementOf(value: string | number | bigint | boolean | null): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  if (plain.test(value) && (value.length !== 4 || value.toUpperCase() !== 'NULL')) return value
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

// Ids, times and words need no quotes.
const plain = /^[\w:.+-]+$/
