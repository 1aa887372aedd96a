import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { answer, lineOf, nextOf } from '../test/line.ts'
import { connectTerminal, KahaError, type KahaConnectionError } from './index.ts'

const push = { action: 'paymentStatus', transactionId: 'ORDER-1' }

test('a line comes back after an answer that is none of the platform', { timeout: 20_000 }, async (t) => {
  const proxy = (status: number) => (_open: () => void, raw: Socket) => answer(raw, status, 'oops')
  const { opened, seen, states, becomes } = await lineOf(t, 'opens', proxy(502), proxy(404), 'opens')
  opened[0]?.terminate()
  await becomes('reconnecting')
  await becomes('open')
  assert.deepEqual([seen.connects, states], [4, ['reconnecting', 'open']])
})

test('a first connect that is answered with a status that is none is told as by a proxy', async (t) => {
  await assert.rejects(
    lineOf(t, (_open, raw) => answer(raw, 999, 'oops')),
    (error) => error instanceof KahaError && error.status === 502,
  )
})

test('a payment that is not answered tells its transactionId, whoever made it', async (t) => {
  const { line, opened } = await lineOf(t, 'opens')
  const heard: { paymentRequest: { transactionId: string } }[] = []
  const two = new Promise<void>((resolve) => {
    opened[0]?.on('message', (data) => {
      heard.push(JSON.parse((data as Buffer).toString()) as (typeof heard)[number])
      if (heard.length === 2) resolve()
    })
  })
  const paymentRequest = { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD' } as const
  const asked = [paymentRequest, { ...paymentRequest, transactionId: 'ORDER-1' }].map((one) =>
    line.ask('payment', { terminalId: 'T', paymentRequest: one }).then(
      () => assert.fail('it was answered'),
      (error: unknown) => error as KahaConnectionError,
    ),
  )
  await two
  opened[0]?.terminate()
  const failures = await Promise.all(asked)
  const sent = heard.map((one) => one.paymentRequest.transactionId)
  assert.deepEqual(
    failures.map(({ transactionId }) => transactionId),
    sent,
  )
  assert.match(sent[0] ?? '', /^[0-9a-f-]{36}$/)
  assert.equal(sent[1], 'ORDER-1')
})

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('a signal ends a question or a report at once with its own reason, and the line stays', async (t) => {
  const { line, opened } = await lineOf(t, 'opens')
  const platform = opened[0]
  const payment = { amount: '1.00', currency: 'PHP', paymentMethod: 'CARD' } as const
  const asks: ((signal: AbortSignal) => Promise<unknown>)[] = [
    (signal) => line.ask('payment', { terminalId: 'T', paymentRequest: payment }, { signal }),
    (signal) => line.ask('voidPayment', { transactionId: 'ORDER-1' }, { signal }),
    (signal) => line.report('paymentStatus', { transactionId: 'ORDER-1', status: 'UNKNOWN' }, { signal }),
  ]
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
  const before = timers()
  for (const ask of asks) {
    const leaving = new AbortController()
    const reason = new Error('the shopper left')
    const arrives = nextOf(platform)
    const asked = ask(leaving.signal)
    await arrives
    leaving.abort(reason)
    await assert.rejects(asked, (error) => error === reason)
    assert.deepEqual([timers(), listenersOf(leaving.signal), line.state], [before, 0, 'open'])
  }
})

test('a signal that was given before sends nothing, and one that outlives its question is let go', async (t) => {
  const { line, opened } = await lineOf(t, 'opens')
  const platform = opened[0]
  const first = nextOf(platform)
  await assert.rejects(line.ask('ping', {}, { signal: AbortSignal.abort(new Error('too late')) }), /too late/)
  const report = { transactionId: 'ORDER-1', status: 'UNKNOWN' } as const
  const late = { signal: AbortSignal.abort(new Error('too late')) }
  await assert.rejects(line.report('paymentStatus', report, late), /too late/)
  const { signal } = new AbortController()
  const asked = line.ask('ping', {}, { signal })
  const { requestId, action } = await first
  assert.equal(action, 'ping')
  platform?.send(JSON.stringify({ action: 'pong', requestId }))
  await asked
  const reported = line.report('paymentStatus', report, { signal })
  platform?.on('message', (data: Buffer) => {
    const one = JSON.parse(data.toString()) as Record<string, unknown>
    if (one['action'] === 'ping') platform.send(JSON.stringify({ action: 'pong', requestId: one['requestId'] }))
  })
  await reported
  assert.equal(listenersOf(signal), 0)
})

test('an answer that nobody waits for any more is not heard as a push', async (t) => {
  const { line, opened, heard } = await lineOf(t, 'opens')
  const platform = opened[0]
  const leaving = new AbortController()
  const arrives = nextOf(platform)
  const asked = line.ask('voidPayment', { transactionId: 'ORDER-1' }, { signal: leaving.signal })
  const { requestId } = await arrives
  leaving.abort(new Error('enough'))
  await assert.rejects(asked, /enough/)
  // A report that is refused does not wait for its pong either.
  const refused = line.report('paymentStatus', { transactionId: 'ORDER-1', status: 'UNKNOWN' })
  const report = await nextOf(platform)
  platform?.send(JSON.stringify({ action: 'voidResult', requestId, transactionId: 'ORDER-1', success: true }))
  platform?.send(JSON.stringify({ action: 'error', requestId: report['requestId'], code: 'X', message: 'x' }))
  await assert.rejects(refused, KahaError)
  platform?.send(JSON.stringify({ action: 'pong', requestId: String(Number(report['requestId']) + 1) }))
  platform?.send(JSON.stringify(push))
  while (heard.length === 0) await setImmediate()
  assert.deepEqual(heard, [[push, 'open']])
})

test('a line is closed for good when the key or the device is refused, and what names the refusal is told', async (t) => {
  for (const status of [401, 403, 400]) {
    const { opened, seen, becomes, why } = await lineOf(t, 'opens', status)
    opened[0]?.terminate()
    await becomes('closed')
    assert.equal(seen.connects, 2)
    const cause = why()
    assert.ok(cause instanceof KahaError)
    assert.deepEqual([cause.status, cause.correlationId], [status, `${status}-1`])
  }
})

test('a frame that is none during the goodbye fails nobody who waits until the line is closed', async (t) => {
  let wire: Socket | undefined
  const { line, opened, states, why } = await lineOf(t, (open, raw) => {
    wire = raw
    open()
  })
  const platform = opened[0]
  assert.ok(platform !== undefined && wire !== undefined)
  // Reserved bits are set, and it comes before the answer to the goodbye.
  wire.write(Buffer.from([0xf1, 0x00]))
  await line.close()
  assert.deepEqual([line.state, states, why()], ['closed', ['closed'], undefined])
})

test('a line that is closed while it comes back leaves no socket behind', { timeout: 20_000 }, async (t) => {
  const asked = Promise.withResolvers<Socket>()
  const { line, opened, seen, states, becomes, why } = await lineOf(t, 'opens', (_open, raw) => asked.resolve(raw))
  opened[0]?.terminate()
  await becomes('reconnecting')
  const raw = await asked.promise
  const dropped = once(raw.resume(), 'end')
  await line.close()
  assert.deepEqual([line.state, states, why()], ['closed', ['reconnecting', 'closed'], undefined])
  await dropped
  raw.destroy()
  assert.equal(seen.connects, 2)
})

test('a line that is closed in the moment in which it is back is closed', { timeout: 20_000 }, async (t) => {
  const answered = Promise.withResolvers<void>()
  const { line, opened, states, becomes } = await lineOf(t, 'opens', (open) => {
    open()
    answered.resolve()
  })
  opened[0]?.terminate()
  await becomes('reconnecting')
  await answered.promise
  const second = opened[1]
  assert.ok(second !== undefined)
  const left = once(second, 'close')
  await line.close()
  await left
  assert.deepEqual([line.state, states], ['closed', ['reconnecting', 'closed']])
})

test(
  'a line whose frame is no message is dropped and opened again, and nothing is heard of it',
  { timeout: 20_000 },
  async (t) => {
    for (const junk of ['not json', '', 'null', '[]', '"text"', '7']) {
      const { opened, heard, seen, states, becomes } = await lineOf(t, 'opens')
      opened[0]?.send(junk)
      await becomes('reconnecting')
      await becomes('open')
      assert.deepEqual([seen.connects, states, heard], [2, ['reconnecting', 'open'], []])
    }
  },
)

test(
  'what comes together with the handshake is heard when the line is there to answer it',
  { timeout: 20_000 },
  async (t) => {
    const greeted: Socket[] = []
    const { heard, becomes } = await lineOf(t, (open, raw) => {
      // One packet.
      raw.cork()
      open()
      const text = JSON.stringify(push)
      raw.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]))
      raw.uncork()
      greeted.push(raw)
    })
    while (heard.length < 1) await setImmediate()
    greeted[0]?.destroy()
    await becomes('reconnecting')
    while (heard.length < 2) await setImmediate()
    assert.deepEqual(heard, [
      [push, 'open'],
      [push, 'open'],
    ])
  },
)

