import { join } from 'node:path'
import { startChild, type Child } from './child.ts'
import type { Source } from './events.ts'
import { profiling, type Place } from './place.ts'
import type { WorkerPlace } from './worker-child.ts'

/** The delivery engine in a process of its own, and the sources of its events. With `profileDir` it writes a CPU profile there when it ends. */
export async function openWorker(
  { folder, target, use }: Place,
  profileDir: string | undefined,
  receivers: Omit<WorkerPlace, 'target'>,
): Promise<{ readonly worker: Child; readonly sources: readonly Source[] }> {
  const worker = use(
    startChild('worker-child.ts', { nodeArgs: await profiling(profileDir), logPath: join(folder, 'worker.log') }),
  )
  const sources = await worker.call<readonly Source[]>('open', { target, ...receivers } satisfies WorkerPlace)
  return { worker, sources }
}
