import type { FastifyInstance, FastifyReply } from 'fastify'
import { nothingHere } from '../../../kernel/http/area.ts'
import { queryOf } from '../../../kernel/http/language.ts'
import { pageHeaders } from '../../../kernel/http/page-headers.ts'
import { isUuid } from '../../../kernel/ids.ts'
import type { Intent } from '../../../payments/intent.ts'
import { codePage } from './code-page.ts'
import type { TokenRequest, TokenRoute } from './page-addresses.ts'
import type { CheckoutParts } from './parts.ts'
import { payPage } from './pay-page.ts'
import { resultPage } from './result-page.ts'
import { texts } from './texts.ts'
import {
  busyViewOfLink,
  closedViewOfIntent,
  codeViewOfIntent,
  hasEnded,
  isWornOut,
  outcomeOf,
  payViewOfIntent,
  problemWhenFree,
  resultViewOfIntent,
  untriedOf,
  urlWith,
  type FormOf,
} from './views.ts'
import { toldOf } from './visit.ts'

/** The page of an intent, `/i/{token}`, its form, its state for the script that follows it, and the way back from a challenge. */
export function mountIntentRoutes(room: FastifyInstance, parts: CheckoutParts): void {
  const { ecommerce, pageAddressOf, redirect, readForm, findIntent, ownPayment, remember, submit } = parts
  const showIntent = createShowIntent(parts)

  room.get<TokenRoute>('/i/:token', { config: { operationId: 'checkout.intent' } }, async (request, reply) =>
    showIntent(request, reply, await findIntent(request)),
  )

  room.post<TokenRoute>('/i/:token', { config: { operationId: 'checkout.payIntent' } }, async (request, reply) => {
    const form = readForm(request)
    const intent = await findIntent(request)
    // As by a form of its link: what this payer has paid there since, or may be paying, comes before another payment.
    if (intent.linkId !== null && form.nonce === String(intent.attemptCount)) {
      const own = await ownPayment(request, intent.linkId, intent)
      if (own?.waits === true) return redirect(reply, own)
      const untold = toldOf(own)
      if (untold !== undefined && untold.token !== form.told) return redirect(reply, pageAddressOf(request, 'i'))
      remember(request, reply, 'payment', [request.params.token])
    }
    return submit(request, reply, intent, form, Number(form.nonce), (problem) =>
      showIntent(request, reply, intent, problem),
    )
  })

  room.get<TokenRoute>('/i/:token/status', { config: { operationId: 'checkout.status' } }, async (request, reply) => {
    const intent = await findIntent(request)
    return reply
      .headers({ ...pageHeaders(), 'content-type': 'application/json; charset=utf-8' })
      .send(JSON.stringify({ outcome: outcomeOf(intent), attempts: intent.attemptCount }))
  })

  // The way back from a challenge. The address brings no result, so it may be opened by anybody, and any number of times.
  room.get<{ Params: { token: string; attempt: string } }>(
    '/i/:token/challenge/:attempt',
    { config: { operationId: 'checkout.challenge' } },
    async (request, reply) => {
      const { attempt } = request.params
      const intent = await findIntent(request)
      if (!isUuid(attempt)) throw nothingHere()
      const { linkFull } = await ecommerce.takeChallenge(intent, attempt.toLowerCase())
      const address = pageAddressOf(request, 'i')
      return redirect(reply, linkFull ? { url: urlWith(address, 'full') } : address)
    },
  )
}

/** Answers with what an intent has to show: its code, how it ended or goes on, or its form, with the problem of the last try. */
function createShowIntent({
  ecommerce,
  payeeOf,
  pageAddressOf,
  codeAddresses,
  inLanguage,
  send,
  redirect,
  formFor,
  ownPayment,
  remember,
}: CheckoutParts) {
  return async (request: TokenRequest, reply: FastifyReply, intent: Intent, problem?: FormOf['problem']) => {
    const payee = await payeeOf(intent)
    const address = pageAddressOf(request, 'i')
    const query = queryOf(request)
    const form = formFor(request.params.token, String(intent.attemptCount))
    const stay = query.get('stay') !== null
    const notice = query.get('untried') === null ? undefined : untriedOf(intent, address)
    const code = codeViewOfIntent(intent, payee, address, { form, stay, ...codeAddresses(request) })
    if (code !== undefined) return send(reply, codePage({ ...code, notice }), intent.redirectUrls)
    const challenge = await ecommerce.challengeOf(intent)
    const challengeUrl = challenge && inLanguage(request, challenge.url)
    // The payer is here, and only the way back was lost.
    if (challenge?.hasEnded === true && challengeUrl !== undefined) return redirect(reply, { url: challengeUrl })
    const link = intent.linkId === null ? undefined : await ecommerce.findLinkOfIntent(intent.linkId)
    // As at the link's address: another tab of this browser may have used it up, or be about to. Of a link with more uses this may have been
    // another purchase.
    if (
      link !== undefined &&
      link.state !== 'ACTIVE' &&
      link.type === 'one_time' &&
      intent.isOfForm &&
      hasEnded(intent)
    ) {
      const paid = await ownPayment(request, link.id, intent)
      if (paid !== undefined && (paid.hasReceipt || !paid.isLeft)) return redirect(reply, paid)
    }
    // Nothing can be paid here any more, and another tab of this browser may be about to.
    if (link !== undefined && isWornOut(intent)) {
      const paying = toldOf(await ownPayment(request, link.id, intent))
      if (paying?.isPaid === false) return redirect(reply, paying)
    }
    const result = resultViewOfIntent(intent, link, payee, address, {
      stay,
      refunded: await ecommerce.refundedOf(intent),
      challengeUrl,
      linkUrl: link && pageAddressOf(request, 'l', link.token).url,
    })
    if (result !== undefined)
      return send(reply, resultPage({ ...result, notice: notice ?? result.notice }), intent.redirectUrls)
    const own = intent.linkId === null ? undefined : await ownPayment(request, intent.linkId, intent)
    if (own?.waits === true && problem === undefined) return redirect(reply, own)
    if (!(await ecommerce.takesPayments(intent.branchId)))
      return send(reply, resultPage(closedViewOfIntent(intent, payee, address)), intent.redirectUrls)
    if (link?.state === 'ACTIVE' && !(await ecommerce.hasFreeUse(link))) {
      // The payer who is paying with it in another tab.
      if (own !== undefined && !own.isLeft && !own.isPaid) return redirect(reply, own)
      return send(reply, resultPage(busyViewOfLink(link, payee, address, intent)), intent.redirectUrls)
    }
    const offersCode = ecommerce.offersCode(intent)
    const whenFree = query.get('full') === null ? undefined : problemWhenFree(intent, address)
    const { freeAgainHeading: heading } = texts(address.language)
    const told = problem ?? whenFree ?? (notice === undefined ? undefined : { message: notice, heading })
    const view = payViewOfIntent(
      intent,
      link,
      payee,
      address,
      told === undefined ? { ...form, offersCode } : { ...form, offersCode, problem: told, declined: false },
    )
    const paying = toldOf(own)
    // Before it is paid, for the answer to that may be lost on its way. While it is merely looked at there is nothing to tell of it.
    if (link !== undefined && problem === undefined)
      remember(request, reply, 'payment', [request.params.token, ...(own === undefined ? [] : [own.token])])
    return send(
      reply,
      payPage({ ...view, own: paying, told: paying?.token }),
      intent.redirectUrls,
      problem === undefined ? 200 : 400,
    )
  }
}
