import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { StartFault } from '../../src/kernel/fault.ts'
import { attentionCommand } from '../../src/commands/attention.ts'
import { attentionStore } from '../../src/commands/store-attention.ts'
import { readConfig } from '../../src/config.ts'
import { bankOf, qrAccount } from '../conformance/qr-account.ts'
import { urlOf } from '../faults/database-of.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { approval, result, shopOf } from '../till.ts'
import { finish, folder } from './program.ts'

// What only a person can mend, as the operator's command shows it.

const p = await platform({ after })
const shop = shopOf(p)
after(() => shop[Symbol.asyncDispose]())
const settings = { KAHA_DATABASE_URL: urlOf(p.target), KAHA_DATA_DIR: folder({ after }) }

async function kaha(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await finish({ after }, { args: ['attention', ...args], settings })
  assert.equal(code, 0, stderr)
  return stdout
}
const open = () => attentionStore.list(p.kaha.db, 10)
const figure = async (name: string): Promise<number> => {
  const text = await (await fetch(`${p.url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

/** A result from a terminal that the payment was not sent to. */
async function foreignResult(transactionId: string) {
  const other = await shop.connect(shop.second)
  await other.ask(result(transactionId))
  await other.close()
}

test('an empty list says that nothing needs a person, and what is not open is not settled', async () => {
  assert.equal(await kaha(), 'Nothing needs a person.\n')
  assert.equal(await kaha('list', '--settled'), 'Nothing has been settled that is still kept.\n')
  await assert.rejects(
    attentionCommand(readConfig(settings), ['settle', '01a1fcef-9ed7-78da-86e8-e01924f01831', '--note', 'x']),
    (error) =>
      error instanceof StartFault && /^nothing of the id .* is open: `kaha attention list`/.test(error.message),
  )
})

test('a refused void, a foreign result, one of no payment and unmatched money are listed until they are settled with a note, and happen anew after that', async () => {
  const terminal = await shop.connect()
  const paying = shop.pay({ transactionId: 'late-1' })
  await terminal.next('payment')
  await p.advance(90)
  await paying
  terminal.send(result('late-1'))
  await terminal.next('voidPayment')
  terminal.send({ action: 'voidResult', transactionId: 'late-1', success: false, error: 'NO\u001b[2J' })
  await terminal.settled()
  await foreignResult('late-1')
  await p.advance(1)
  await terminal.ask(result('nobody-s\u001b[2J', { ...approval, amount: '999999999999.9999', currency: 'CLF' }))
  await p.advance(1)
  const code = await qrAccount(p).made({ amount: '12.34', merchantReferenceNumber: 'MUG-1' })
  const bank = bankOf(p)
  for (let times = 0; times < 2; times += 1) await bank({ qr_text: code.qrText, outcome: 'SUCCESS' })

  const listed = await open()
  assert.deepEqual(
    listed.map(({ cause, payment, amount, currency }) => [cause, payment, amount, currency]),
    [
      ['void_refused', 'late-1', 15_000n, 'PHP'],
      ['foreign_result', 'late-1', 15_000n, 'PHP'],
      ['unmatched_result', 'nobody-s\u001b[2J', null, null],
      ['unmatched_money', 'MUG-1', 1_234n, 'PHP'],
    ],
  )
  for (const { merchant_id: merchant, branch_id: branchId, branch } of listed)
    assert.deepEqual([merchant, branchId, branch], [p.merchant.id, p.branch.id, p.branch.name])
  const shown = await kaha('list')
  assert.ok(shown.includes(`late-1, 150.00 PHP, of merchant ${p.merchant.id}, ${p.branch.name}\n`), shown)
  assert.match(shown, /unmatched_result +nobody-s.\[2J, no amount, of merchant /)
  assert.ok(shown.includes(`    ${shop.first.device_id} says {"status":"SUCCESS","amount":"999999999999.9999"`), shown)
  assert.ok(shown.includes(`    ${shop.first.device_id}: The terminal refused a void: NO`), shown)
  assert.ok(shown.includes(`    ${shop.first.device_id}: ${shop.second.device_id} says {"status":"SUCCESS"`), shown)
  assert.equal((JSON.parse(await kaha('list', '--json')) as unknown[]).length, 4)
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(shown, /[\u0000-\u0009\u000b-\u001f]/)
  assert.deepEqual([await figure('kaha_terminal_attention_open'), await figure('kaha_qr_unmatched_open')], [3, 1])
  // Figures that ask the database are no callers that wait for it.
  for (let looks = 0; looks < 5; looks += 1) assert.equal(await figure('kaha_db_waiting'), 0)
  assert.ok(
    p.logged.some((line) => line.includes('a terminal payment needs a person') && line.includes('foreign_result')),
  )

  const [refused = '', foreign = '', unmatched = '', money = ''] = listed.map(({ id }) => id)
  // A thousand characters, each of which is two where texts are counted in UTF-16.
  const note = '\u{1f4b5}'.repeat(1_000)
  assert.equal(await kaha('settle', refused, '--note', ` ${note} `), `${refused} is settled.\n`)
  for (const id of [foreign, unmatched]) assert.ok(await attentionStore.settle(p.kaha.db, id, 'Looked at.'))
  assert.ok(await attentionStore.settle(p.kaha.db, money, 'Wiped.\u001b[2J'))
  for (const id of [refused, unmatched, money])
    assert.equal(await attentionStore.settle(p.kaha.db, id, 'Again.'), false)
  assert.deepEqual(await open(), [])
  assert.deepEqual([await figure('kaha_terminal_attention_open'), await figure('kaha_qr_unmatched_open')], [0, 0])
  const kept = await sql<{ note: string }>(p.kaha.db, 'select note from terminals.attention where id = $1', [refused])
  assert.deepEqual(kept, [{ note }])
  const settled = await kaha('list', '--settled')
  assert.ok(settled.includes(`${refused}  ${listed[0]?.at.toISOString()}  void_refused`), settled)
  assert.match(settled, /\n {4}settled at \d{4}-\d\d-\d\dT\S+Z: Looked at\.\n/)
  assert.ok(settled.trimEnd().endsWith(`Z: ${note}`), 'the latest first')
  assert.ok(settled.includes('Wiped.') && !settled.includes('\u001b'), 'what a note holds moves no cursor')
  const rows = JSON.parse(await kaha('list', '--settled', '--json')) as Record<string, unknown>[]
  assert.deepEqual([rows.length, rows.at(-1)?.['id'], rows.at(-1)?.['note']], [4, refused, note])

  await foreignResult('late-1')
  await foreignResult('late-1')
  assert.deepEqual(
    (await open()).map(({ cause }) => cause),
    ['foreign_result'],
  )
})

test('what `kaha attention` does not know is told in one line, before a database is touched', async () => {
  const id = '01a1fcef-9ed7-78da-86e8-e01924f01831'
  const wrong: [RegExp, ...string[]][] = [
    [/there is no `kaha attention close`; `kaha attention --help` lists what there is/, 'close'],
    [/there is no `kaha attention list all`/, 'list', 'all'],
    [/there is no `kaha attention settle/, 'settle', id, 'more'],
    [/Unknown option '--all'; `kaha attention --help` tells what there is/, 'list', '--all'],
    [/`kaha attention list` takes no --note/, 'list', '--note', 'x'],
    [/`kaha attention settle` takes no --settled/, 'settle', id, '--settled'],
    [
      /'--note' .*; a value that begins with a hyphen is given as '--note=-XYZ'; `kaha attention --help` tells/,
      'settle',
      id,
      '--note',
      '-x',
    ],
    [/say what is settled: `kaha attention settle ID`/, 'settle', '--note', 'x'],
    [/say what is settled/, 'settle', '', '--note', 'x'],
    [/^mine is no id; `kaha attention list` shows them$/, 'settle', 'mine', '--note', 'x'],
    [/say how it was settled: --note/, 'settle', id],
    [/say how it was settled: --note/, 'settle', id, '--note', ' '],
    [/a text of 1000 characters at most/, 'settle', id, '--note', 'x'.repeat(1_001)],
  ]
  const nowhere = readConfig({ KAHA_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/nowhere' })
  for (const [line, ...args] of wrong)
    await assert.rejects(
      attentionCommand(nowhere, args),
      (error) => error instanceof StartFault && line.test(error.message),
    )
})