test(
  'what a caller throws when it is told is its own, and changes nothing of the line',
  { timeout: 20_000 },
  async (t) => {
    const thrown: unknown[] = []
    process.setUncaughtExceptionCaptureCallback((error) => thrown.push(error))
    t.after(() => process.setUncaughtExceptionCaptureCallback(null))
    const { line, opened, seen, becomes, whenTold } = await lineOf(t, 'opens')
    const mine = new Error('mine')
    whenTold(() => {
      throw mine
    })
    opened[0]?.terminate()
    await becomes('reconnecting')
    await becomes('open')
    const answered = new Promise((resolve) => opened[1]?.once('message', resolve))
    void line.ask('ping', {}).catch(() => {})
    await answered
    assert.deepEqual([seen.connects, line.state, thrown], [2, 'open', [mine, mine]])
    whenTold(() => {})
  },
)

test('a line that is taken and dropped is opened later each time, until it holds', { timeout: 20_000 }, async (t) => {
  const timers = t.mock.method(globalThis, 'setTimeout')
  const takenAndDropped = (open: () => void, raw: Socket) => {
    open()
    raw.end()
  }
  const { opened, seen, becomes } = await lineOf(t, 'opens', takenAndDropped, takenAndDropped, 'opens')
  opened[0]?.terminate()
  while (seen.connects < 4) {
    await becomes('reconnecting')
    await becomes('open')
  }
  const last = opened[3]
  assert.ok(last !== undefined)
  last.ping()
  await once(last, 'pong')
  last.terminate()
  await becomes('reconnecting')
  await becomes('open')
  const waits = timers.mock.calls.map(({ arguments: [, ms] }) => ms ?? 0).filter((ms) => ms < 10_000)
  assert.deepEqual(waits, [250, 500, 1_000, 250])
})

