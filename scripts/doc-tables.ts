import { deliveryStatusMeanings, eventStatusMeanings } from '../contract/src/webhooks.ts'
import { createQrFigures } from '../server/src/areas/qr/figures.ts'
import { codeMoves } from '../server/src/areas/qr/machine.ts'
import { createTerminalFigures } from '../server/src/areas/terminals/figures.ts'
import { declineCodes } from '../server/src/areas/terminals/ledger.ts'
import { transactionMoves } from '../server/src/areas/terminals/machine.ts'
import { settings } from '../server/src/config.ts'
import { createFigures } from '../server/src/delivery/figures.ts'
import { tenAttempts } from '../server/src/delivery/schedule.ts'
import type { Db } from '../server/src/kernel/db.ts'
import { measureBus, measureClock, measureDb } from '../server/src/kernel/http/operations.ts'
import { createLog } from '../server/src/kernel/log.ts'
import { countLoops } from '../server/src/kernel/loop.ts'
import { createMetrics } from '../server/src/kernel/metrics.ts'
import { parseCard } from '../server/src/payments/card.ts'
import { eventOf } from '../server/src/payments/connectors/connector.ts'
import { testRefunds } from '../server/src/payments/connectors/simulator-refunds.ts'
import { testCards } from '../server/src/payments/connectors/simulator.ts'
import { measurePutOff } from '../server/src/payments/put-off.ts'
import {
  attemptMoves,
  intentMoves,
  moveAttempt,
  type AttemptEvent,
  type AttemptState,
} from '../server/src/payments/machine.ts'
import { refundMoves } from '../server/src/payments/refund-machine.ts'
import { scripts } from '../server/src/sandbox/scripts.ts'
import { rules } from '../server/test/conformance/rules.ts'

/**
 * Tables that pages of `docs/` show and the code knows. A page holds `<!-- generated:NAME -->` and `<!-- /generated -->`; what stands
 * between them is what the function NAME gives.
 */
export const docTables: Readonly<Record<string, () => string | Promise<string>>> = {
  settings: settingsTable,
  metrics: metricsTable,
  'intent-moves': intentMovesTable,
  'attempt-moves': attemptMovesTable,
  'refund-moves': refundMovesTable,
  'code-moves': codeMovesTable,
  'terminal-moves': terminalMovesTable,
  'decline-codes': () => `${declineCodes.map(code).join(', ')}.`,
  'terminal-scripts': () =>
    table(
      ['Device id', 'The terminal'],
      Object.entries(scripts).map(([id, { says }]) => [code(id), says]),
    ),
  'retry-schedule': retryTable,
  'event-statuses': () => meaningsTable(eventStatusMeanings),
  'delivery-statuses': () => meaningsTable(deliveryStatusMeanings),
  'test-cards': testCardsTable,
  'test-refunds': testRefundsTable,
  'rules-everywhere': () => rulesOf('X0'),
  'rules-identity': () => rulesOf('I1'),
  'rules-A': () => rulesOf('A2'),
  'rules-B': () => rulesOf('B3'),
  'rules-C': () => rulesOf('C4'),
  'rules-D': () => rulesOf('D5'),
  'rules-E': () => rulesOf('E6'),
  'rules-sandbox': () => rulesOf('S7'),
}

function settingsTable(): string {
  return table(
    ['Setting', 'What it is', 'Default'],
    settings.map(({ name, says, default: otherwise }) => [code(name), says, otherwise]),
  )
}

/** The platform's own metrics; those of the process and of Node come from their library. */
async function metricsTable(): Promise<string> {
  const metrics = createMetrics()
  const db = { run: async () => [], stats: () => ({ total: 0, idle: 0, waiting: 0, statements: 0 }) } as unknown as Db
  measureDb(metrics, [db])
  measureBus(metrics, { connected: true, outages: 0 }, { unheard: 0 })
  measureClock(metrics, { aheadMs: 0 })
  countLoops(createLog('silent'), metrics)
  createFigures({ metrics, db, inFlight: () => 0 })
  createTerminalFigures(metrics, { waitingCalls: () => 0, open: async () => 0 })
  createQrFigures(metrics, db)
  measurePutOff(metrics, db)
  const own = await metrics.registry.getMetricsAsJSON()
  return table(
    ['Metric', 'Kind', 'What it tells'],
    own.map(({ name, type, help }) => [code(name), String(type), help]),
  )
}

function intentMovesTable(): string {
  return table(
    ['From', 'When', 'To'],
    intentMoves.map(({ from, when, to }) => [code(from), when, code(to)]),
  )
}

function attemptMovesTable(): string {
  return table(
    ['From', 'When', 'To', 'failure_category', 'Event'],
    attemptMoves.map(({ from, when, to, category, emits }) => [
      from === 'NONE' ? '' : code(from),
      when,
      code(to),
      category === null ? '' : code(category),
      emits === null ? '' : code(emits),
    ]),
  )
}

