/** Levels of lists and objects in one another: more than any use has, and few enough for whatever walks down them by calling itself. */
export const nestingMax = 100

const quote = 0x22
const backslash = 0x5c
const bracket = 0x5b
const bracketEnd = 0x5d
const brace = 0x7b
const braceEnd = 0x7d

/** Whether a JSON text has more levels than that. Whether it is JSON is for its parser to say. */
export function nestsTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (isInString) {
      if (character === backslash) at += 1
      else isInString = character !== quote
    } else if (character === quote) isInString = true
    else if (character === bracket || character === brace) {
      depth += 1
      if (depth > nestingMax) return true
    } else if (character === bracketEnd || character === braceEnd) depth -= 1
  }
  return false
}
