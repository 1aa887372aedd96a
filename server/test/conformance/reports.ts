import assert from 'node:assert/strict'
import type { Platform } from '../platform.ts'
import { call, type Answer } from './call.ts'

export const transactionsPath = '/reports/v1/transactions'

export interface Row {
  readonly id: string
  readonly status: string
  readonly amount: number
  readonly created_at: string
  readonly updated_at: string
  readonly [field: string]: unknown
}

export const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

/** The list of transactions over plain HTTP, with the key of the first merchant unless told. */
export function transactionsOf(p: Pick<Platform, 'url' | 'merchant'>) {
  const list = (query: string, key: string = p.merchant.secret_key): Promise<Answer> =>
    call(p.url, { path: query === '' ? transactionsPath : `${transactionsPath}?${query}`, key })
  return {
    list,
    async listed(query: string, key?: string): Promise<Row[]> {
      const answer = await list(query, key)
      assert.equal(answer.status, 200, answer.text)
      return answer.json.data
    },
    /** All rows of a query, by its pages. */
    async walk(query: string, pageSize: number, key?: string, between: () => Promise<unknown> = async () => {}) {
      const found: Row[] = []
      for (let cursor = ''; ;) {
        const answer = await list(`${query}&page_size=${pageSize}${cursor}`, key)
        assert.equal(answer.status, 200, answer.text)
        found.push(...answer.json.data)
        if (!answer.json.pagination.has_more) return found
        cursor = `&cursor=${encodeURIComponent(answer.json.pagination.next_cursor)}`
        await between()
      }
    },
  }
}
