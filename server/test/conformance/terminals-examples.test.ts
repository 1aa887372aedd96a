import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import { shopOf, type Wire } from '../till.ts'
import { until } from '../until.ts'
import { assertLike, type Known } from './examples.ts'

// The messages that the AsyncAPI document shows, each sent as it is shown or compared with what comes.

type Message = Readonly<Record<string, any>>
interface Shown {
  readonly name: string
  readonly payload: Message
}

const url = new URL('../../../contract/asyncapi/terminals.json', import.meta.url)
const { components } = JSON.parse(readFileSync(url, 'utf8')) as {
  components: { messages: Record<string, { examples: readonly Shown[] }> }
}
const played = new Set<string>()
const shown = (message: string, name: string): Message => {
  const found = components.messages[message]?.examples.find((one) => one.name === name)
  assert.ok(found, `the document shows no ${message} ${name}`)
  played.add(`${message} ${name}`)
  return found.payload
}

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const known: Known = new Map([[shown('paymentToTerminal', 'approved')['groupId'], shop.groupId]])

/** The next message of its kind is like the example. */
const comes = async (to: Wire, message: string, name: string) => {
  const example = shown(message, name)
  assertLike(example, await to.next(example['action']), known, `${message} ${name}`)
}

const [till, other] = [await shop.till(), shop.second]
let terminal = await shop.connect()
const sale = shown('payment', 'approved')
/** Begins a payment that is shown only by what becomes of it. */
const begin = async (transactionId: string, at: Wire, terminalId = shop.first.device_id) => {
  const { requestId: _, ...rest } = sale
  await till.ask({ ...rest, terminalId, paymentRequest: { ...sale['paymentRequest'], transactionId } })
  await till.next('paymentAccepted')
  await at.next('payment')
}
const paymentOf = (message: string, name: string): string => shown(message, name)['transactionId']

test('terminals come, are listed and go as the examples show it', async () => {
  await comes(till, 'terminalStatusUpdate', 'connected')
  const second = await shop.connect(other)
  await till.next('terminalStatusUpdate')
  await begin(paymentOf('paymentTimeout', 'lineLost'), second, other.device_id)
  second.drop()
  await comes(till, 'terminalStatusUpdate', 'reconnecting')
  till.send(shown('getTerminals', 'terminals'))
  await comes(till, 'terminalsResponse', 'terminals')
  await p.advance(61)
  await comes(till, 'paymentTimeout', 'lineLost')
  await comes(till, 'terminalStatusUpdate', 'disconnected')
})

test('payments begin and end as the examples show it', async () => {
  till.send(sale)
  await comes(till, 'paymentAccepted', 'approved')
  await comes(terminal, 'paymentToTerminal', 'approved')
  terminal.send(shown('paymentResponse', 'approved'))
  terminal.send(shown('ping', 'taken'))
  await comes(terminal, 'pong', 'taken')
  await comes(till, 'paymentComplete', 'approved')

  till.send(shown('payment', 'withProducts'))
  await till.next('paymentAccepted')
  await comes(terminal, 'paymentToTerminal', 'withProducts')
  terminal.send(shown('paymentResponse', 'withProducts'))
  await comes(till, 'paymentComplete', 'withProducts')

  await begin(paymentOf('paymentComplete', 'declined'), terminal)
  terminal.send(shown('paymentResponse', 'declined'))
  await comes(till, 'paymentComplete', 'declined')

  await begin(paymentOf('paymentComplete', 'cancelled'), terminal)
  till.send(shown('cancelPayment', 'cancelled'))
  await comes(till, 'cancelAccepted', 'cancelled')
  await comes(terminal, 'cancelPaymentToTerminal', 'cancelled')
  terminal.send(shown('paymentResponse', 'cancelled'))
  await comes(till, 'paymentComplete', 'cancelled')
})

test('what is refused is refused as the examples show it', async () => {
  const incomplete = shown('paymentResponse', 'withoutCode')
  await begin(incomplete['transactionId'], terminal)
  till.send(shown('payment', 'busy'))
  await comes(till, 'error', 'busy')
  terminal.send(incomplete)
  await comes(terminal, 'error', 'withoutCode')
  const { authorizationCode } = shown('paymentResponse', 'approved')['paymentResponse']
  terminal.send({ ...incomplete, paymentResponse: { ...incomplete['paymentResponse'], authorizationCode } })
  await till.next('paymentComplete')
  till.send(shown('cancelPayment', 'ended'))
  await comes(till, 'error', 'ended')
})

test('voids are confirmed and refused as the examples show it', async () => {
  for (const name of ['voided', 'refused']) {
    till.send(shown('voidPayment', name))
    await comes(terminal, 'voidPaymentToTerminal', name)
    terminal.send(shown('voidResult', name))
    await comes(till, 'voidResultToDesktop', name)
  }
  await comes(till, 'paymentVoided', 'voided')
})

test('a terminal that comes back is asked and answers as the examples show it', async () => {
  for (const name of ['pending', 'unknown']) {
    await begin(paymentOf('paymentStatusToTerminal', name), terminal)
    terminal.drop()
    await until('that it is noticed', () => till.received.at(-1).status === 'reconnecting')
    terminal = await shop.connect()
    await comes(terminal, 'paymentStatusToTerminal', name)
    terminal.send(shown('paymentStatus', name))
    await terminal.settled()
    if (name === 'unknown') break
    terminal.send({ ...shown('paymentResponse', 'declined'), transactionId: paymentOf('paymentStatus', name) })
    await till.next('paymentComplete')
  }
  await comes(till, 'paymentComplete', 'unknown')
})

test('a payment without a result is given up as its example shows it', async () => {
  await begin(paymentOf('paymentTimeout', 'timeout'), terminal)
  await p.advance(91)
  await comes(till, 'paymentTimeout', 'timeout')
})

test('sockets are closed as the examples show it', async () => {
  const next = await shop.till()
  await comes(till, 'forceDisconnect', 'replaced')
  await p.kaha[Symbol.asyncDispose]()
  await comes(next, 'forceDisconnect', 'restarting')
})

test('every example of the document was sent or compared', () => {
  const all = Object.entries(components.messages).flatMap(([message, { examples }]) =>
    examples.map(({ name }) => `${message} ${name}`),
  )
  assert.deepEqual([...played].toSorted(), all.toSorted())
})
