import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bus, Words } from '../../kernel/bus.ts'
import { createClock } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import { Fault } from '../../kernel/fault.ts'
import { createLog } from '../../kernel/log.ts'
import { newCourse } from './course.ts'
import { createLedger, type LedgerDependencies } from './ledger.ts'
import type { TransactionRow } from './store-transactions.ts'

/** What is said of a payment that was sent to connection c and is to be voided, with the terminals as this finds them. */
async function saidOf(run: () => Promise<object[]>): Promise<Words[]> {
  const said: Words[] = []
  const bus = { say: (_topic, words) => void said.push(words) } as Partial<Bus> as Bus
  const ledger = createLedger({
    db: { run } as Partial<Db> as Db,
    bus,
    clock: createClock(() => 0),
    log: createLog('silent'),
    waits: { give() {} } as Partial<LedgerDependencies['waits']> as LedgerDependencies['waits'],
    figures: {} as LedgerDependencies['figures'],
    eventRecords: () => Buffer.alloc(0),
  })
  const about = { id: 'id', group_id: 'g', terminal_id: 't', sent_to: 'c' }
  const row = { ...newCourse, ...about, void_state: 'ASKED' } as Partial<TransactionRow> as TransactionRow
  await ledger.follow([{ row, effects: [{ kind: 'tell', action: 'voidPayment' }], raised: [], isHeard: false }])
  return said.filter(([what]) => what === 'tell')
}

test('a terminal is told on the connection that it has, and not where it has none', async () => {
  const terminal = { id: 't', connection_id: 'newer' }
  assert.deepEqual(await saidOf(async () => [{ ...terminal, status: 'online' }]), [
    ['tell', 'newer', 'g', 'id', 'voidPayment'],
  ])
  assert.deepEqual(await saidOf(async () => [{ ...terminal, status: 'reconnecting' }]), [])
})

test('where that cannot be looked up, on the one that the payment was sent to', async () => {
  const away = () => Promise.reject(new Fault('UNAVAILABLE', 'away'))
  assert.deepEqual(await saidOf(away), [['tell', 'c', 'g', 'id', 'voidPayment']])
})
