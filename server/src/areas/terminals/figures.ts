import type { Metrics } from '../../kernel/metrics.ts'
import { attentionCauses, type AttentionCause } from './course.ts'

/** What an operator sees of the room. */
export interface TerminalFigures {
  /** A payment needs a person. */
  attention(cause: AttentionCause): void
  /** What is due of a payment could not be stored, and is tried again. */
  unstored(): void
  /** Begins to count the sockets of this process, of which there are none before. */
  countSockets(count: () => number): void
}

export function createTerminalFigures(
  metrics: Metrics,
  { waitingCalls, open }: { waitingCalls: () => number; open: () => Promise<number> },
): TerminalFigures {
  let sockets = () => 0
  const attention = metrics.counter(
    'kaha_terminal_attention_total',
    'Terminal payments that need a person, by cause.',
    ['cause'],
    attentionCauses.map((cause) => ({ cause })),
  )
  const unstored = metrics.counter(
    'kaha_terminal_unstored_total',
    'Failed tries to store what is due of a terminal payment.',
    [],
  )
  metrics.gauge(
    'kaha_terminal_attention_open',
    'Causes of attention that nobody has settled, the same in every process.',
    open,
  )
  metrics.gauge('kaha_terminal_waiting_calls', 'Calls of this process that wait for a terminal.', waitingCalls)
  metrics.gauge('kaha_terminal_sockets', 'Sockets of terminals and tills in this process.', () => sockets())
  return {
    attention: (cause) => attention.inc({ cause }),
    unstored: () => unstored.inc(),
    countSockets(count) {
      sockets = count
    },
  }
}
