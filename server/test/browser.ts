import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type BrowserContext, type BrowserContextOptions } from 'playwright-core'

// The one without a window takes two thirds of the other's time.
const debian = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

async function executable(): Promise<string> {
  const installed = debian.find((path) => existsSync(path))
  if (installed !== undefined) return installed
  const { default: packaged } = await import('@sparticuz/chromium')
  return packaged.executablePath()
}

/** A browser with an empty profile. */
export async function openBrowser(
  options: BrowserContextOptions = {},
): Promise<AsyncDisposable & { context: BrowserContext }> {
  const profile = await mkdtemp(join(tmpdir(), 'kaha-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: await executable(),
    headless: true,
    args: quiet,
    ...options,
  })
  return {
    context,
    async [Symbol.asyncDispose]() {
      await context.close()
      // The browser's last processes may still write while they end.
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
