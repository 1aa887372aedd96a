import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { readQrImage } from '@kaha/qrph/read-image'
import { Fault } from '../kernel/fault.ts'
import { createTurns } from '../kernel/turns.ts'

type Read = ReturnType<typeof readQrImage>

export interface Pictures extends AsyncDisposable {
  /** The text of the QR code in a PNG or a JPEG, or why there is none. Throws UNAVAILABLE when too many wait already. */
  read(bytes: Uint8Array): Promise<Read>
}

const readMsMax = 30_000
const waitingMax = 8
const heapMegabytesMax = 128

/** Reads pictures one after the other, each in a thread of its own: an unpacking of seconds holds up nobody, and one that goes on for ever is ended. */
export function createPictures(): Pictures {
  let waiting = 0
  const inTurn = createTurns()
  let running: Worker | null = null
  let closed = false

  const readNow = async (bytes: Uint8Array): Promise<Read> => {
    if (closed) throw busy()
    const worker = new Worker(new URL('./picture-child.ts', import.meta.url), {
      workerData: bytes,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytesMax },
    })
    running = worker
    const ended = new AbortController()
    worker.on('exit', () => ended.abort()).on('error', () => ended.abort())
    try {
      const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(readMsMax)])
      const [read] = (await once(worker, 'message', { signal })) as [Read]
      return read
    } catch {
      return tooHard
    } finally {
      running = null
      await worker.terminate()
    }
  }

  return {
    async read(bytes) {
      if (waiting >= waitingMax) throw busy()
      waiting += 1
      try {
        return await inTurn(() => readNow(bytes))
      } finally {
        waiting -= 1
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await running?.terminate()
      await inTurn(async () => {})
    },
  }
}

const tooHard: Read = {
  refusal: { reason: 'broken', message: 'The picture takes too long to read: send a smaller one.' },
}
const busy = () => new Fault('UNAVAILABLE', 'Other pictures are being read; try again.', { retryAfterSeconds: 2 })
