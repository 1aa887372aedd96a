import assert from 'node:assert/strict'
import { cards } from '../platform.ts'
import { hiddenOf, type Page } from './code-payer.ts'

/** A page as a browser shows it, redirects followed, and where it came from. */
export interface Shown extends Omit<Page, 'location'> {
  readonly url: string
}

/** A payer's browser without scripts, with as many tabs as it is asked for pages. It keeps cookies by name and path, as browsers do. */
export function browser() {
  const kept = new Map<string, { readonly path: string; readonly pair: string }>()

  const cookiesFor = (url: string): string => {
    const { pathname } = new URL(url)
    const sent = [...kept.values()].filter(({ path }) => path === '/' || `${pathname}/`.startsWith(`${path}/`))
    const pairs = sent.toSorted((a, b) => b.path.length - a.path.length).map(({ pair }) => pair)
    return pairs.join('; ')
  }

  const ask = async (url: string, body?: URLSearchParams): Promise<Response> => {
    const headers = { cookie: cookiesFor(url) }
    return fetch(url, { redirect: 'manual', headers, ...(body === undefined ? {} : { method: 'POST', body }) })
  }

  const take = async (answer: Response): Promise<Shown> => {
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value, ends, path = ''] =
        /^([\w-]+)=([^;]*)(; Max-Age=0)?; Path=([^;]+); HttpOnly; SameSite=Lax$/.exec(line) ?? []
      assert.ok(name !== undefined, line)
      if (ends === undefined) kept.set(`${name} ${path}`, { path, pair: `${name}=${value}` })
      else kept.delete(`${name} ${path}`)
    }
    const location = answer.headers.get('location')
    if (location !== null) return open(location)
    return { url: answer.url, status: answer.status, text: await answer.text() }
  }

  const open = async (url: string): Promise<Shown> => take(await ask(url))

  const send = (page: Shown, fields: Readonly<Record<string, string>>): Promise<Response> => {
    const action = /<form[^>]* action="([^"]*)"/.exec(page.text)?.[1] ?? page.url
    return ask(action, new URLSearchParams({ ...hiddenOf(page), ...fields }))
  }
  const typed = (number: string) => ({ number, expiry: '12/60', cvc: '123' })

  /** Asks before any of the answers has come, and takes the answers one after the other. */
  const together = async (asked: readonly Promise<Response>[]): Promise<Shown[]> => {
    const shown: Shown[] = []
    for (const answer of await Promise.all(asked)) shown.push(await take(answer))
    return shown
  }

  return {
    open,
    /** Opens as many tabs in one moment. */
    openTogether: async (urls: readonly string[]) => together(urls.map((url) => ask(url))),
    /** Each tab with the card at its place. */
    payTogether: async (pages: readonly Shown[], numbers: readonly string[]) =>
      together(pages.map((page, tab) => send(page, typed(numbers[tab] ?? cards.approved)))),
    /** Sends the form of a page, and shows what it leads to. */
    submit: async (page: Shown, fields: Readonly<Record<string, string>>) => take(await send(page, fields)),
    pay: async (page: Shown, number: string = cards.approved) => take(await send(page, typed(number))),
    askCode: async (page: Shown) => take(await send(page, { method: 'qrph' })),
    /** Its answer is lost on the way: the payment is made, and the browser hears nothing of it. */
    payUnheard: async (page: Shown, number: string = cards.approved) => {
      await (await send(page, typed(number))).body?.cancel()
    },
    /** Ends the challenge that a page holds. */
    answer: async (page: Shown, result: string) => take(await ask(page.url, new URLSearchParams({ result }))),
    cookiesFor,
  }
}
