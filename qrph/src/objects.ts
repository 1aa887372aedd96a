/** A data object of an EMVCo text: its id of two digits and its value. A template's value is a text of objects itself. */
export interface DataObject {
  readonly id: string
  readonly value: string
}

/** Why a text is no row of data objects, and at which id. */
export interface ObjectRefusal {
  readonly reason: 'truncated' | 'id' | 'length' | 'duplicate'
  readonly at: string
}

const valueCharactersMax = 99

/** How EMVCo texts count: characters, which are code points here, whatever bytes they take. */
export const charactersOf = (text: string): string[] => Array.from(text)

/** Objects one after the other: two digits of id, two of length, the value. An id may come once. */
export function readObjects(
  text: string,
): { readonly objects: readonly DataObject[] } | { readonly refusal: ObjectRefusal } {
  const characters = charactersOf(text)
  const objects: DataObject[] = []
  const seen = new Set<string>()
  for (let at = 0; at < characters.length;) {
    const id = characters.slice(at, at + 2).join('')
    const length = characters.slice(at + 2, at + 4).join('')
    if (characters.length < at + 4) return { refusal: { reason: 'truncated', at: id } }
    if (!/^[0-9]{2}$/.test(id)) return { refusal: { reason: 'id', at: id } }
    if (!/^[0-9]{2}$/.test(length) || length === '00') return { refusal: { reason: 'length', at: id } }
    const end = at + 4 + Number(length)
    if (characters.length < end) return { refusal: { reason: 'truncated', at: id } }
    if (seen.has(id)) return { refusal: { reason: 'duplicate', at: id } }
    seen.add(id)
    objects.push({ id, value: characters.slice(at + 4, end).join('') })
    at = end
  }
  return { objects }
}

/** Throws RangeError for an id that is not two digits, and for a value of nothing or of more than 99 characters. */
export function writeObjects(objects: Iterable<DataObject>): string {
  let text = ''
  for (const { id, value } of objects) {
    if (!/^[0-9]{2}$/.test(id)) throw new RangeError(`${id} is no id of two digits`)
    const { length } = charactersOf(value)
    if (length === 0 || length > valueCharactersMax)
      throw new RangeError(`the value of ${id} has ${length} characters, and 1 to ${valueCharactersMax} are possible`)
    text += id + String(length).padStart(2, '0') + value
  }
  return text
}
