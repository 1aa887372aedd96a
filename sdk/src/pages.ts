import { isObject } from './arguments.ts'

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** The cursor of the one after it; null of the last. A text without anything in it where the answer lacks it. */
  readonly next: string | null
}

interface Paginated<Item> {
  readonly data: readonly Item[]
  readonly pagination: { readonly has_more: boolean; readonly next_cursor: string | null }
}

const isPaginated = (answer: unknown): boolean =>
  isObject(answer) && Array.isArray(answer['data']) && isObject(answer['pagination'])

/** The page that an answer is; undefined where it has no items or no pagination. */
export function readPage<Item>(answer: Paginated<Item>): Page<Item> | undefined {
  if (!isPaginated(answer)) return undefined
  const { data, pagination } = answer
  return { items: data, next: pagination.has_more ? (pagination.next_cursor ?? '') : null }
}

/** Every item of a list, page by page as they are asked for. Begins at `cursor` where one is given. */
export async function* eachOf<Item>(
  pageAt: (cursor: string | undefined) => Promise<Page<Item>>,
  cursor?: string,
): AsyncGenerator<Item, void, undefined> {
  for (let at = cursor; ;) {
    const { items, next } = await pageAt(at)
    yield* items
    if (next === null) return
    // Without one the first page would come again, and so on for ever.
    if (typeof next !== 'string' || next === '') throw new Error('the list has more, and gave no cursor for it')
    if (next === at) throw new Error('the list gave the same cursor twice: it would never end')
    at = next
  }
}
