import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page, Response } from 'playwright-core'
import { desktop, outcomeOf, payWith, phone, picture, picturesWanted } from './payers.ts'
import type { Shop } from './shop.ts'

/** A page in a certain state: how a payer gets there, and what it says. */
export interface State {
  arrive(page: Page): Promise<unknown>
  /** As the page names it; null for a page that is not the checkout's. */
  readonly outcome: string | null
  readonly heading: RegExp
  /** What axe finds there without scripts, and why it is left, by the rule's id; nothing else, and no less. */
  readonly leftWithoutScripts?: Readonly<Record<string, string>>
}

const pageBytesMax = 60 * 1024

// Colours depend on the scheme and room on the size, so two of the four show every barrier; the others are for pictures.
const looks = [
  { name: 'phone', size: phone, scheme: 'light', checked: true },
  { name: 'desktop-dark', size: desktop, scheme: 'dark', checked: true },
  { name: 'phone-dark', size: phone, scheme: 'dark', checked: false },
  { name: 'desktop', size: desktop, scheme: 'light', checked: false },
] as const

/** A payer who needs it doubles the size of the page. */
const phoneTwiceAsBig = { width: phone.width / 2, height: phone.height / 2 } as const

/** The way into a state by opening a new link, and by paying it. */
export const waysInto = (shop: Shop) => ({
  at:
    (fields: Record<string, unknown> = {}, search = '') =>
    async (page: Page) =>
      page.goto(`${(await shop.link(fields)).url}${search}`),
  paid:
    (card: string, fields: Record<string, unknown> = {}) =>
    async (page: Page) => {
      await page.goto((await shop.link(fields)).url)
      await payWith(page, card)
    },
})

/**
 * Goes into a state and looks at it in every look: no barrier that axe knows, nothing that scrolls sideways, also where the page is made
 * twice as big, at most 60 KiB with all that the page loads, and every document on the way under the checkout's policy.
 */
export async function examine(
  t: TestContext,
  shop: Shop,
  name: string,
  { arrive, outcome, heading, leftWithoutScripts = {} }: State,
  { scripts = true }: { readonly scripts?: boolean } = {},
): Promise<void> {
  const { page, asked } = await shop.payer(t)
  const runScripts = scripts ? async () => {} : await withoutScripts(page)
  const documents: Response[] = []
  page.on('response', (response) => {
    if (response.request().isNavigationRequest()) documents.push(response)
  })
  await arrive(page)
  assert.equal(await outcomeOf(page), outcome)
  assert.match((await page.getByRole('heading', { level: 1 }).textContent()) ?? '', heading)
  for (const response of documents) assertPolicy(response)
  const shown = documents.at(-1)
  assert.ok(shown)
  assert.equal(
    asked.some((url) => url.endsWith('.js')),
    scripts,
  )
  await stay(page)
  await runScripts()
  const bytes = await weightOf(page, shown)
  assert.ok(bytes <= pageBytesMax, `${bytes} bytes with all that it loads`)

  for (const { name: look, size, scheme, checked } of looks) {
    if (!checked && !picturesWanted) continue
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme: scheme })
    await picture(page, `${name.replaceAll(/\W+/g, '-')}${scripts ? '' : '-plain'}-${look}`)
    if (!checked) continue
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
    const left = scripts ? [] : Object.keys(leftWithoutScripts)
    const found = violations.filter(({ id }) => !left.includes(id))
    assert.deepEqual(
      found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
      [],
      look,
    )
    assert.equal(violations.length, left.length, `${look}: a barrier that is said to be left is gone`)
    assert.equal(await widthBeyond(page), 0, `${look}: it scrolls sideways`)
  }
  await page.setViewportSize(phoneTwiceAsBig)
  assert.equal(await widthBeyond(page), 0, 'a phone whose page is twice as big: it scrolls sideways')
}

/** However long it is looked at, a page does not go on by itself: an answer without content leaves it where it is. */
const stay = (page: Page): Promise<unknown> =>
  page.route('**', (route) =>
    route.request().isNavigationRequest() ? route.fulfill({ status: 204 }) : route.continue(),
  )

/** No page runs a script from now on. axe is one: resolves to what lets it run, when all that a page would have run is past. */
async function withoutScripts(page: Page): Promise<() => Promise<void>> {
  const browser = await page.context().newCDPSession(page)
  await browser.send('Emulation.setScriptExecutionDisabled', { value: true })
  return async () => {
    await browser.send('Emulation.setScriptExecutionDisabled', { value: false })
  }
}

/** A test for each state: what `examine` looks at, in a browser with scripts or without. */
export function examineAll(
  { shop, skip }: { readonly shop: Shop; readonly skip: string | false },
  states: Readonly<Record<string, State>>,
  { scripts = true }: { readonly scripts?: boolean } = {},
): void {
  for (const [state, described] of Object.entries(states)) {
    const says = `the page of ${state} has no barrier that axe knows, in light and dark, on a phone and at a desktop, and obeys its policy`
    test(`${scripts ? '' : 'without scripts, '}${says}`, { skip }, (t) =>
      examine(t, shop, state, described, { scripts }),
    )
  }
}

function assertPolicy(response: Response): void {
  const headers = response.headers()
  const where = `${response.status()} ${response.url()}`
  if (!(headers['content-type'] ?? '').startsWith('text/html') && response.status() !== 303) assert.fail(where)
  const policy = headers['content-security-policy'] ?? ''
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]) {
    assert.ok(policy.split('; ').includes(rule), `${where}: ${rule}`)
  }
  assert.doesNotMatch(policy, /unsafe|\*|https?:\/\/(?!127\.0\.0\.1)/, where)
  assert.equal(headers['cache-control'], 'no-store', where)
  assert.equal(headers['referrer-policy'], 'no-referrer', where)
  assert.equal(headers['x-content-type-options'], 'nosniff', where)
}

/** The document and every file that it names, pictures too. */
async function weightOf(page: Page, document: Response): Promise<number> {
  const files = await page
    .locator('script[src], link[href], img[src]')
    .evaluateAll((all: { src?: string; href?: string }[]) => all.map((one) => one.src ?? one.href ?? ''))
  assert.ok(files.length >= 2)
  const sizes = await Promise.all(files.map(async (url) => (await (await fetch(url)).arrayBuffer()).byteLength))
  return sizes.reduce((sum, size) => sum + size, (await document.body()).length)
}

const widthBeyond = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
