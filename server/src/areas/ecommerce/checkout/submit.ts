import type { FastifyReply } from 'fastify'
import { Fault } from '../../../kernel/fault.ts'
import { languageOf } from '../../../kernel/http/language.ts'
import type { Intent } from '../../../payments/intent.ts'
import type { EcommerceService } from '../service.ts'
import type { Answers } from './answers.ts'
import { problemOf, type PayForm } from './form.ts'
import type { PageAddresses, TokenRequest } from './page-addresses.ts'
import type { FormOf } from './views.ts'

export interface SubmitDependencies {
  readonly ecommerce: EcommerceService
  readonly pageAddressOf: PageAddresses['pageAddressOf']
  readonly inLanguage: PageAddresses['inLanguage']
  readonly redirect: Answers['redirect']
}

/** Pays, once per form. `again` where the card was typed wrong; whatever else happened, the intent's own page tells it. */
export function createSubmit({ ecommerce, pageAddressOf, inLanguage, redirect }: SubmitDependencies) {
  return async (
    request: TokenRequest,
    reply: FastifyReply,
    intent: Intent,
    form: PayForm,
    attemptCount: number,
    again: (problem: FormOf['problem']) => Promise<unknown>,
  ) => {
    try {
      if (intent.attemptCount === attemptCount) {
        const isCode = form.method === 'qrph'
        const by = isCode ? ({ type: 'qrph' } as const) : ({ type: 'card', card: form.card } as const)
        const { nextUrl } = await ecommerce.confirm(intent, by, request.id, attemptCount)
        // The page of a code is the intent's own.
        if (nextUrl !== undefined && !isCode) return await redirect(reply, { url: inLanguage(request, nextUrl) })
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.code === 'INVALID_CARD') return again(problemOf(error, form, languageOf(request)))
      if (!toldByIntent.has(error.code)) throw error
    }
    return redirect(reply, pageAddressOf(request, 'i', ecommerce.checkoutTokenOf(intent.id)))
  }
}

/** Refusals that are the intent's state or its merchant's: its page shows how it stands, so a second submission sees the result, not an error. */
const toldByIntent = new Set([
  'FORBIDDEN',
  'INTENT_PROCESSING',
  'INTENT_INVALID_STATE',
  'LINK_FULLY_RESERVED',
  'ATTEMPT_LIMIT_REACHED',
])
