import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Seed } from './seed.ts'

/** Where everything is, for clients and tools that look for a running sandbox. */
export interface SandboxAddresses {
  readonly base: string
  readonly terminal: string
  readonly terminalWs: string
  readonly webhooks: string
  readonly qr: string
  readonly checkout: string
  readonly dashboard: string
  readonly sandbox: string
  readonly metrics: string
}

const lookEveryMsUsual = 5_000

const pathOf = (dataDir: string): string => join(dataDir, 'sandbox.json')

/** Undefined where there is no file, or one that is no file of a sandbox. */
async function pidIn(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '')
  try {
    const { pid } = JSON.parse(text) as { pid?: unknown }
    return typeof pid === 'number' ? pid : undefined
  } catch {
    return undefined
  }
}

/** Whether the file is gone, or is that of a process that is. */
async function isLeft(path: string): Promise<boolean> {
  if (!existsSync(path)) return true
  const pid = await pidIn(path)
  try {
    if (pid !== undefined) process.kill(pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

/**
 * Writes `sandbox.json` into the data directory, whole or not at all, readable by its owner alone, and resolves to what removes it. Until then it is
 * written again where it is gone, or left by a process that was killed: of several that serve there, whoever wrote it last takes it away.
 */
export async function writeSandboxFile(
  dataDir: string,
  addresses: SandboxAddresses,
  seed: Seed,
  lookEveryMs = lookEveryMsUsual,
): Promise<() => Promise<void>> {
  const path = pathOf(dataDir)
  // Processes in containers that share the folder may have one number.
  const passing = `${path}.${randomBytes(4).toString('hex')}`
  const content = {
    version: 1,
    pid: process.pid,
    base_url: addresses.base,
    terminal_url: addresses.terminal,
    terminal_ws_url: addresses.terminalWs,
    webhooks_url: addresses.webhooks,
    qr_url: addresses.qr,
    checkout_url: addresses.checkout,
    dashboard_url: addresses.dashboard,
    sandbox_url: addresses.sandbox,
    metrics_url: addresses.metrics,
    ...seed,
  }
  const write = async () => {
    try {
      await writeFile(passing, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
      await rename(passing, path)
    } finally {
      await rm(passing, { force: true })
    }
  }
  await write()
  let writing: Promise<void> = Promise.resolve()
  const writeIfLeft = async () => {
    if (await isLeft(path)) await write()
  }
  const looking = setInterval(() => {
    // Where that fails it is still so the next time.
    writing = writing.then(writeIfLeft).catch(() => {})
  }, lookEveryMs)
  looking.unref()
  return async () => {
    clearInterval(looking)
    await writing
    if ((await pidIn(path)) === process.pid) await rm(path, { force: true })
  }
}
