import {
  ecommerceOperations,
  reportingOperations,
  sandboxOperations,
  webhooksOperations,
  type Operation,
} from '@kaha/contract'
import { cardOf, cards, type Platform } from '../platform.ts'
import type { Call } from './call.ts'
import { idempotent, linkFor } from './people.ts'
import { qrAccount } from './qr-account.ts'

/**
 * Every operation that takes a secret key as X-API-Key; those of areas D and E, whose callers and envelopes are of other kinds, have tables of
 * their own: a table over this is a table over the whole contract.
 */
export const operations: readonly Operation[] = [
  ...Object.values(webhooksOperations),
  ...Object.values(reportingOperations),
  ...Object.values(ecommerceOperations),
  ...Object.values(sandboxOperations),
]

/** Resources of one entity, for requests that find something. */
export interface Subjects {
  readonly endpointId: string
  /** Makes an endpoint that nobody needs. */
  spareEndpoint(): Promise<string>
  readonly eventId: string
  readonly linkId: string
  /** Makes a link that nobody needs. */
  spareLink(): Promise<string>
  readonly intentId: string
  /** Makes an intent that nobody needs. */
  spareIntent(): Promise<string>
  /** A payment of which much is left. */
  readonly paidIntentId: string
  readonly refundId: string
  /** Makes a QR code, and gives its text. */
  spareCode(): Promise<string>
  readonly transactionId: string
  readonly batchNumber: string
  readonly branchId: string
  readonly reference: string
  readonly groupId: string
}

const manilaMs = 8 * 3_600_000
const dayMs = 24 * 3_600_000

/** The first 00:00 in Manila after a time: when what happened by then is settled. */
export const midnightAfter = (at: Date): Date =>
  new Date(Math.floor((at.getTime() + manilaMs) / dayMs + 1) * dayMs - manilaMs)
/** The day in Manila that begins then. */
export const dayOf = (midnight: Date): string => new Date(midnight.getTime() + manilaMs).toISOString().slice(0, 10)

const subjectUrl = 'http://127.0.0.1:9/subject'

let urlsMade = 0
/** An endpoint with a URL of its own. */
export const spare = () => ({
  url: `https://shop.example.com/hook/${(urlsMade += 1)}`,
  enabled_events: ['payment.succeeded' as const],
})

/** An endpoint, a link, an intent and an event of the platform's first branch. */
export async function subjectsOf(p: Platform): Promise<Subjects> {
  const { sdk, merchant, branch, link, pay, kaha } = p
  // Before anything that a day could end: a payment, and the batch that it is settled in.
  await pay()
  await kaha.sandboxClock.advance(midnightAfter(kaha.clock.now()))
  const { data: batches } = await sdk.reports.listSettlements()
  const { data: transactions } = await sdk.reports.listTransactions()
  const endpoint = await sdk.webhooks.createEndpoint({
    url: subjectUrl,
    enabled_events: ['payment.succeeded'],
  })
  const newIntent = () =>
    sdk.paymentIntents.create({
      amount: 9800,
      currency: 'PHP',
      merchant_branch_reference_number: branch.reference_number,
    })
  const intent = await newIntent()
  await pay({ card: cards.declined })
  const paid = await pay({ amount: 99_999_999 })
  const refund = await sdk.refunds.create({ payment_intent_id: paid.id, amount: 1 })
  const { data: events } = await sdk.webhooks.listEvents({ branch_id: branch.id })
  return {
    endpointId: endpoint.id,
    spareEndpoint: async () => (await sdk.webhooks.createEndpoint(spare())).id,
    eventId: events[0]?.id ?? '',
    linkId: (await link()).id,
    spareLink: async () => (await link()).id,
    intentId: intent.id,
    spareIntent: async () => (await newIntent()).id,
    paidIntentId: paid.id,
    refundId: refund.id,
    spareCode: async () => (await qrAccount(p).made()).qrText,
    transactionId: transactions[0]?.id ?? '',
    batchNumber: batches[0]?.batch_number ?? '',
    branchId: branch.id,
    reference: branch.reference_number,
    groupId: merchant.terminal_group.id,
  }
}

