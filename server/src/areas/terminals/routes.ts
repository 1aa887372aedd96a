import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  cancelTerminalTransaction,
  createTerminalPayment,
  listTerminals,
  listTerminalTransactions,
  retrieveTerminalTransaction,
  terminalsWireCodes,
  voidTerminalTransaction,
} from '@kaha/contract'
import type { TerminalIdentity, TerminalPrincipal } from '../../identity/terminal-keys.ts'
import type { Clock } from '../../kernel/clock.ts'
import { route, type Area, type Route } from '../../kernel/http/area.ts'
import { headerOf } from '../../kernel/http/header.ts'
import { requestTargetOf } from '../../kernel/http/server.ts'
import type { Violation } from '../../kernel/http/validation.ts'
import { asWritten } from '../../kernel/json-digits.ts'
import { scrub } from '../../kernel/log.ts'
import { refuse, statuses } from './errors.ts'
import { presentError, presentPayment, presentTerminal, presentTransaction, presentVoid } from './present.ts'
import { readPayment } from './requests.ts'
import type { TerminalsService } from './service.ts'
import { isInWindow, isSignedBy, readSignature, readTimestamp } from './signature.ts'

const bodyBytesMax = 256 * 1024
export const terminalsBase = '/terminal'

/** The path of a socket's request from the address of the terminal service, which may have a host name of its own; null where it is none of that. */
export const socketPath =
  (prefixOfHost: ReadonlyMap<string, string>) =>
  ({ url, headers }: IncomingMessage): string | null => {
    const target = requestTargetOf(url, headers.host)
    const [path = '/'] = target.path.split('?')
    if (prefixOfHost.get(target.host) === terminalsBase) return path
    return path.startsWith(`${terminalsBase}/`) ? path.slice(terminalsBase.length) : null
  }

/** A caller, and the signature of this request. */
export interface Signer extends TerminalPrincipal {
  readonly signature: Buffer
  readonly signedAtMs: number
}

/** Refuses a key of another group, where the request names one. */
export function requireGroup(principal: TerminalPrincipal, groupId: string | undefined): void {
  if (groupId !== undefined && groupId.toLowerCase() !== principal.groupId)
    throw refuse('GROUP_MISMATCH', "x-group-id is not the key's group; leave it out, or send the right one.")
}

export function terminalsArea(identity: TerminalIdentity, clock: Clock): Area<Signer> {
  return {
    name: 'terminals',
    prefix: terminalsBase,
    base: terminalsBase,
    bodyBytesMax,
    statuses,
    wireCodes: terminalsWireCodes,
    takesExtras: true,
    envelope: ({ code, message, field, rule, correlationId }) =>
      presentError({ code, message, field, rule }, clock.now(), correlationId),
    codeOf: codeOfField,
    headersOf: (id) => ({ 'x-request-id': id }),
    async authenticate(request) {
      const principal = await identity.authenticate(headerOf(request, 'x-api-key'))
      const signedAtMs = readTimestamp(headerOf(request, 'x-timestamp'))
      if (signedAtMs === null || !isInWindow(signedAtMs, clock.wall()))
        throw refuse('TIMESTAMP_EXPIRED', wantedTime(clock.wall()))
      const signature = readSignature(headerOf(request, 'x-signature'))
      if (signature === null)
        throw refuse('INVALID_SIGNATURE', 'x-signature must be the padded Base64 of an HMAC-SHA256.')
      return { ...principal, signature, signedAtMs }
    },
    verify(request, principal, body) {
      const [sent = ''] = requestTargetOf(request.originalUrl).path.split('?')
      const bare = sent.startsWith(`${terminalsBase}/`) ? [sent.slice(terminalsBase.length)] : []
      const signed = {
        method: request.method,
        timestamp: headerOf(request, 'x-timestamp') ?? '',
        body,
        paths: [sent, ...bare],
      }
      if (!isSignedBy(principal.secret, principal.signature, signed))
        throw refuse(
          'INVALID_SIGNATURE',
          `The signature is not that of the four lines ${request.method}, ${scrub(bare[0] ?? sent)}, x-timestamp as it was sent, and the SHA-256 of the body in small hex, ${hash('sha256', body)}.`,
        )
      // Of what a key may do only who holds its secret is told.
      requireGroup(principal, headerOf(request, 'x-group-id'))
      if (principal.role !== 'desktop')
        throw refuse('GROUP_MISMATCH', 'The keys of terminals do not take this way; use a desktop key.')
    },
  }
}

// The answer's own time is that of a sandbox's clock, which may be far ahead.
const wantedTime = (nowMs: number) =>
  `x-timestamp must be an ISO 8601 time with Z or an offset, within 5 minutes of the system time here, ${new Date(nowMs).toISOString()}.`

// Of a payment or of a line of its products.
const amounts = /^(amount|products\.\d+\.(price|quantity|tax|discount))(\.|$)/

/** An amount that is there and wrong has a code of its own. */
export const codeOfField = ({ field, rule }: Violation): string =>
  amounts.test(field) && rule !== 'required' ? 'INVALID_AMOUNT' : 'INVALID_REQUEST'

export function terminalsRoutes(service: TerminalsService, clock: Clock): Route<Signer>[] {
  const timestamp = () => clock.now().toISOString()
  return [
    route<typeof listTerminals, Signer>(listTerminals, async ({ principal }) => {
      const terminals = (await service.listTerminals(principal)).map(presentTerminal)
      return { status: 200, body: { terminals, count: terminals.length, timestamp: timestamp() } }
    }),

    route<typeof createTerminalPayment, Signer>(createTerminalPayment, async ({ principal, params, body, text }) => {
      const { signature, signedAtMs: atMs } = principal
      const asked = readPayment(body, () => asWritten(text, body))
      const row = await service.pay(principal, params.terminalId, asked, { way: 'http', signed: { signature, atMs } })
      const answer = presentPayment(row)
      return { status: asked.webhookMode && answer.status === 'PENDING' ? 202 : 200, body: answer }
    }),

    route<typeof listTerminalTransactions, Signer>(listTerminalTransactions, async ({ principal, query }) => {
      const { rows, nextCursor } = await service.listTransactions(principal, query)
      const transactions = rows.map((row) => presentTransaction(row, clock.now()))
      return { status: 200, body: { transactions, count: rows.length, nextCursor, timestamp: timestamp() } }
    }),

    route<typeof retrieveTerminalTransaction, Signer>(retrieveTerminalTransaction, async ({ principal, params }) => ({
      status: 200,
      body: presentTransaction(await service.findTransaction(principal, params.transactionId), clock.now()),
    })),

    route<typeof voidTerminalTransaction, Signer>(voidTerminalTransaction, async ({ principal, params, body }) => ({
      status: 200,
      body: presentVoid(await service.void(principal, params.transactionId, body.reason)),
    })),

    route<typeof cancelTerminalTransaction, Signer>(cancelTerminalTransaction, async ({ principal, params }) => ({
      status: 200,
      body: presentTransaction(await service.cancel(principal, params.transactionId), clock.now()),
    })),
  ]
}
