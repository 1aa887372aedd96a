import { parentPort, workerData } from 'node:worker_threads'
import { readQrImage } from '@kaha/qrph/read-image'

// A picture of a stranger, in a thread of its own: see pictures.ts.
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
parentPort?.postMessage(readQrImage(workerData as Uint8Array))
