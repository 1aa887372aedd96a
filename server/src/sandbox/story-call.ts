import { setTimeout as sleep } from 'node:timers/promises'

const waitsMax = 60
const waitMs = 1_000

/** A request of the story. Where its key has asked too often it waits for a second, as any client does, and asks again. */
export async function send(url: string, init: RequestInit): Promise<Response> {
  for (let waits = 0; ; waits += 1) {
    const answer = await fetch(url, init)
    if (answer.status !== 429 || waits === waitsMax) return answer
    await answer.body?.cancel()
    await sleep(waitMs, undefined, init.signal ? { signal: init.signal } : {})
  }
}

/** The same with JSON both ways. Throws for whatever is no success. */
export async function sendJson<Answer>(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Answer> {
  const answer = await send(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok)
    throw new Error(`${method} ${new URL(url).pathname} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Answer
}
