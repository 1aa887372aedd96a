import { everywhere } from './rules/everywhere.ts'
import { identity } from './rules/identity.ts'
import { paymentIntents } from './rules/payment-intents.ts'
import { paymentLinks } from './rules/payment-links.ts'
import { qr } from './rules/qr.ts'
import { reporting } from './rules/reporting.ts'
import { joined, type Rules } from './rules/rule.ts'
import { sandbox } from './rules/sandbox.ts'
import { terminalSockets } from './rules/terminal-sockets.ts'
import { terminalTransactions } from './rules/terminal-transactions.ts'
import { terminals } from './rules/terminals.ts'
import { webhookDelivery } from './rules/webhook-delivery.ts'
import { webhooks } from './rules/webhooks.ts'

/**
 * Every rule and every table row of the contract, by id. An id is stable: the area's letter and its number, the topic, the case
 * (X0 everywhere, I1 identity, A2 webhooks, B3 reporting, C4 e-commerce, D5 terminals, E6 QR, S7 sandbox). Tests name the rules that they show.
 */
export const rules: Rules = joined(
  everywhere,
  identity,
  webhooks,
  webhookDelivery,
  reporting,
  paymentLinks,
  paymentIntents,
  terminals,
  terminalSockets,
  terminalTransactions,
  qr,
  sandbox,
)
