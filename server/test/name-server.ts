import dgram from 'node:dgram'
import { once } from 'node:events'
import net from 'node:net'
import type { TestContext } from 'node:test'
import { nameLookup } from '../src/delivery/egress-names.ts'
import type { Lookup } from '../src/delivery/egress.ts'

/**
 * A name server on loopback. `records` gives the addresses for the name and the count of its look-ups so far; null: it says nothing, as it
 * does to a question for the IPv6 addresses of `old-server`.
 */
export async function nameServer(
  t: TestContext,
  records: (name: string, lookups: number) => string[] | null,
): Promise<Lookup> {
  const socket = dgram.createSocket('udp4')
  const lookups = new Map<string, number>()
  socket.on('message', (query, peer) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const question = query.subarray(12, at + 5)
    const isIPv4 = query.readUInt16BE(at + 1) === 1
    const name = labels.join('.')
    const nth = lookups.get(name) ?? 0
    if (!isIPv4) lookups.set(name, nth + 1)
    const all = records(name, nth)
    if (all === null || (name.startsWith('old-server') && !isIPv4)) return
    const found = all.filter((address) => net.isIPv4(address) === isIPv4)
    const header = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, found.length, 0, 0, 0, 0])
    const answer = found.map((address) => {
      const bytes = bytesOf(address)
      // The name of the question, its type and class, no time to live.
      return Buffer.from([0xc0, 12, 0, isIPv4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes])
    })
    socket.send(Buffer.concat([header, question, ...answer]), peer.port, peer.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())

  return nameLookup({ servers: [`127.0.0.1:${socket.address().port}`], queryMsMax: 1_000, triesMax: 2 })
}

function bytesOf(address: string): number[] {
  if (net.isIPv4(address)) return address.split('.').map(Number)
  const [before = [], after = []] = address.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const words = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return words.map((word) => Number.parseInt(word, 16)).flatMap((word) => [word >> 8, word & 255])
}
