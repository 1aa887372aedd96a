import { isObject } from './arguments.ts'

interface PageOf<Item> {
  readonly data: readonly Item[]
  readonly pagination: { readonly has_more: boolean; readonly next_cursor: string | null }
}

/** Whether an answer has what is read of a page. */
export const isPage = (answer: unknown): boolean =>
  isObject(answer) && Array.isArray(answer['data']) && isObject(answer['pagination'])

/** Every item of a list, page by page as they are asked for. Begins at `cursor` where one is given. */
export async function* eachOf<Item>(
  readPage: (cursor: string | undefined) => Promise<PageOf<Item>>,
  cursor?: string,
): AsyncGenerator<Item, void, undefined> {
  for (let at = cursor; ;) {
    const { data, pagination } = await readPage(at)
    yield* data
    const next = pagination.next_cursor
    if (!pagination.has_more || next === null) return
    if (next === at) throw new Error('the list gave the same cursor twice: it would never end')
    at = next
  }
}
