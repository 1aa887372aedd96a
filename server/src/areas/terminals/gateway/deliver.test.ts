import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import type { WebSocket } from 'ws'
import type { TerminalPrincipal } from '../../../identity/terminal-keys.ts'
import type { Bus, Words } from '../../../kernel/bus.ts'
import { createClock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { Fault } from '../../../kernel/fault.ts'
import { newCourse } from '../course.ts'
import type { Ledger } from '../ledger.ts'
import { createTerminalCases, type TerminalCases } from '../service-terminal.ts'
import type { TransactionRow } from '../store-transactions.ts'
import { createDeliverer } from './deliver.ts'
import { createLinks, Link } from './links.ts'

/** Whatever follows from a word has happened by then: nothing here takes time, only turns of the event loop. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await nextTurn()
}

/** What all of its payments have. */
const payment = { id: 'id', group_id: 'g', key_id: 'k', device_id: 'd', transaction_id: 't' }

/** A desktop, or this terminal, of group g on a socket of which no frame leaves, and a database that answers with this. */
function gateway(run: () => Promise<never[]>, cases = {} as TerminalCases, terminalId: string | null = null) {
  const unsent: string[] = []
  const told: unknown[] = []
  const sent: string[] = []
  const closed: number[] = []
  const checks: true[] = []
  const onError = (error: unknown) => void told.push(error)
  const links = createLinks()
  const socket = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send: (part: Buffer) => void sent.push((JSON.parse(part.toString()) as { action: string }).action),
    ping() {},
    close: (code: number) => void closed.push(code),
    terminate() {},
  }) as unknown as WebSocket
  const role = terminalId === null ? 'desktop' : 'terminal'
  const principal = { role, groupId: 'g', keyId: 'k' } as TerminalPrincipal
  const about = { connectionId: 'c', principal, terminalId, deviceId: null }
  const link = new Link(socket, about, 0, onError, 1_000)
  links.add(link)
  let hear: (words: Words) => void = () => {}
  const bus = { hear: (_topic, heard) => ((hear = heard), () => {}), listen: () => () => {} } as Partial<Bus> as Bus
  const db = { run } as Partial<Db> as Db
  const time = { ms: 0 }
  const clock = createClock(() => time.ms)
  const deliverer = createDeliverer({
    db,
    bus,
    clock,
    links,
    cases,
    connections: { isGone: async (id) => (await run()).some((one: { id: string }) => one.id === id) },
    unsent: (ids) => void unsent.push(...ids),
    checkSoon: () => void checks.push(true),
    onError,
  })
  return { told, sent, closed, checks, unsent, links, link, time, hear: (words: Words) => hear(words), deliverer }
}

test('a read for a desktop that fails while the desktop has its turn is told in the next one, and ends no process', async () => {
  const { told, link, hear } = gateway(() => Promise.reject(new Error('gone')))
  const turn = Promise.withResolvers<void>()
  link.inTurn(() => turn.promise)
  hear(['push', 'g', 'id', 'paymentComplete'])
  hear(['terminal', 'g', 'id', 'connected'])
  await settled()
  assert.equal(told.length, 0)
  turn.resolve()
  await settled()
  assert.deepEqual(
    told.map((error) => (error as Error).message),
    ['gone', 'gone'],
  )
})

test('a desktop for which ten thousand pushes wait is closed', async () => {
  const { closed, link, hear } = gateway(async () => [])
  const turn = Promise.withResolvers<void>()
  link.inTurn(() => turn.promise)
  for (let pushes = 0; pushes < 10_000; pushes += 1) hear(['push', 'g', 'id', 'paymentComplete'])
  assert.equal(closed.length, 0)
  hear(['push', 'g', 'id', 'paymentComplete'])
  assert.deepEqual(closed, [4000])
  turn.resolve()
  await settled()
  hear(['push', 'g', 'id', 'paymentComplete'])
  assert.deepEqual(closed, [4000])
})

