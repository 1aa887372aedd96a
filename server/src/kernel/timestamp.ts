// No day has the hour 24, which Date.parse knows. A leap second is in the grammar and in no clock of ours.
const form = /^\d{4}-\d{2}-\d{2}[Tt](?!24)\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/
const writable = { from: Date.parse('0000-01-01T00:00:00Z'), to: Date.parse('9999-12-31T23:59:59.999Z') }

/** Whether a text is a moment as RFC 3339 writes it, on a day that its month has. Its fraction may have any number of digits. */
export function isTimestamp(text: string): boolean {
  if (!form.test(text)) return false
  const day = Number(text.slice(8, 10))
  const ms = msOf(text)
  // NaN compares to nothing. An offset may carry a time out of the years that four digits can write.
  if (!(ms >= writable.from && ms <= writable.to)) return false
  // A day that the month does not have would roll over into the next one.
  return day <= daysIn(Number(text.slice(0, 4)), Number(text.slice(5, 7)))
}

/**
 * A timestamp in ms since 1970, what is finer left out; NaN of a text that is none. `Date.parse` misreads a fraction of more than nine digits that
 * begins with a zero.
 */
export const msOf = (text: string): number => Date.parse(text.toUpperCase().replace(/(\.\d{3})\d+/, '$1'))

/** Whether it lies within its millisecond, after the beginning of that: what happened in that millisecond counts as before it. */
export const isFinerThanMs = (text: string): boolean => /\.\d{3}\d*[1-9]/.test(text)

// Date.UTC takes a year below 100 for one of the last century; 400 years later the calendar is the same.
const daysIn = (year: number, month: number): number => new Date(Date.UTC(year + 400, month, 0)).getUTCDate()
