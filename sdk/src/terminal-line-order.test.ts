import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { lineOf } from '../test/line.ts'

// What came over the wire first is told first, however many messages one read has.

const complete = (transactionId: unknown) => ({
  action: 'paymentComplete',
  transactionId,
  paymentResponse: { status: 'SUCCESS' },
})
const status = { action: 'terminalStatusUpdate', terminalId: 'T', status: 'online' }

/** A line to a platform that answers each payment, with other messages before and behind in one write. */
async function hurried(t: TestContext, end = (_wire: Socket): void => {}) {
  let wire: Socket | undefined
  const lined = await lineOf(t, (open, raw) => {
    wire = raw
    open()
  })
  const platform = lined.opened[0]
  platform?.on('message', (data: Buffer) => {
    const { requestId, paymentRequest } = JSON.parse(data.toString()) as {
      requestId: string
      paymentRequest: { transactionId: string }
    }
    const { transactionId } = paymentRequest
    wire?.cork()
    const accepted = { action: 'paymentAccepted', transactionId, terminalId: 'T', requestId }
    for (const message of [status, accepted, complete(transactionId), status]) platform.send(JSON.stringify(message))
    if (wire) end(wire)
    wire?.uncork()
  })
  const paymentRequest = { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD', transactionId: 'ORDER-1' } as const
  // As of a caller that wraps what it asks.
  const ask = async (hops: number): Promise<{ transactionId: string }> =>
    hops > 0 ? await ask(hops - 1) : await lined.line.ask('payment', { terminalId: 'T', paymentRequest })
  return { ...lined, ask }
}

test('the answer to a payment is told before the end that came with it in one read, also of one that is asked for again', async (t) => {
  const { heard, ask } = await hurried(t)
  const told = () => heard.map((one) => (one as [unknown])[0])
  for (const hops of [0, 1, 5]) {
    heard.length = 0
    const { transactionId } = await ask(hops)
    assert.deepEqual([transactionId, told()], ['ORDER-1', [status]])
    while (heard.length < 3) await setImmediate()
    assert.deepEqual(told(), [status, complete('ORDER-1'), status])
  }
})

test('what came before the end of a line is told before it, and nothing of it is lost', async (t) => {
  const ends = [
    (wire: Socket) => void wire.end(),
    (wire: Socket) => void wire.end(Buffer.from([0x88, 0x02, 0x0f, 0xa1])),
  ]
  for (const end of ends) {
    const { heard, states, line, becomes, ask } = await hurried(t, end)
    await ask(5)
    assert.deepEqual([heard.length, states, line.state], [1, [], 'open'])
    while (line.state === 'open') await setImmediate()
    assert.equal(heard.length, 3)
    await becomes(end === ends[0] ? 'reconnecting' : 'closed')
  }
})

test('an answer that is the last thing that came is told before the loss of its line', async (t) => {
  const { opened, heard, states, line, becomes } = await lineOf(t, 'opens')
  const ask = async (hops: number): Promise<unknown> => (hops > 0 ? await ask(hops - 1) : await line.ask('ping', {}))
  opened[0]?.once('message', (data: Buffer) => {
    const { requestId } = JSON.parse(data.toString()) as Record<string, unknown>
    // The socket is gone before the line has come to the last of them.
    for (let sent = 0; sent < 20; sent += 1) opened[0]?.send(JSON.stringify(status))
    opened[0]?.send(JSON.stringify({ action: 'pong', requestId }))
    opened[0]?.terminate()
  })
  await ask(5)
  assert.deepEqual([heard.length, states], [20, []])
  await becomes('reconnecting')
})
