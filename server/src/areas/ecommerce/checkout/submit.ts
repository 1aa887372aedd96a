import type { FastifyReply } from 'fastify'
import { Fault } from '../../../kernel/fault.ts'
import { languageOf } from '../../../kernel/http/language.ts'
import type { Intent } from '../../../payments/intent.ts'
import type { EcommerceService } from '../service.ts'
import type { Answers } from './answers.ts'
import { problemOf, type PayForm } from './form.ts'
import type { PageAddresses, TokenRequest } from './page-addresses.ts'
import { urlWith, type FormOf } from './views.ts'

export interface SubmitDependencies {
  readonly ecommerce: EcommerceService
  readonly pageAddressOf: PageAddresses['pageAddressOf']
  readonly inLanguage: PageAddresses['inLanguage']
  readonly redirect: Answers['redirect']
}

/**
 * Pays, once per form. `again` where the card was typed wrong; whatever else happened, the intent's own page tells it: also that a card was
 * not tried, as its form is older than the latest attempt, for what became of that is not what became of this card.
 */
export function createSubmit({ ecommerce, pageAddressOf, inLanguage, redirect }: SubmitDependencies) {
  return async (
    request: TokenRequest,
    reply: FastifyReply,
    intent: Intent,
    form: PayForm,
    attemptCount: number,
    again: (problem: FormOf['problem']) => Promise<unknown>,
  ) => {
    const token = ecommerce.checkoutTokenOf(intent.id)
    const address = pageAddressOf(request, 'i', token)
    try {
      if (intent.attemptCount === attemptCount) {
        const isCode = form.method === 'qrph'
        const by = isCode ? ({ type: 'qrph' } as const) : ({ type: 'card', card: form.card } as const)
        const { nextUrl } = await ecommerce.confirm(intent, by, request.id, attemptCount)
        // The page of a code is the intent's own.
        const leadsOn = nextUrl !== undefined && !isCode
        return await redirect(reply, leadsOn ? { url: inLanguage(request, nextUrl) } : address)
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.code === 'INVALID_CARD') return again(problemOf(error, form, languageOf(request)))
      if (!toldByIntent.has(error.code)) throw error
    }
    const present = (await ecommerce.findIntentByToken(token)) ?? intent
    const isUntried = present.attemptCount !== attemptCount && !isBy(present, form)
    return redirect(reply, isUntried ? { url: urlWith(address, 'untried') } : address)
  }
}

/** Whether the latest attempt may be of this very form, sent twice: by the same way, and by a card with the same end of its number. */
const isBy = ({ latestAttempt }: Intent, { method, card }: PayForm): boolean =>
  latestAttempt?.method === method && (method === 'qrph' || latestAttempt.cardLastFour === card.number.slice(-4))

/** Refusals that are the intent's state or its merchant's: its page shows how it stands, so a second submission sees the result, not an error. */
const toldByIntent = new Set([
  'FORBIDDEN',
  'INTENT_PROCESSING',
  'INTENT_INVALID_STATE',
  'LINK_FULLY_RESERVED',
  'ATTEMPT_LIMIT_REACHED',
])
