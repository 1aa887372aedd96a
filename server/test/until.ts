import { setTimeout as sleep } from 'node:timers/promises'

const waitMsMax = 20_000
const pollMs = 3

/** Resolves as soon as something holds that no signal tells of; a test fails that waits for what never comes about. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + waitMsMax
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`never came about: ${what}`)
    await sleep(pollMs)
  }
}
