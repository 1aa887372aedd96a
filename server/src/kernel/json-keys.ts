/**
 * Whether a key stands twice in one object of a JSON text, whose parser has kept the last of them in the value and told nobody of the others.
 * For a value that nests no deeper than `nestingMax`.
 */
export const repeatsKey = (text: string, value: unknown): boolean => membersIn(text) > keysIn(value)

const quote = 0x22
const colon = 0x3a
const backslash = 0x5c

// Outside of strings there is one colon for each member.
function membersIn(text: string): number {
  let members = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character === quote) isInString = !isInString
    else if (isInString) at += Number(character === backslash)
    else if (character === colon) members += 1
  }
  return members
}

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
  let keys = Array.isArray(value) ? 0 : inner.length
  for (const one of inner) if (typeof one === 'object') keys += keysIn(one)
  return keys
}