test('a push whose payment could not be read is made when the database is back, and what a desktop missed is looked up again', async () => {
  let isAway = true
  const row = {
    ...payment,
    state: 'PENDING',
    given_up: 'TIMEOUT',
  }
  let reads = 0
  const { sent, link, hear, deliverer } = gateway(async () => {
    reads += 1
    if (isAway) throw new Fault('UNAVAILABLE', 'away')
    return [row] as never[]
  })
  hear(['push', 'g', 'id', 'paymentTimeout'])
  await settled()
  assert.deepEqual([sent, reads], [[], 1])
  isAway = false
  deliverer.desktops.tellAgain()
  await settled()
  assert.deepEqual([sent, reads], [['paymentTimeout'], 2])
  deliverer.desktops.tellAgain()
  await settled()
  assert.equal(reads, 2)

  // Meanwhile it has ended, and who began it has caught up with that.
  isAway = true
  hear(['push', 'g', 'id', 'paymentTimeout'])
  hear(['push', 'g', 'id', 'paymentComplete'])
  await settled()
  isAway = false
  Object.assign(row, { state: 'FAILED', complete_unseen: false })
  deliverer.desktops.tellAgain()
  await settled()
  assert.deepEqual(sent, ['paymentTimeout'])

  const before = reads
  isAway = true
  deliverer.desktops.catchUp(link)
  await settled()
  assert.equal(reads, before + 1)
  isAway = false
  deliverer.desktops.tellAgain()
  await settled()
  assert.ok(reads > before + 1)
})

test('a terminal that could not be read as it came or went is told of as it stands when the database is back, once', async () => {
  let isAway = true
  const at = new Date(0)
  const row = { id: 'id', group_id: 'g', device_id: 'd', status: 'reconnecting', connection_id: 'c', metadata: null }
  const { sent, hear, deliverer } = gateway(async () => {
    if (isAway) throw new Fault('UNAVAILABLE', 'away')
    return [{ ...row, connected_at: at, last_activity_at: at }] as never[]
  })
  for (const word of ['reconnecting', 'disconnected', 'connected']) hear(['terminal', 'g', 'id', word])
  await settled()
  deliverer.desktops.tellAgain()
  await settled()
  assert.deepEqual(sent, [])
  isAway = false
  for (let times = 0; times < 2; times += 1) deliverer.desktops.tellAgain()
  await settled()
  assert.deepEqual(sent, ['terminalStatusUpdate'])
})

test('what a desktop missed is told once, however often it is looked up before the desktop has seen it', async () => {
  const row = {
    ...payment,
    state: 'VOIDED',
    void_reason: 'requested',
    complete_unseen: false,
    voided_unseen: true,
  }
  const { sent, link, deliverer } = gateway(async () => [row] as never[])
  deliverer.desktops.catchUp(link)
  await settled()
  deliverer.desktops.catchUp(link)
  await settled()
  assert.deepEqual(sent, ['paymentVoided'])
  // It answers the ping behind it, and misses it anew.
  link.ponged(Buffer.from('1'))
  await settled()
  deliverer.desktops.catchUp(link)
  await settled()
  assert.deepEqual(sent, ['paymentVoided', 'paymentVoided'])
})

test('a desktop is told once that what it began was given up, though no word of it comes', async () => {
  const row = {
    ...payment,
    ...newCourse,
    state: 'PENDING',
    given_up: null,
  } as Partial<TransactionRow> as TransactionRow
  let stored = row
  const { sent, link, time, hear, deliverer } = gateway(async () => [stored] as never[])
  const tellMissedAt = async (ms: number) => {
    time.ms = ms
    await deliverer.desktops.tellMissed()
    await settled()
  }
  deliverer.desktops.tellEnd(link, row)
  await tellMissedAt(20_000)
  stored = { ...row, given_up: 'TIMEOUT', given_up_at: new Date(90_000) }
  // Its word may be on the way.
  await tellMissedAt(92_000)
  assert.deepEqual(sent, [])
  await tellMissedAt(95_000)
  await tellMissedAt(100_000)
  assert.deepEqual(sent, ['paymentTimeout'])

  // As it comes.
  deliverer.desktops.tellEnd(link, row)
  hear(['push', 'g', 'id', 'paymentTimeout'])
  await settled()
  await tellMissedAt(200_000)
  assert.deepEqual(sent, ['paymentTimeout', 'paymentTimeout'])
})

