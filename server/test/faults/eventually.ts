import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again until there is something, and resolves to it. Rejects after `waitMsMax` with what was waited for. */
export async function eventually<T>(
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  { waitMsMax = 30_000, pollMs = 20, what = 'something' }: { waitMsMax?: number; pollMs?: number; what?: string } = {},
): Promise<T> {
  const giveUpAt = performance.now() + waitMsMax
  for (;;) {
    const found = await ask()
    if (found !== undefined && found !== false) return found
    if (performance.now() > giveUpAt) throw new Error(`waited ${waitMsMax} ms in vain for ${what}`)
    await sleep(pollMs)
  }
}
