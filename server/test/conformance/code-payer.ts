import assert from 'node:assert/strict'
import { cards, type Platform } from '../platform.ts'
import { bankOf } from './qr-account.ts'
import { rowsOf } from './shop.ts'

export interface Page {
  readonly status: number
  readonly text: string
  readonly location: string | null
}

/** The hidden fields of one form on a page, as a browser sends them back. */
export const hiddenOf = ({ text }: Pick<Page, 'text'>, form: RegExp = /<form[^]*?<\/form>/): Record<string, string> =>
  Object.fromEntries(
    [...(form.exec(text)?.[0] ?? '').matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
      ([, name, value]) => [name, value],
    ),
  )

const unescaped = (text: string): string =>
  text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&')

/** How a page says that the payment stands. */
export const outcomeOf = ({ text }: Page): string | undefined => /data-outcome="(\w+)"/.exec(text)?.[1]

/** The text of the code that a page shows. */
export const textOn = ({ text }: Page): string | undefined => {
  const found = /<textarea[^>]*>([^<]*)<\/textarea>/.exec(text)?.[1]
  return found === undefined ? undefined : unescaped(found)
}

/** A payer whose browser runs no scripts, with a bank that knows QR Ph. */
export function startPayer(p: Pick<Platform, 'url' | 'seed'>) {
  const get = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<Page> =>
    pageOf(await fetch(url, { redirect: 'manual', headers }))
  const post = async (url: string, fields: Readonly<Record<string, string>>): Promise<Page> =>
    pageOf(await fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' }))
  const bank = bankOf(p)

  const askCode = (url: string, page: Page) => post(url, { ...hiddenOf(page), method: 'qrph' })
  return {
    get,
    post,
    /** Asks for a code by the form of a page. */
    askCode,
    payByCard: (url: string, page: Page, number: string = cards.approved) =>
      post(url, { ...hiddenOf(page), number, expiry: '12/60', cvc: '123' }),
    /** Chooses QR Ph on the page at this address. */
    async chooseCode(url: string): Promise<{ readonly page: string; readonly text: string }> {
      const answer = await askCode(url, await get(url))
      assert.equal(answer.status, 303, answer.text)
      const page = answer.location ?? ''
      const text = textOn(await get(page))
      assert.ok(text !== undefined, 'the page shows no code')
      return { page, text }
    },
    /** Gives up the code of the page at this address. */
    giveUp: async (url: string, page?: Page) => post(`${url}/other`, hiddenOf(page ?? (await get(url)))),
    pay: (text: string, more: Readonly<Record<string, unknown>> = {}) =>
      bank({ qr_text: text, outcome: 'SUCCESS', ...more }),
    decline: (text: string) => bank({ qr_text: text, outcome: 'DECLINED' }),
    /** Whatever a bank may say of a code. */
    answer: (text: string, outcome: 'SUCCESS' | 'DECLINED' | 'EXPIRED') => bank({ qr_text: text, outcome }),
  }
}

async function pageOf(answer: Response): Promise<Page> {
  return { status: answer.status, text: await answer.text(), location: answer.headers.get('location') }
}

/** What banks took for a code that was final, and what that was. */
export const unmatchedOf = async (p: Pick<Platform, 'kaha'>, attemptId: string): Promise<string[]> => {
  const rows = await rowsOf<{ what: string }>(
    p,
    `select code_state || ' ' || amount as what from qr.unmatched_payments where code_id = $1 order by id`,
    [attemptId],
  )
  return rows.map(({ what }) => what)
}