function refundMovesTable(): string {
  return table(
    ['From', 'When', 'To', 'Its amount'],
    refundMoves.map(({ from, when, to, amount }) => [from === 'NONE' ? '' : code(from), when, code(to), amount]),
  )
}

function codeMovesTable(): string {
  return table(
    ['From', 'When', 'To', 'Its transaction'],
    codeMoves.map(({ from, when, to, transaction }) => [code(from), when, code(to), code(transaction)]),
  )
}

function terminalMovesTable(): string {
  const givenUp = { no: 'not given up', yes: 'given up', any: '' } as const
  const rows = transactionMoves.map((move) => [
    code(move.from),
    givenUp[move.givenUp],
    move.when,
    move.marks === null ? code(move.to) : `${code(move.to)}, given up`,
    move.answers ?? '',
    move.announces === null ? '' : code(move.announces),
  ])
  // Events that are told in the same words and mean the same are one row.
  const told = new Map(rows.map((row) => [row.join(), row]))
  return table(['From', 'Given up', 'When', 'To', 'The caller gets', 'Webhook, if none was'], [...told.values()])
}

function retryTable(): string {
  const { waitsMs, jitterMax } = tenAttempts
  const rows = waitsMs.map((waitMs, index) => {
    const earliestMs = waitsMs.slice(0, index + 1).reduce((sum, one) => sum + one, 0)
    return [String(index + 2), `${duration(waitMs)} to ${duration(waitMs * (1 + jitterMax))}`, duration(earliestMs)]
  })
  return table(
    ['Attempt', 'After the start of the one before', 'After the first, at the earliest'],
    [['1', 'at once', ''], ...rows],
  )
}

function meaningsTable(meanings: Readonly<Record<string, string>>): string {
  return table(
    ['Status', 'What it tells'],
    Object.entries(meanings).map(([status, meaning]) => [code(status), meaning]),
  )
}

function testCardsTable(): string {
  const rows = [...testCards].map(([number, behaviour]) => {
    const card = parseCard(
      { number, exp_month: 12, exp_year: 9999, cvc: /^3[47]/.test(number) ? '1234' : '123' },
      new Date(0),
    )
    if ('refusal' in card) throw new Error(`the test card ${number} is not well-formed`)
    return [
      grouped(number),
      card.brand ?? '',
      behaviour === 'ineligible' ? reached('card_ineligible') : outcomeOf(behaviour),
    ]
  })
  return table(['Card', 'Brand', 'Outcome'], rows)
}

function testRefundsTable(): string {
  return table(
    ['Amount ends in', 'Outcome'],
    [...testRefunds].map(([ending, { says }]) => [code(ending), says]),
  )
}

type Behaviour = Exclude<Parameters<Parameters<(typeof testCards)['forEach']>[0]>[0], string>

function outcomeOf({ verification, decision, answersAfterMs }: Behaviour): string {
  if (verification === 'refused') return reached('verification_refused')
  if (verification === 'unavailable') return reached('verification_down')
  const reason =
    decision !== 'approve' && decision.kind === 'declined' && decision.reason !== 'generic' ? decision.reason : ''
  const event = decision === 'approve' ? 'approved' : eventOf(decision)
  const end = reached(event, 'PROCESSING') + (reason && ` (${reason.replaceAll('_', ' ')})`)
  if (verification === 'challenge') return `${code('REQUIRES_ACTION')}; once the challenge is passed, ${end}`
  if (answersAfterMs === null)
    return `${code('PROCESSING')}; the call is never answered, and asking the processor gives ${end}`
  return answersAfterMs > 0 ? `${code('PROCESSING')} for ${duration(answersAfterMs)}, then ${end}` : end
}

/** Where the machine's table leads, and why. */
function reached(event: AttemptEvent, from: AttemptState | 'NONE' = 'NONE'): string {
  const move = moveAttempt(from, event)
  if ('refusal' in move) throw new Error(`there is no move ${event} from ${from}`)
  return [move.to, ...(move.category === null ? [] : [move.category])].map(code).join(', ')
}

/** The rules of one area that the platform keeps today. */
function rulesOf(area: string): string {
  const kept = Object.entries(rules).filter(([id, { pending }]) => id.startsWith(`${area}.`) && pending === undefined)
  return table(
    ['Rule', 'Id'],
    kept.map(([id, { says }]) => [says, code(id)]),
  )
}

const code = (text: string): string => `\`${text}\``

/** As it stands on a card. */
const grouped = (number: string): string =>
  number.length === 15 ? number.replace(/^(.{4})(.{6})/, '$1 $2 ') : number.replaceAll(/.{4}(?=.)/g, '$& ')

const units: readonly (readonly [name: string, ms: number])[] = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** `76 h 35 min 5 s`, the units that are nought left out. */
function duration(ms: number): string {
  const parts: string[] = []
  let left = Math.round(ms / 1_000) * 1_000
  for (const [name, unitMs] of units) {
    if (left >= unitMs) parts.push(`${Math.floor(left / unitMs)} ${name}`)
    left %= unitMs
  }
  return parts.join(' ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
