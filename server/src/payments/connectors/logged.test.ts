import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { card, processorThat } from '../../../test/payments-room.ts'
import { createLog } from '../../kernel/log.ts'
import { parseCard } from '../card.ts'
import { withFailuresLogged } from './logged.ts'

test('a call that the processor fails is logged with its cause and its id, and fails all the same; one that it answers is not', async () => {
  const lines: string[] = []
  const into = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(...chunk.toString().split('\n').filter(Boolean))
      done()
    },
  })
  const fails = () => Promise.reject(new Error('no route to the processor'))
  const failing = { verify: fails, challenge: fails, authorize: fails, authorizeVerified: fails, inquire: fails }
  const connector = (does: object) => withFailuresLogged(processorThat(does), createLog('info', into))
  const parsed = parseCard(card, new Date())
  assert.ok(!('refusal' in parsed))
  const signal = AbortSignal.timeout(10_000)
  const payment = { attemptId: 'a', card: parsed, amount: 100n, currency: 'PHP', signal }
  const toVerify = { ...payment, returnUrl: 'https://shop.example', payee: 'Kape' }
  const refund = { refundId: 'r', attemptId: 'a', transactionId: 't', amount: 100n, currency: 'PHP', signal }
  const callAll = ({
    verify,
    challenge,
    authorize,
    authorizeVerified,
    inquire,
    ...its
  }: ReturnType<typeof connector>) =>
    Promise.allSettled([
      verify(toVerify),
      challenge('a', signal),
      authorize(payment),
      authorizeVerified({ attemptId: 'a', signal }),
      inquire('a', signal),
      its.refund(refund),
      its.inquireRefund('r', signal),
    ])

  const ends = await callAll(connector({ ...failing, refund: fails, inquireRefund: fails }))
  assert.ok(ends.every(({ status }) => status === 'rejected'))
  const told = lines.map((line) => JSON.parse(line) as { call: string; id: string; err: { stack: string } })
  assert.deepEqual(
    told.map(({ call, id, err }) => `${call} ${id}: ${err.stack.split('\n')[0]}`),
    ['verify a', 'challenge a', 'authorize a', 'authorizeVerified a', 'inquire a', 'refund r', 'inquireRefund r'].map(
      (call) => `${call}: Error: no route to the processor`,
    ),
  )
  assert.ok(!lines.join().includes(card.number))

  lines.length = 0
  assert.ok((await callAll(connector({}))).every(({ status }) => status === 'fulfilled'))
  assert.deepEqual(lines, [])
})
