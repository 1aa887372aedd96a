import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test, type TestContext } from 'node:test'
import {
  connectTerminal,
  KahaConnectionError,
  KahaError,
  type TerminalLineOptions,
  type TerminalLineState,
  type TerminalPush,
} from '@kaha/sdk'
import { startLineProxy } from '../line-proxy.ts'
import { platform } from '../platform.ts'
import { approval, sale, shopOf } from '../till.ts'
import { until } from '../until.ts'

// The line of the client library, at both ends of a real one.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const { api_key: terminalKey, device_id: deviceId } = shop.first

/** A line that lasts as long as its test, and all that came over it. */
async function lineOf(t: TestContext, options: Partial<TerminalLineOptions> & { apiKey: string }) {
  const heard: TerminalPush[] = []
  const states: TerminalLineState[] = []
  let why: Error | undefined
  const line = await connectTerminal({
    baseUrl: `${p.url}/terminal`,
    hear: (push) => heard.push(push),
    changed(state, cause) {
      states.push(state)
      why = cause
    },
    random: () => 0,
    ...options,
  })
  t.after(() => line.close())
  const next = async <Action extends TerminalPush['action']>(action: Action, transactionId?: string) => {
    const found = () =>
      heard.find(
        (one) =>
          one.action === action && (!transactionId || ('transactionId' in one && one.transactionId === transactionId)),
      )
    await until(`a push ${action}`, () => found() !== undefined)
    return found() as Extract<TerminalPush, { action: Action }>
  }
  return { line, heard, states, next, why: () => why }
}
const tillOf = (t: TestContext, options: Partial<TerminalLineOptions> = {}) =>
  lineOf(t, { apiKey: shop.desktop.api_key, ...options })
const terminalOf = (t: TestContext, options: Partial<TerminalLineOptions> = {}) =>
  lineOf(t, { apiKey: terminalKey, deviceId, ...options })
const reported = (transactionId: string, fields: Record<string, unknown> = {}) => ({
  transactionId,
  paymentResponse: { ...approval, status: 'SUCCESS' as const, paymentMethod: 'CARD' as const, ...fields },
})

test('a till pays at a terminal and voids, both through lines of the client, and each hears what it must', async (t) => {
  const till = await tillOf(t)
  const terminal = await terminalOf(t)
  const { terminals } = await till.line.ask('getTerminals', {})
  assert.deepEqual(
    terminals.map((one) => one.terminalId),
    [deviceId],
  )
  const transactionId = randomUUID()
  const paymentRequest = { ...sale, paymentMethod: 'CARD' as const, transactionId }
  const accepted = await till.line.ask('payment', { terminalId: deviceId, paymentRequest })
  assert.equal(accepted.transactionId, transactionId)
  assert.equal((await terminal.next('payment', transactionId)).paymentRequest.amount, '150.00')
  await terminal.line.report('paymentResponse', reported(transactionId))
  assert.equal((await till.next('paymentComplete', transactionId)).paymentResponse.status, 'SUCCESS')

  const voiding = till.line.ask('voidPayment', { transactionId, reason: 'a mistake' })
  assert.equal((await terminal.next('voidPayment', transactionId)).reason, 'a mistake')
  await terminal.line.report('voidResult', { transactionId, success: true })
  assert.equal((await voiding).success, true)
  await till.next('paymentVoided', transactionId)
  await terminal.line.close()
  assert.equal((await till.next('terminalStatusUpdate')).terminalId, deviceId)
  assert.deepEqual([terminal.line.state, terminal.states], ['closed', ['closed']])
})

test('what is refused rejects with its code, and nothing hangs: a report, a question, a message of the other role', async (t) => {
  const till = await tillOf(t)
  const terminal = await terminalOf(t)
  const paymentRequest = { ...sale, paymentMethod: 'CARD' as const }
  const { transactionId } = await till.line.ask('payment', { terminalId: deviceId, paymentRequest })
  await terminal.next('payment', transactionId)
  const about = (code: string, status: number) => (error: unknown) =>
    error instanceof KahaError && error.code === code && error.status === status
  const nonsense = reported(transactionId, { authorizationCode: '' })
  await assert.rejects(terminal.line.report('paymentResponse', nonsense), about('INVALID_REQUEST', 400))
  await assert.rejects(
    till.line.ask('payment', { terminalId: deviceId, paymentRequest }),
    about('PAYMENT_IN_PROGRESS', 409),
  )
  await assert.rejects(terminal.line.ask('getTerminals', {}), about('GROUP_MISMATCH', 403))
  await terminal.line.report('paymentResponse', reported(transactionId))
  await till.next('paymentComplete', transactionId)
  await terminal.line.close()
  await assert.rejects(
    terminal.line.ask('ping', {}),
    (error) => error instanceof KahaConnectionError && error.reason === 'CLOSED',
  )
})

test('a line that is lost comes back by itself, and what was open is asked and told', async (t) => {
  const { port, hostname } = new URL(p.url)
  const proxy = await startLineProxy({ host: hostname, port: Number(port) })
  t.after(() => proxy[Symbol.asyncDispose]())
  const terminal = await terminalOf(t, { baseUrl: `http://127.0.0.1:${proxy.port}/terminal` })
  const transactionId = randomUUID()
  const paying = shop.pay({ transactionId })
  await terminal.next('payment', transactionId)
  proxy.becomes('closed')
  await until('the loss', () => terminal.states.at(-1) === 'reconnecting')
  await assert.rejects(
    terminal.line.report('paymentResponse', reported(transactionId)),
    (error) => error instanceof KahaConnectionError && error.reason === 'RECONNECTING',
  )
  proxy.becomes('passes')
  await terminal.next('paymentStatus', transactionId)
  await terminal.line.report('paymentResponse', reported(transactionId))
  assert.equal((await paying).json.status, 'SUCCESS')
  assert.deepEqual(terminal.states, ['reconnecting', 'open'])
  await terminal.line.close()
})

test('a key that connects elsewhere closes the older line for good', async (t) => {
  const older = await tillOf(t)
  const newer = await tillOf(t)
  await until('the close', () => older.line.state === 'closed')
  assert.equal((await older.next('forceDisconnect')).reason, 'api_key_used_elsewhere')
  assert.match(String(older.why()), /api_key_used_elsewhere/)
  await newer.line.ask('ping', {})
  assert.deepEqual([older.states, newer.states], [['closed'], []])
})

test('a connect that cannot be says why: a key that nobody issued, a group of others, nobody there', async (t) => {
  const refused = (code: string, status: number) => (error: unknown) =>
    error instanceof KahaError &&
    error.code === code &&
    error.status === status &&
    error.operation === 'connectTerminal'
  await assert.rejects(tillOf(t, { apiKey: 'tk_unknown' }), refused('UNAUTHORIZED', 401))
  await assert.rejects(tillOf(t, { groupId: randomUUID() }), refused('GROUP_MISMATCH', 403))
  await assert.rejects(
    tillOf(t, { baseUrl: 'http://127.0.0.1:1/terminal' }),
    (error) => error instanceof KahaConnectionError && error.reason === 'ECONNREFUSED',
  )
})
