import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineOf, nextOf } from '../test/line.ts'
import { KahaConnectionError } from './index.ts'

const isClosed = (error: unknown) => error instanceof KahaConnectionError && error.reason === 'CLOSED'

test(
  'a line is closed, and whoever waits is told at once, also where the other side says nothing more',
  { timeout: 20_000 },
  async (t) => {
    const { line, opened, states, why } = await lineOf(t, 'opens')
    const arrives = nextOf(opened[0])
    const payment = { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD', transactionId: 'ORDER-1' } as const
    const asked = line.ask('payment', { terminalId: 'T', paymentRequest: payment })
    await arrives
    const reported = line.report('paymentStatus', { transactionId: 'ORDER-1', status: 'UNKNOWN' })
    opened[0]?.pause()
    const closing = line.close()
    await assert.rejects(
      asked,
      (error) => isClosed(error) && (error as KahaConnectionError).transactionId === 'ORDER-1',
    )
    await assert.rejects(reported, isClosed)
    await assert.rejects(line.ask('ping', {}), isClosed)
    await closing
    assert.deepEqual([line.state, states, why()], ['closed', ['closed'], undefined])
  },
)

test('what is asked of a line that is about to be closed is not sent', async (t) => {
  const { line, opened } = await lineOf(t, 'opens')
  const heard: unknown[] = []
  opened[0]?.on('message', (data) => heard.push(data))
  const closing = line.close()
  await assert.rejects(line.ask('ping', {}), isClosed)
  await closing
  assert.deepEqual(heard, [])
})
