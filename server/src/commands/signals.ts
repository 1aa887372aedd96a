const sameSignalMs = 500

/**
 * Resolves when somebody asks to stop, by a signal or by `stop`. Ctrl-C comes twice through npm: a second SIGINT within half a second
 * is the same one, a later one ends the program at once.
 */
export function untilAskedToStop(): {
  stopped: Promise<Error | undefined>
  stop: (reason?: Error) => void
  /** Aborts with the first signal, for a start that is under way. */
  signal: AbortSignal
} {
  const asked = new AbortController()
  const { promise, resolve } = Promise.withResolvers<Error | undefined>()
  let firstAt: number | undefined
  const heard = () => {
    const at = performance.now()
    if (firstAt !== undefined && at - firstAt > sameSignalMs) process.exit(1)
    firstAt ??= at
    asked.abort()
    resolve(undefined)
  }
  process.on('SIGINT', heard)
  process.on('SIGTERM', heard)
  // The terminal was closed.
  process.on('SIGHUP', heard)
  return { stopped: promise, stop: resolve, signal: asked.signal }
}
