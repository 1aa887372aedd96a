import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createKaha } from '@kaha/sdk'
import { sendSignal } from '../../src/kernel/postgres/processes.ts'
import { folder, serversIn, start, stop, type Program, type SandboxFile } from './program.ts'

const dataDir = join(folder({ after }), 'data')
const link = { type: 'multi_use', currency: 'PHP', amount: 9800 } as const
const mug = { sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }
const branchClient = ({ base_url, merchants }: SandboxFile) =>
  createKaha({ baseUrl: base_url, apiKey: merchants[0]?.branches[0]?.secret_key ?? '' })

test('a sandbox that was killed with -9 starts again at once with everything that it had acknowledged', async (t) => {
  const first = await start(t, dataDir, { args: ['--empty'] })
  const client = branchClient(first.sandbox)
  const made = await client.paymentLinks.create({ ...link, line_items: [mug] })
  const intent = await client.paymentIntents.create({ payment_link_id: made.id })
  const card = { number: '4242424242424242', exp_month: 12, exp_year: 2060, cvc: '123' }
  const paid = await client.paymentIntents.confirm(intent.id, { payment_method: { type: 'card', card } })
  assert.equal(await stop(first, 'SIGKILL'), 'SIGKILL')

  const second = await start(t, dataDir, { args: ['--empty'] })
  const again = branchClient(second.sandbox)
  assert.deepEqual(await again.paymentIntents.retrieve(intent.id), paid)
  assert.equal((await again.paymentLinks.retrieve(made.id)).successful_payment_count, 1)
  assert.deepEqual(second.sandbox.partner, first.sandbox.partner)
  assert.equal(second.sandbox.pid, second.pid)
  assert.equal(await stop(second), 0)
})

const told = ({ stderr }: Program) =>
  stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: number; msg: string })

test('a sandbox whose database is killed goes on after a moment, and warns of it', async (t) => {
  const program = await start(t, dataDir, { args: ['--empty'], settings: { KAHA_LOG_LEVEL: 'warn' } })
  const client = branchClient(program.sandbox)
  const made = await client.paymentLinks.create({ ...link, line_items: [mug] })
  for (const pid of serversIn(dataDir)) sendSignal(pid, 'SIGKILL')
  const patient = { maxRetries: 10 }
  assert.equal((await client.paymentLinks.retrieve(made.id, patient)).id, made.id)
  assert.equal(await stop(program), 0)
  const [ended] = told(program).filter(({ msg }) => msg.endsWith('ended with SIGKILL; starting it again'))
  assert.equal(ended?.level, 40)
})

test('a sandbox whose database cannot be kept running ends with a fatal line in its log, beside the one for a person', async (t) => {
  const own = join(folder(t), 'data')
  const program = await start(t, own, { args: ['--empty'], settings: { KAHA_LOG_LEVEL: 'warn' } })
  rmSync(join(own, 'postgres/global/pg_control'))
  for (const pid of serversIn(own)) sendSignal(pid, 'SIGKILL')
  assert.equal(await program.ended, 1)
  const why = /^PostgreSQL could not be kept running, given up after 5 attempts: .*pg_control/
  const lines = told(program)
  assert.deepEqual(
    lines.filter(({ msg }) => why.test(msg)).map(({ level }) => level),
    [60],
  )
  assert.equal(
    lines.filter(({ level, msg }) => level === 40 && /^PostgreSQL did not start: .*pg_control/.test(msg)).length,
    5,
  )
  assert.match(program.stderr(), /^kaha: PostgreSQL could not be kept running.*then start again/m)
  assert.deepEqual(serversIn(own), [])
})
