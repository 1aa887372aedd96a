import { digitsOf } from './json-digits.ts'

/** The same JSON with its keys in one order, at every depth, so that equal bodies are equal text. */
export function inKeyOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || digitsOf(value) !== undefined) return value
  if (Array.isArray(value)) return value.map(inKeyOrder)
  const names = Object.keys(value).toSorted()
  // A key may be __proto__: assigned, it would be none.
  return Object.fromEntries(names.map((name) => [name, inKeyOrder((value as Record<string, unknown>)[name])]))
}
