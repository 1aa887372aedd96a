import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A program of this folder in a process of its own: what it does costs the others no turn of their event loops. */
export interface Child extends AsyncDisposable {
  readonly pid: number
  /** Has it do one of the things that it serves, and resolves to the answer. */
  call<Answer>(name: string, input?: unknown): Promise<Answer>
}

/** What a child can do, by name. */
export type Calls = Readonly<Record<string, (input: never) => Promise<unknown>>>

interface Asked {
  readonly id: number
  readonly name: string
  readonly input: unknown
}

type Answered = { readonly id: number; readonly answer: unknown } | { readonly id: number; readonly failure: string }

export interface ChildOptions {
  /** For node itself. */
  readonly nodeArgs?: readonly string[]
  /** Where its standard error goes, which is where a log goes. */
  readonly logPath?: string
}

const endWaitMsMax = 20_000

export function startChild(program: string, { nodeArgs = [], logPath }: ChildOptions = {}): Child {
  const log = logPath === undefined ? 'inherit' : openSync(logPath, 'a')
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), {
    execArgv: [...nodeArgs],
    stdio: ['ignore', 'inherit', log, 'ipc'],
    serialization: 'advanced',
  })
  if (typeof log === 'number') closeSync(log)
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let calls = 0
  child.on('message', (message: Answered) => {
    const asked = waiting.get(message.id)
    waiting.delete(message.id)
    if ('failure' in message) asked?.reject(new Error(`${program}: ${message.failure}`))
    else asked?.resolve(message.answer)
  })
  child.on('exit', (code) => {
    for (const asked of waiting.values()) asked.reject(new Error(`${program} ended with code ${code}`))
    waiting.clear()
  })
  return {
    pid: child.pid ?? 0,
    call<Answer>(name: string, input?: unknown) {
      const asked = Promise.withResolvers<unknown>()
      calls += 1
      waiting.set(calls, asked)
      child.send({ id: calls, name, input } satisfies Asked)
      return asked.promise as Promise<Answer>
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.disconnect()
      const late = setTimeout(() => child.kill('SIGKILL'), endWaitMsMax)
      await ended
      clearTimeout(late)
    },
  }
}

/** In the child: serves these calls until the parent lets go, then disposes. */
export function serve(calls: Calls, held: AsyncDisposable): void {
  const answer = async ({ id, name, input }: Asked): Promise<Answered> => {
    try {
      const call = calls[name]
      if (call === undefined) throw new Error(`there is no call ${name}`)
      return { id, answer: await call(input as never) }
    } catch (error) {
      return { id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    }
  }
  process.on('message', (asked: Asked) => void answer(asked).then((answered) => process.send?.(answered)))
  process.on('disconnect', () => void held[Symbol.asyncDispose]())
  // Ctrl-C reaches the whole group; the parent ends its children in order.
  process.on('SIGINT', () => {})
}