test('a word that is made up tells a desktop nothing that the payment or the terminal does not, and does no harm', async () => {
  const at = new Date(0)
  const row = {
    ...payment,
    key_id: 'other',
    given_up: null,
    status: 'reconnecting',
    connected_at: at,
    last_activity_at: at,
    metadata: null,
  }
  const states = ['PENDING', 'COMPLETED', 'VOIDED'] as const
  for (const [index, state] of states.entries()) {
    const { sent, told, hear } = gateway(async () => [{ ...row, state }] as never[])
    for (const push of ['paymentTimeout', 'paymentVoided', 'payment', '__proto__']) hear(['push', 'g', 'id', push])
    for (const word of ['__proto__', 'constructor', '']) hear([word, 'g', 'id'])
    for (const status of ['connected', 'disconnected', '__proto__']) hear(['terminal', 'g', 'id', status])
    await settled()
    assert.deepEqual([sent, told], [index === 2 ? ['paymentVoided'] : [], []])
  }
})

test('a word closes a connection that is none any more, and no other', async () => {
  for (const [missing, closed] of [
    [[], []],
    [['another'], []],
    [['c'], [4000]],
  ] as const) {
    const { hear, ...found } = gateway(async () => missing.map((id) => ({ id })) as never[])
    for (const word of ['constructor', 'other']) hear(['close', 'c', word])
    await settled()
    assert.deepEqual([found.closed, found.told], [closed, []])
  }
})

test('where that cannot be looked up, it is as soon as it can, and the reason is kept', async () => {
  const away = new Fault('UNAVAILABLE', 'away')
  const { closed, checks, told, link, hear, deliverer } = gateway(() => Promise.reject(away))
  hear(['close', 'c', 'api_key_used_elsewhere'])
  await settled()
  assert.deepEqual([closed, checks, told], [[], [true], [away]])
  deliverer.dismiss(link, 'other')
  assert.deepEqual(closed, [4001])
})

test('nor does it tell a desktop of a payment of another group, though that was read in the same moment', async () => {
  const row = { ...payment, group_id: 'other', key_id: 'other', state: 'VOIDED' }
  const { sent, told, hear } = gateway(async () => [row] as never[])
  hear(['push', 'g', 'id', 'paymentVoided'])
  await settled()
  assert.deepEqual([sent, told], [[], []])
})

test('nor a terminal of a payment at another one, or to cancel what nobody has cancelled', async () => {
  const row = {
    ...payment,
    terminal_id: 't1',
    state: 'PENDING',
    cancel_asked: true,
    given_up: null,
    void_state: 'ASKED',
  }
  for (const [more, expected] of [
    [{}, ['cancelPayment', 'voidPayment']],
    [{ terminal_id: 't2' }, []],
    [{ cancel_asked: false, void_state: null }, []],
    [{ cancel_asked: false, given_up: 'TIMEOUT', void_state: null }, ['cancelPayment']],
  ] as const) {
    const { sent, told, hear } = gateway(async () => [{ ...row, ...more }] as never[], {} as TerminalCases, 't1')
    for (const action of ['cancelPayment', 'voidPayment']) hear(['tell', 'c', 'g', 'id', action])
    await settled()
    assert.deepEqual([sent, told], [expected, []])
  }
})

