import type { TestContext } from 'node:test'
import pg from 'pg'
import { connectionConfig } from '../../src/kernel/db.ts'
import { platform, type Platform, type PlatformOptions } from '../platform.ts'
import { startReceiver } from '../receiver.ts'
import { openPayers, type Hooks, type Payer, type PayerOptions } from './payers.ts'

/** A platform with a merchant who has a web site, and a browser for the payers. */
export interface Shop extends Platform {
  /** A page of the merchant's own. */
  readonly thanksUrl: string
  /** A new payer, who may see nothing but the checkout, the merchant's site and what is at the origins `alsoAt`. */
  payer(t: TestContext, options?: PayerOptions & { readonly alsoAt?: readonly string[] }): Promise<Payer>
  /** One statement past the platform, for states that no operation makes yet, and to count. */
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  /** How the attempts on a link stand, oldest first. */
  paymentsOf(linkId: string): Promise<string[]>
}

/** What the tests of one file share. Where no browser runs there is no shop, and `skip` says why in the words of a skipped test. */
export async function openShop(
  hooks: Hooks,
  options: PlatformOptions = {},
): Promise<{ shop: Shop; skip: false } | { shop: Shop; skip: string }> {
  const payers = await openPayers(hooks)
  if (typeof payers === 'string') return { shop: {} as Shop, skip: payers }
  const site = await startReceiver()
  hooks.after(() => site[Symbol.asyncDispose]())
  site.answer = (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><html lang="en"><title>Thank you</title><h1>Thank you</h1></html>')
  const running = await platform(hooks, options)
  const siteOrigin = new URL(site.url).origin
  const origins = [new URL(running.kaha.addresses.checkout).origin, siteOrigin]
  const sql = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> => {
    const client = new pg.Client(connectionConfig(running.target))
    await client.connect()
    try {
      return (await client.query<Row>(text, values)).rows
    } finally {
      await client.end()
    }
  }
  const shop = {
    ...running,
    sql,
    thanksUrl: `${siteOrigin}/thanks?order=1001&b=2`,
    payer: (t: TestContext, { alsoAt = [], ...look }: Parameters<Shop['payer']>[1] = {}) =>
      payers.arrive(t, [...origins, ...alsoAt], look),
    async paymentsOf(linkId: string): Promise<string[]> {
      const rows = await sql<{ state: string }>(
        'select a.state from payments.attempts a join payments.intents i on i.id = a.intent_id where i.link_id = $1 order by a.id',
        [linkId],
      )
      return rows.map(({ state }) => state)
    },
  }
  return { shop, skip: false }
}
