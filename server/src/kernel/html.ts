const markup = Symbol('markup')
const attributeList = Symbol('attributes')

/** Markup that is safe to send. Only `html`, `raw` and, for a tag's attributes, `attributes` make it; no input can look like it. */
export interface HtmlText {
  readonly [markup]: string
}

/** A run of attributes for the inside of a tag, made by `attributes`. */
export interface HtmlAttributes {
  readonly [attributeList]: string
}

/** What may stand in a hole of an `html` template. Null, undefined and false render nothing. */
export type HtmlPart =
  HtmlText | HtmlAttributes | string | number | bigint | false | null | undefined | readonly HtmlPart[]

/** Where a hole is: between tags, inside a tag, or inside a double-quoted attribute value. */
type Place = 'text' | 'tag' | 'value'

const placesOfTemplate = new WeakMap<TemplateStringsArray, readonly Place[]>()

/**
 * A template tag that escapes: strings and numbers are escaped for text and for double-quoted attribute values; nested `html`
 * values and arrays of them pass as they are. A hole where escaping cannot help (an unquoted or single-quoted attribute, a tag's
 * name, a comment, a script, a style) and a part that does not belong in its place throw a TypeError on the first render.
 */
export function html(strings: TemplateStringsArray, ...parts: HtmlPart[]): HtmlText {
  const places = placesOf(strings)
  let text = strings[0] ?? ''
  for (const [index, part] of parts.entries()) {
    text += partText(part, places[index] ?? 'text') + (strings[index + 1] ?? '')
  }
  return { [markup]: text }
}

/**
 * Attributes for the inside of a tag, each with a space before it: `<input${attributes({ id, required: true })}>`. True gives the bare
 * name; false, null and undefined leave the attribute out. A name that is not an attribute's, a handler (`onclick`) or `style` throws a TypeError.
 */
export function attributes(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): HtmlAttributes {
  let text = ''
  for (const [name, value] of Object.entries(values)) {
    if (!/^[a-z][a-z0-9:-]*$/.test(name) || name.startsWith('on') || name === 'style') {
      throw new TypeError(`not an attribute that a page may carry: ${JSON.stringify(name)}`)
    }
    if (value === false || value === null || value === undefined) continue
    text += value === true ? ` ${name}` : ` ${name}="${escaped(String(value))}"`
  }
  return { [attributeList]: text }
}

/** Takes markup as it is. For static files of the program only, never for anything that came in. */
export function raw(staticMarkup: string): HtmlText {
  return { [markup]: staticMarkup }
}

/** The markup as a string, to be sent. */
export function htmlString(text: HtmlText): string {
  return text[markup]
}

function partText(part: HtmlPart, place: Place): string {
  if (part === null || part === undefined || part === false) return ''
  if (typeof part === 'object' && attributeList in part) {
    if (place !== 'tag') throw new TypeError('attributes belong inside a tag')
    return part[attributeList]
  }
  if (place === 'tag') throw new TypeError('inside a tag only attributes() may stand outside of quotes')
  if (isArray(part)) return part.map((each) => partText(each, place)).join('')
  if (typeof part === 'object' && markup in part) {
    if (place !== 'text') throw new TypeError('markup does not belong in an attribute value')
    return part[markup]
  }
  if (typeof part === 'string' || typeof part === 'number' || typeof part === 'bigint') return escaped(String(part))
  throw new TypeError(`not something a page can show: ${typeof part}`)
}

// Array.isArray does not narrow a union that holds a readonly array.
function isArray(part: HtmlPart): part is readonly HtmlPart[] {
  return Array.isArray(part)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
}

function placesOf(strings: TemplateStringsArray): readonly Place[] {
  const known = placesOfTemplate.get(strings)
  if (known !== undefined) return known
  if (/<!--|<(?:script|style)\b[^>]*>(?!<\/)/i.test(strings.join('…'))) {
    throw new TypeError('a template holds no comment and no inline script or style')
  }
  const places: Place[] = []
  let place: Place = 'text'
  for (const literal of strings.slice(0, -1)) {
    place = placeAfter(literal, place)
    if (place === 'text' && literal.endsWith('<')) throw new TypeError("a hole cannot be a tag's name")
    if (place === 'tag' && /=\s*$/.test(literal)) throw new TypeError('an attribute value needs double quotes')
    places.push(place)
  }
  placesOfTemplate.set(strings, places)
  return places
}

function placeAfter(literal: string, before: Place): Place {
  let place = before
  for (let index = 0; index < literal.length; index++) {
    const character = literal[index]
    if (place === 'text') {
      if (character === '<' && /[a-z/!]/i.test(literal[index + 1] ?? '')) place = 'tag'
    } else if (place === 'value') {
      if (character === '"') place = 'tag'
    } else if (character === '>') place = 'text'
    else if (character === '"') place = 'value'
    else if (character === "'") throw new TypeError('attribute values take double quotes')
  }
  return place
}