test('a terminal is told when the database is back of what could not be read as the word of it came, once', async () => {
  let isAway = true
  const row = {
    ...payment,
    terminal_id: 't1',
    state: 'FAILED',
    cancel_asked: false,
    given_up: null,
    void_state: 'ASKED',
  }
  const run = async () => {
    if (isAway) throw new Fault('UNAVAILABLE', 'away')
    return [row] as never[]
  }
  const { sent, hear, deliverer } = gateway(run, {} as TerminalCases, 't1')
  for (let times = 0; times < 2; times += 1) hear(['tell', 'c', 'g', 'id', 'voidPayment'])
  await settled()
  assert.deepEqual(sent, [])
  isAway = false
  for (let times = 0; times < 2; times += 1) deliverer.terminals.tellAgain()
  await settled()
  assert.deepEqual(sent, ['voidPayment'])
})

/** What terminals can say of one payment, as it is stored. */
const casesOf = (more: Partial<TransactionRow>) => {
  const row = { ...payment, ...newCourse, terminal_id: 't1', created_at: new Date(0), ...more } as TransactionRow
  const change: Ledger['change'] = async (_id, stepper) => ({ ...row, ...stepper(row, new Date(0)).course })
  return createTerminalCases({ ledger: { change } } as Parameters<typeof createTerminalCases>[0])
}

test('nor is a payment sent to another terminal than its own, a second time, or once it was given up', async () => {
  const own = { terminalId: 't1', connectionId: 'c' }
  assert.equal((await casesOf({}).beforeSending('id', own))?.sent_to, 'c')
  assert.equal(await casesOf({}).beforeSending('id', { ...own, terminalId: 't2' }), undefined)
  for (const more of [{ sent_to: 'b' }, { given_up: 'TIMEOUT' }, { state: 'AWAITING_RECONNECT' }] as const)
    assert.equal(await casesOf(more).beforeSending('id', own), undefined, JSON.stringify(more))
})

test('one that its terminal may have is not taken for one that was never sent', async () => {
  assert.equal((await casesOf({ sent_to: 'c' }).notSent('id'))?.sent_to, null)
  assert.equal((await casesOf({ sent_to: 'c', state: 'AWAITING_RECONNECT' }).notSent('id'))?.sent_to, 'c')
})

test('a connection whose place was taken before its socket was here is told so when it is', async () => {
  const { sent, link, links, hear, deliverer } = gateway(async () => [{ id: 'c' }] as never[])
  links.remove(link)
  hear(['close', 'c', 'api_key_used_elsewhere'])
  links.add(link)
  deliverer.arrived(link)
  await settled()
  assert.deepEqual([sent, link.dismissed], [['forceDisconnect'], true])
})

test('a payment that was stored as sent and could not be written is settled later, where the database is away just then', async () => {
  const away = new Fault('UNAVAILABLE', 'away')
  const cases = { notSent: () => Promise.reject(away) } as Partial<TerminalCases> as TerminalCases
  const { told, unsent, deliverer } = gateway(async () => [], cases)
  deliverer.terminals.sendStored({ id: 'id', sent_to: 'gone' } as TransactionRow)
  await settled()
  assert.deepEqual([told, unsent], [[away], ['id']])
})

test('a payment whose word was ahead of the socket of its terminal is sent when that is here, once', async () => {
  const row = {
    ...payment,
    ...newCourse,
    terminal_id: 't1',
    request: '{}',
  } as Partial<TransactionRow> as TransactionRow
  const asked: string[] = []
  const cases = {
    async beforeSending(id: string) {
      asked.push(id)
      return row
    },
  } as Partial<TerminalCases> as TerminalCases
  const { sent, told, link, links, hear, deliverer } = gateway(async () => [], cases, 't1')
  links.remove(link)
  hear(['tell', 'c', 'g', 'before', 'payment'])
  hear(['tell', 'c', 'g', 'id', 'payment'])
  hear(['tell', 'c', 'g', 'other', 'cancelPayment'])
  links.add(link)
  deliverer.arrived(link)
  deliverer.arrived(link)
  await settled()
  assert.deepEqual([asked, sent, told], [['id'], ['payment'], []])
})