test('a question without what it needs, or that cannot be written or is too long, is refused by its cause, and nobody waits for an answer', async (t) => {
  const { line, opened } = await lineOf(t, 'opens')
  const heard: string[] = []
  opened[0]?.on('message', (data: Buffer) => heard.push(data.toString()))
  const ask = line.ask as (...given: readonly unknown[]) => Promise<unknown>
  const report = line.report as (...given: readonly unknown[]) => Promise<unknown>
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
  const before = timers()
  for (const [given, says] of [
    [['payment'], /^TypeError: paymentRequest must be an object$/],
    [['payment', { terminalId: 'T1' }], /^TypeError: paymentRequest must be an object$/],
    [['payment', { terminalId: 'T1', paymentRequest: 'x' }], /^TypeError: paymentRequest must be an object$/],
    [['payment', null], /^TypeError: message must be an object$/],
    [['ping', {}, null], /^TypeError: options must be an object$/],
    [['ping', {}, { signal: {} }], /^TypeError: signal must be an AbortSignal$/],
    [['voidPayment', { transactionId: 1n }], /transactionId must not be a bigint/],
    [
      ['payment', { terminalId: 'T1', paymentRequest: { amount: NaN } }],
      /^TypeError: paymentRequest\.amount must be a finite number/,
    ],
    [['voidPayment', { transactionId: 'ñ'.repeat(32_760) }], /^RangeError: voidPayment: .*at most 65536 bytes/],
  ] as const)
    await assert.rejects(ask(...given), says)
  await assert.rejects(report('paymentResponse'), /^TypeError: message must be an object$/)
  const long = { transactionId: 'ORDER-1', paymentResponse: { status: 'SUCCESS', receiptData: 'x'.repeat(65_536) } }
  await assert.rejects(report('paymentResponse', long), /^RangeError: paymentResponse: .*at most 65536 bytes/)
  assert.equal(timers(), before)
  const pong = ask('ping')
  await once(opened[0] as WebSocket, 'message')
  const [{ action, requestId }, ...others] = heard.map((text) => JSON.parse(text)) as [Record<string, unknown>]
  assert.deepEqual([action, others], ['ping', []])
  opened[0]?.send(JSON.stringify({ action: 'pong', requestId }))
  assert.deepEqual(await pong, { action: 'pong', requestId })
})

test('an address or a key that is none is refused before anything is sent, and not repeated', async () => {
  const places = [
    'nonsense',
    'ftp://h',
    'http://u:secret@127.0.0.1:9',
    'http://127.0.0.1:9/?secret',
    'ws://127.0.0.1:9#secret',
  ]
  const ways = [
    ...places.map((baseUrl) => ({ baseUrl, apiKey: 'tk_x', named: /^baseUrl must be/ })),
    { baseUrl: 'ws://127.0.0.1:9', apiKey: 'tk_secret\n', named: /^apiKey must be/ },
    { baseUrl: 'ws://127.0.0.1:9', apiKey: 'tk_x', deviceId: 'secret\n', named: /^deviceId must be/ },
    { baseUrl: 'ws://127.0.0.1:9', apiKey: 'tk_x', groupId: 'secret€', named: /^groupId must be/ },
  ]
  for (const { named, ...way } of ways) {
    const failure = await connectTerminal({ ...way, hear: () => {} }).then(
      () => assert.fail('it was taken'),
      (error: unknown) => error as Error,
    )
    assert.ok(failure instanceof TypeError && !failure.message.includes('secret'))
    assert.match(failure.message, named)
  }
})
