import { recordTypes, type Records } from './database.gen.ts'

const postgresEpochMs = Date.UTC(2000, 0, 1)
const high = 2 ** 32
const lengthBytes = 4
const headBytes = 20
const fieldHeadBytes = 8
const fieldBytesMax = 16
const utf8BytesMax = 3
const keptBytesMax = 2 ** 20

/** What a composite type of an installation's own has here: PostgreSQL knows such a type by the parameter, and believes no other number. */
const someType = 0

const oids = {
  uuid: 2950,
  text: 25,
  boolean: 16,
  bytea: 17,
  integer: 23,
  bigint: 20,
  'timestamp with time zone': 1184,
} as const
type Type = keyof typeof oids
interface Column {
  readonly name: string
  readonly type: Type
}

const columnsOf = Object.fromEntries(
  Object.entries(recordTypes).map(([record, types]) => [
    record,
    Object.entries(types).map(([name, type]): Column => ({ name, type })),
  ]),
) as unknown as Readonly<Record<keyof Records, readonly Column[]>>

// What is written is copied from here at once: so it need not be known before how long it gets.
let bytes: Buffer
let view: DataView
begin()

function begin(): void {
  bytes = Buffer.alloc(2 ** 16)
  view = new DataView(bytes.buffer)
}

function makeRoom(until: number): void {
  if (until <= bytes.length) return
  const larger = Buffer.allocUnsafeSlow(until * 2)
  bytes.copy(larger)
  bytes = larger
  view = new DataView(larger.buffer)
}

/**
 * Rows as an array of a composite type in PostgreSQL's binary form, for a parameter of just that type of array: nothing is written as text
 * and read letter by letter, on either side. Throws a TypeError for an id that is no UUID or a time that is none, and a RangeError for a
 * number that its column does not hold.
 */
export function recordsOf<Name extends keyof Records>(name: Name, rows: readonly Records[Name][]): Buffer {
  const columns = columnsOf[name]
  // Dimensions, whether there are nulls, type; length and first index of the one dimension.
  for (const [place, field] of [1, 0, someType, rows.length, 1].entries()) view.setInt32(place * 4, field)
  let at = headBytes
  for (const row of rows) at = writeRow(at, columns, row)
  const written = Buffer.from(bytes.subarray(0, at))
  if (bytes.length > keptBytesMax) begin()
  return written
}

/** Writes its length, the number of its columns, and of each its type, its length and its value; gives the place behind it. */
function writeRow(start: number, columns: readonly Column[], row: Readonly<Record<string, unknown>>): number {
  makeRoom(start + 2 * lengthBytes)
  view.setInt32(start + lengthBytes, columns.length)
  let at = start + 2 * lengthBytes
  for (const { name, type } of columns) {
    const value = row[name]
    makeRoom(at + fieldHeadBytes + fieldBytesMax)
    view.setInt32(at, oids[type])
    const length = value === null || value === undefined ? -1 : writeValue(at + fieldHeadBytes, type, value)
    view.setInt32(at + 4, length)
    at += fieldHeadBytes + Math.max(0, length)
  }
  view.setInt32(start, at - start - lengthBytes)
  return at
}

/** Gives its length. */
function writeValue(at: number, type: Type, value: unknown): number {
  switch (type) {
    case 'uuid':
      return writeUuid(at, value as string)
    case 'text':
      return writeText(at, value as string)
    case 'boolean':
      bytes[at] = value === true ? 1 : 0
      return 1
    case 'bytea':
      makeRoom(at + (value as Buffer).length)
      return (value as Buffer).copy(bytes, at)
    case 'integer':
      view.setInt32(at, fitting(value as number, (value as number) | 0))
      return 4
    case 'bigint':
      view.setBigInt64(at, fitting(value as bigint, BigInt.asIntN(64, value as bigint)))
      return 8
    case 'timestamp with time zone':
      return writeTime(at, value as Date)
  }
}

// What is too large would be written as another number.
function fitting<Value extends number | bigint>(value: Value, written: Value): Value {
  if (value !== written) throw new RangeError('a number does not fit into its column')
  return value
}

function writeText(at: number, text: string): number {
  makeRoom(at + text.length * utf8BytesMax)
  return bytes.write(text, at)
}

// Microseconds since 2000, in two halves: those of years to come are beyond what a number holds to the last of them.
function writeTime(at: number, time: Date): number {
  const ms = time.getTime() - postgresEpochMs
  if (Number.isNaN(ms)) throw new TypeError('a time is none')
  const above = Math.floor(ms / high)
  const low = (ms - above * high) * 1_000
  const carried = Math.floor(low / high)
  view.setInt32(at, above * 1_000 + carried)
  view.setUint32(at + 4, low - carried * high)
  return 8
}

const noDigit = 256
const digits = new Uint16Array(128).fill(noDigit)
for (const [value, digit] of '0123456789abcdef'.split('').entries()) {
  digits[digit.charCodeAt(0)] = value
  digits[digit.toUpperCase().charCodeAt(0)] = value
}
const digitAt = (text: string, place: number): number => digits[text.charCodeAt(place)] ?? noDigit
// Where the two digits of each byte stand.
const placesOfBytes = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const
const uuidBytes = placesOfBytes.length

const hasForm = (id: string): boolean =>
  id.length === 36 && id[8] === '-' && id[13] === '-' && id[18] === '-' && id[23] === '-'

function writeUuid(at: number, id: string): number {
  let seen = hasForm(id) ? 0 : noDigit
  for (let index = 0; index < uuidBytes; index += 1) {
    const place = placesOfBytes[index] as number
    const byte = (digitAt(id, place) << 4) | digitAt(id, place + 1)
    seen |= byte
    bytes[at + index] = byte
  }
  if (seen >= noDigit) throw new TypeError('an id is no UUID')
  return uuidBytes
}
