import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection of a load: it shares the machine with the server that is measured, so it is as bare as can be. */
export async function open(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true })
  await once(socket, 'connect')
  return socket
}

export interface RawAnswer {
  readonly status: number
  /** Head and body. */
  readonly answer: Buffer
}

const headEnd = Buffer.from('\r\n\r\n')

/** The next answer, once it is complete. Every answer that is asked for here tells its length. */
export function answerOn(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let got: Buffer = Buffer.alloc(0)
    let whole = Infinity
    const listen = (chunk: Buffer): void => {
      got = got.length === 0 ? chunk : Buffer.concat([got, chunk])
      if (whole === Infinity) {
        const at = got.indexOf(headEnd)
        if (at < 0) return
        const length = /content-length: (\d+)/i.exec(got.toString('latin1', 0, at))?.[1]
        if (length === undefined) return finish(() => reject(new Error('an answer without a length')))
        whole = at + headEnd.length + Number(length)
      }
      if (got.length >= whole) finish(() => resolve({ status: Number(got.toString('latin1', 9, 12)), answer: got }))
    }
    const lose = (): void => finish(() => reject(new Error('the server closed the connection')))
    const finish = (how: () => void): void => {
      socket.off('data', listen)
      socket.off('close', lose)
      how()
    }
    socket.on('data', listen)
    socket.on('close', lose)
  })
}
