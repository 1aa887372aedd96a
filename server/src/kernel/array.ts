/**
 * An array as PostgreSQL reads it. Given to the driver as a text, since its own writing of an array takes longer than the statement that
 * reads it: it quotes and escapes every element, numbers too.
 */
export function arrayOf(values: readonly Element[]): string {
  let elements = ''
  for (const value of values) elements += (elements === '' ? '' : ',') + elementOf(value)
  return `{${elements}}`
}

/** The same of one value of each row, but empty where all are null, for an `unnest` of several arrays: it fills up those that are shorter. */
export function sparseColumnOf<Row>(rows: readonly Row[], valueOf: (row: Row) => Element): string {
  const values = rows.map(valueOf)
  return values.every((value) => value === null) ? '{}' : arrayOf(values)
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

/** How numbers of a type stand in PostgreSQL's binary form: its oid, and its values, big-endian. */
interface NumberType<Value> {
  readonly oid: number
  readonly bytes: number
  write(into: DataView, at: number, value: Value): void
}

const numberTypes = {
  bigint: { oid: 20, bytes: 8, write: (into, at, value) => into.setBigInt64(at, value) },
  integer: { oid: 23, bytes: 4, write: (into, at, value) => into.setInt32(at, value) },
  float8: { oid: 701, bytes: 8, write: (into, at, value) => into.setFloat64(at, value) },
} satisfies { bigint: NumberType<bigint>; integer: NumberType<number>; float8: NumberType<number> }

type ValueOf<Type extends keyof typeof numberTypes> = Parameters<(typeof numberTypes)[Type]['write']>[2]

const headBytes = 20
const textTypes = { text: 25, json: 114 }

/** Dimensions, whether there are nulls, type; length and first index of the one dimension. */
function writeHead(into: DataView, oid: number, length: number): void {
  for (const [place, field] of [1, 1, oid, length, 1].entries()) into.setInt32(place * 4, field)
}

const viewOf = ({ buffer, byteOffset, length }: Buffer) => new DataView(buffer, byteOffset, length)

/**
 * One value of each row, as an array in PostgreSQL's binary form, for a parameter of just that type of array. For long columns: nothing is
 * quoted or read letter by letter, on either side.
 */
export function numbersOf<Type extends keyof typeof numberTypes, Row>(
  name: Type,
  rows: readonly Row[],
  valueOf: (row: Row) => ValueOf<Type> | null,
): Buffer {
  const type: NumberType<never> = numberTypes[name]
  const bytes = Buffer.allocUnsafe(headBytes + rows.length * (4 + type.bytes))
  const view = viewOf(bytes)
  writeHead(view, type.oid, rows.length)
  let at = headBytes
  for (const row of rows) {
    const value = valueOf(row)
    view.setInt32(at, value === null ? -1 : type.bytes)
    at += 4
    if (value === null) continue
    type.write(view, at, value as never)
    at += type.bytes
  }
  return bytes.subarray(0, at)
}

/** The same of texts, or of JSON. */
export function textsOf<Row>(
  name: keyof typeof textTypes,
  rows: readonly Row[],
  valueOf: (row: Row) => string | null,
): Buffer {
  const values = rows.map(valueOf)
  let size = headBytes
  for (const value of values) size += 4 + (value === null ? 0 : Buffer.byteLength(value))
  const bytes = Buffer.allocUnsafe(size)
  const view = viewOf(bytes)
  writeHead(view, textTypes[name], rows.length)
  let at = headBytes
  for (const value of values) {
    const length = value === null ? -1 : bytes.write(value, at + 4)
    view.setInt32(at, length)
    at += 4 + Math.max(0, length)
  }
  return bytes
}
