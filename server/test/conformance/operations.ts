import { ecommerceOperations, sandboxOperations, webhooksOperations, type Operation } from '@kaha/contract'
import { cardOf, cards, type Platform } from '../platform.ts'
import type { Call } from './call.ts'
import { idempotent, linkFor } from './people.ts'

/** Every operation that the platform has: a table over this is a table over the whole contract. */
export const operations: readonly Operation[] = [
  ...Object.values(webhooksOperations),
  ...Object.values(ecommerceOperations),
  ...Object.values(sandboxOperations),
]

/** Resources of one entity, for requests that find something. */
export interface Subjects {
  readonly endpointId: string
  readonly linkId: string
  readonly intentId: string
  readonly branchId: string
  readonly reference: string
}

/** An endpoint, a link and an intent of the platform's first branch. */
export async function subjectsOf({ sdk, branch, link }: Platform): Promise<Subjects> {
  const endpoint = await sdk.webhooks.createEndpoint({
    url: 'http://127.0.0.1:9/subject',
    enabled_events: ['payment.succeeded'],
  })
  const intent = await sdk.paymentIntents.create({
    amount: 9800,
    currency: 'PHP',
    merchant_branch_reference_number: branch.reference_number,
  })
  return {
    endpointId: endpoint.id,
    linkId: (await link()).id,
    intentId: intent.id,
    branchId: branch.id,
    reference: branch.reference_number,
  }
}

let urlsMade = 0

/** A request of this operation that is right in everything but its key, which the caller adds. */
export function rightCall({ id, method, path }: Operation, subjects: Subjects): Call {
  const at = (subject: string) => path.replace('{id}', subject)
  switch (id) {
    case 'createWebhookEndpoint':
      urlsMade += 1
      return {
        method,
        path,
        body: { url: `https://shop.example.com/hook/${urlsMade}`, enabled_events: ['payment.succeeded'] },
      }
    case 'retrieveWebhookEndpoint':
    case 'retrieveSigningSecret':
      return { method, path: at(subjects.endpointId) }
    case 'listWebhookEvents':
      return { method, path: `${path}?branch_id=${subjects.branchId}` }
    case 'createPaymentLink':
      return { method, path, headers: idempotent(), body: linkFor(subjects.reference) }
    case 'retrievePaymentLink':
      return { method, path: at(subjects.linkId) }
    case 'createPaymentIntent':
      return {
        method,
        path,
        headers: idempotent(),
        body: { amount: 9800, currency: 'PHP', merchant_branch_reference_number: subjects.reference },
      }
    case 'retrievePaymentIntent':
      return { method, path: at(subjects.intentId) }
    case 'confirmPaymentIntent':
      // Declined, so that the same intent can be confirmed again.
      return {
        method,
        path: at(subjects.intentId),
        body: { payment_method: { type: 'card', card: cardOf(cards.declined) } },
      }
    case 'advanceSandboxClock':
      return { method, path, body: { seconds: 0 } }
    case 'listWebhookEndpoints':
    case 'listPaymentLinks':
    case 'readSandboxClock':
      return { method, path }
    default:
      throw new Error(`say in operations.ts how ${id} is called rightly`)
  }
}