/** A request of this operation that is right in everything but its key, which the caller adds. */
export async function rightCall({ id, method, path }: Operation, subjects: Subjects): Promise<Call> {
  const at = (subject: string) => path.replace('{id}', subject)
  switch (id) {
    case 'createWebhookEndpoint':
      return { method, path, body: spare() }
    case 'retrieveWebhookEndpoint':
    case 'retrieveSigningSecret':
      return { method, path: at(subjects.endpointId) }
    case 'updateWebhookEndpoint':
      return {
        method,
        path: at(subjects.endpointId),
        // Whatever was done to it before, it is as it was made.
        body: {
          url: subjectUrl,
          enabled_events: ['payment.succeeded'],
          description: 'x',
          disabled: false,
          metadata: { team: 'orders' },
        },
      }
    case 'deleteWebhookEndpoint':
      return { method, path: at(await subjects.spareEndpoint()) }
    case 'rotateSigningSecret':
      return { method, path: at(subjects.endpointId), body: { overlap_seconds: 60 } }
    case 'recoverWebhookEndpoint':
      return { method, path: at(subjects.endpointId), body: { date_from: '2026-01-01T00:00:00Z' } }
    case 'testWebhookEndpoint':
      return { method, path: at(subjects.endpointId), body: { type: 'payment.succeeded' } }
    case 'retrieveWebhookEvent':
      return { method, path: at(subjects.eventId) }
    case 'resendWebhookEvent':
      return { method, path: at(subjects.eventId), body: { endpoint_id: subjects.endpointId } }
    case 'listWebhookEvents':
      return { method, path: `${path}?branch_id=${subjects.branchId}` }
    case 'createPaymentLink':
      return { method, path, headers: idempotent(), body: linkFor(subjects.reference) }
    case 'retrievePaymentLink':
      return { method, path: at(subjects.linkId) }
    case 'updatePaymentLink':
      return {
        method,
        path: at(subjects.linkId),
        body: {
          description: 'x',
          order_reference: 'ORDER-1',
          redirect_urls: { success: 'https://shop.example.com/thanks' },
          metadata: { team: 'orders' },
        },
      }
    case 'cancelPaymentLink':
      return { method, path: at(await subjects.spareLink()), body: { reason: 'Sold out.' } }
    case 'cancelPaymentIntent':
      return { method, path: at(await subjects.spareIntent()) }
    case 'createPaymentIntent':
      return {
        method,
        path,
        headers: idempotent(),
        body: { amount: 9800, currency: 'PHP', merchant_branch_reference_number: subjects.reference },
      }
    case 'retrievePaymentIntent':
      return { method, path: at(subjects.intentId) }
    case 'createRefund':
      return {
        method,
        path,
        headers: idempotent(),
        body: { payment_intent_id: subjects.paidIntentId, amount: 1, reason: 'x' },
      }
    case 'retrieveRefund':
      return { method, path: at(subjects.refundId) }
    case 'confirmPaymentIntent':
      // Declined, so that the same intent can be confirmed again.
      return {
        method,
        path: at(subjects.intentId),
        body: { payment_method: { type: 'card', card: cardOf(cards.declined) } },
      }
    case 'retrieveReportTransaction':
      return { method, path: at(subjects.transactionId) }
    case 'retrieveSettlement':
      return { method, path: path.replace('{batch_number}', subjects.batchNumber) }
    case 'startVirtualTerminal':
      return { method, path, body: { group_id: subjects.groupId, device_id: 'sim-approve' } }
    case 'stopVirtualTerminal':
      return { method, path: path.replace('{device_id}', 'sim-approve') }
    case 'advanceSandboxClock':
      return { method, path, body: { seconds: 0 } }
    case 'readAsBank':
      return { method, path, body: { qr_text: await subjects.spareCode() } }
    case 'payAsBank':
      return { method, path, body: { qr_text: await subjects.spareCode(), outcome: 'SUCCESS' } }
    case 'listWebhookEndpoints':
    case 'listPaymentLinks':
    case 'listReportMerchants':
    case 'listReportBranches':
    case 'listReportTransactions':
    case 'listSettlements':
    case 'readSandboxClock':
      return { method, path }
    default:
      throw new Error(`say in operations.ts how ${id} is called rightly`)
  }
}
