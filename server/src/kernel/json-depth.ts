/** Levels of lists and objects in one another: more than any use has, and few enough for whatever walks down them by calling itself. */
export const nestingMax = 100

/** Whether a JSON text has more levels than that. Whether it is JSON is for its parser to say. */
export function nestsTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (isInString) {
      if (character === '\\') at += 1
      else isInString = character !== '"'
    } else if (character === '"') isInString = true
    else if (character === '[' || character === '{') {
      depth += 1
      if (depth > nestingMax) return true
    } else if (character === ']' || character === '}') depth -= 1
  }
  return false
}
