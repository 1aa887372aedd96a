import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { openBrowser } from '../browser.ts'
import { cards } from '../platform.ts'

export const phone = { width: 390, height: 844 } as const
export const desktop = { width: 1280, height: 900 } as const

export interface PayerOptions {
  readonly size?: typeof phone | typeof desktop
  readonly scheme?: 'light' | 'dark'
  readonly scripts?: boolean
  readonly locale?: string
}

/** A payer at a browser of their own: nothing is shared with any other payer. */
export interface Payer {
  readonly page: Page
  /** Every address that the browser asked for, in order. */
  readonly asked: string[]
}

// The browser itself tells of a page whose status is an error, which the tests look at, and of a payer who was in a field before an autofocus.
const ofTheBrowser =
  /^Failed to load resource: the server responded with a status of [45]|^Autofocus processing was blocked because a document already has a focused/

/** Where to leave what must be closed at the end of a file. */
export interface Hooks {
  after(close: () => unknown): void
}

/** One browser for the tests of a file. */
export interface Payers {
  /**
   * A new payer. The test fails when a page complains in the console, or asks anything of an origin that is not in `origins`, and
   * when a page opens a dialog.
   */
  arrive(t: TestContext, origins: readonly string[], options?: PayerOptions): Promise<Payer>
}

/** Opens the browser, or tells in the words of a skipped test why there is none. It is closed by `after`. */
export async function openPayers({ after }: Hooks): Promise<Payers | string> {
  const opened = await openBrowser().catch((error: unknown) => reasonOf(error))
  if (typeof opened === 'string') return opened
  after(() => opened[Symbol.asyncDispose]())
  const browser = opened.context.browser()
  if (browser === null) throw new Error('the browser belongs to nobody')

  return {
    async arrive(t, origins, { size = phone, scheme = 'light', scripts = true, locale = 'en-PH' } = {}) {
      const context = await browser.newContext({
        viewport: size,
        colorScheme: scheme,
        javaScriptEnabled: scripts,
        locale,
        reducedMotion: 'reduce',
      })
      const page = await context.newPage()
      const asked: string[] = []
      const complaints: string[] = []
      page.on('request', (request) => {
        asked.push(request.url())
        if (!origins.includes(new URL(request.url()).origin)) complaints.push(`asked ${request.url()}`)
      })
      page.on('console', (message) => {
        if (!ofTheBrowser.test(message.text())) complaints.push(`console: ${message.text()}`)
      })
      page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`))
      page.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`)
        void dialog.dismiss()
      })
      t.after(async () => {
        await context.close()
        assert.deepEqual(complaints, [], 'what the pages complained of')
      })
      return { page, asked }
    },
  }
}

function reasonOf(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  return `browser: no chromium runs here, neither Debian's nor @sparticuz/chromium (${line})`
}

/** Types a card into the form of a page in English. */
export async function typeCard(page: Page, number: string = cards.approved): Promise<void> {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry').fill('12 / 40')
  await page.getByLabel('CVC').fill(/^3[47]/.test(number) ? '1234' : '123')
}

export const payButton = (page: Page) => page.getByRole('button', { name: /^Pay ₱/ })

/** Types a card and pays; resolves on the page that the payment leads to. */
export async function payWith(page: Page, number: string = cards.approved): Promise<void> {
  await typeCard(page, number)
  await submit(page)
}

/** Submits the form; resolves on the next page, whatever it is. */
export async function submit(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('domcontentloaded'), payButton(page).click()])
}

/** Chooses QR Ph in whatever language the page is; resolves on the page of the code. */
export async function showCode(page: Page): Promise<void> {
  await page.locator('button[name=method][value=qrph]').click()
  await page.waitForSelector('[data-outcome=code]')
}

/** The text of the code on the page. */
export const codeOn = (page: Page): Promise<string> => page.locator('#code-text').inputValue()

/** Pays by a card whose bank wants to know who the payer is; resolves on the page of that bank. */
export async function toChallenge(page: Page, url: string, card: string = cards.challenge): Promise<void> {
  await page.goto(url)
  await payWith(page, card)
  await page.waitForURL(/\/challenges\//)
}

/** Presses a button of the bank's page; resolves on the checkout's. */
export async function answerBank(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click()
  await page.waitForURL(/\/pay\/i\/[\w-]{22}$/)
}

/** How the page says that the payment stands. */
export const outcomeOf = (page: Page): Promise<string | null> => page.locator('body').getAttribute('data-outcome')

/** The lines of the receipt on the page. */
export async function receiptOn(page: Page): Promise<Record<string, string>> {
  const rows = page.getByRole('region', { name: 'Receipt' }).locator('dl > div')
  const lines = await rows.evaluateAll((all) =>
    all.map((row) => [row.querySelector('dt')?.textContent ?? '', row.querySelector('dd')?.textContent ?? '']),
  )
  return Object.fromEntries(lines) as Record<string, string>
}

export const picturesWanted = process.env['KAHA_TEST_ARTEFACTS'] !== undefined
const artefacts = join(import.meta.dirname, '../../../artefacts')

/** Keeps a picture of the page in `artefacts/` for a person to look at, when KAHA_TEST_ARTEFACTS asks for it. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!picturesWanted) return
  await mkdir(artefacts, { recursive: true })
  await page.screenshot({ path: join(artefacts, `${name}.png`), fullPage: true })
}
