import type { Config } from '../config.ts'
import type { Db } from '../kernel/db.ts'
import { StartFault } from '../kernel/fault.ts'
import { minorToDecimal, minorToNumber } from '../kernel/money.ts'
import { argumentsOf, idOf, takesOnly, unknownAction } from './arguments.ts'
import { withDatabase } from './database.ts'
import { attentionStore as store } from './store-attention.ts'
import { say, shown, tellEnd } from './words.ts'

export const attentionHelp = [
  'kaha attention list [--json]                      what is open, the oldest first',
  'kaha attention list --settled [--json]            what was settled, the latest first, with when and the note',
  'kaha attention settle ID --note TEXT [--json]',
  '',
  'What needs a person: voids of money that nobody may keep, which a terminal refused or did not answer, results from a foreign terminal, of no',
  'payment or that make no sense, another approval of a payment that had one, and money that a bank took for a QR Ph code that was final. Nothing',
  'that is open goes away by itself: see to it, and settle it with a note.',
  '',
].join('\n')

const listedMax = 1_000
const noteCharactersMax = 1_000

/** Lists and settles what needs a person, beside a running server or without one. */
export async function attentionCommand(config: Config, args: readonly string[]): Promise<void> {
  const { values, positionals } = argumentsOf('attention', args, {
    note: { type: 'string' },
    settled: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const [action = 'list', id, ...more] = positionals
  const isKnown = (action === 'list' && id === undefined) || action === 'settle'
  if (!isKnown || more.length > 0) throw unknownAction('attention', positionals)
  takesOnly('attention', action, values, action === 'settle' ? ['note'] : ['settled'])
  const what = 'say what is settled: `kaha attention settle ID`, with an id of `kaha attention list`'
  const wanted =
    action === 'settle' ? { id: idOf(id, what, 'kaha attention list'), note: noteOf(values.note) } : undefined
  await withDatabase(config, { begins: false }, async (db) => {
    if (wanted === undefined) return await list(db, values.settled === true, values.json === true)
    if (!(await store.settle(db, wanted.id, wanted.note)))
      throw new StartFault(`nothing of the id ${wanted.id} is open: \`kaha attention list\` shows what is`)
    say(values.json === true ? JSON.stringify(wanted) : `${wanted.id} is settled.`)
  })
}

async function list(db: Db, settled: boolean, json: boolean): Promise<void> {
  const rows = settled ? await store.listSettled(db, listedMax) : await store.list(db, listedMax)
  tellEnd(rows, listedMax, settled ? 'these are the latest' : 'settle some of these')
  if (json)
    return say(
      JSON.stringify(rows.map((row) => ({ ...row, amount: row.amount === null ? null : minorToNumber(row.amount) }))),
    )
  if (rows.length === 0)
    return say(settled ? 'Nothing has been settled that is still kept.' : 'Nothing needs a person.')
  say(`${'ID'.padEnd(36)}  ${'SINCE'.padEnd(24)}  ${'CAUSE'.padEnd(16)}  PAYMENT`)
  for (const { id, at, cause, payment, amount, currency, merchant_id, branch, detail, settled_at, note } of rows) {
    const money = amount === null || currency === null ? 'no amount' : `${minorToDecimal(amount, currency)} ${currency}`
    const whose = `of merchant ${merchant_id}${branch === null ? '' : `, ${shown(branch)}`}`
    say(`${id}  ${at.toISOString()}  ${cause.padEnd(16)}  ${shown(payment)}, ${money}, ${whose}`)
    say(`    ${shown(detail)}`)
    if (settled_at !== null) say(`    settled at ${settled_at.toISOString()}: ${shown(note ?? '')}`)
  }
}

function noteOf(given: string | undefined): string {
  const note = given?.trim() ?? ''
  if (note === '' || Array.from(note).length > noteCharactersMax)
    throw new StartFault(`say how it was settled: --note and a text of ${noteCharactersMax} characters at most`)
  return note
}
