import type { FastifyInstance, FastifyReply } from 'fastify'
import { randomText } from '../../../kernel/ids.ts'
import type { LinkRow } from '../store.ts'
import type { TokenRequest, TokenRoute } from './page-addresses.ts'
import type { CheckoutParts } from './parts.ts'
import { payPage } from './pay-page.ts'
import { resultPage } from './result-page.ts'
import { busyViewOfLink, closedViewOf, endViewOfLink, payViewOfLink, type FormOf } from './views.ts'
import { toldOf, type OwnPayment } from './visit.ts'

const nonceCharacters = 22

/** The page of a link, `/l/{token}`, and its form, which makes the intent of this visit and pays it. */
export function mountLinkRoutes(room: FastifyInstance, parts: CheckoutParts): void {
  const {
    ecommerce,
    payeeOf,
    pageAddressOf,
    send,
    redirect,
    formFor,
    readForm,
    findLink,
    ownPayment,
    remember,
    submit,
  } = parts
  const showLink = createShowLink(parts)

  room.get<TokenRoute>('/l/:token', { config: { operationId: 'checkout.link' } }, async (request, reply) => {
    const link = await findLink(request)
    const own = await ownPayment(request, link.id)
    if (own !== undefined) remember(request, reply, 'payment', [own.token], link)
    const form = formFor(request.params.token, randomText(nonceCharacters))
    remember(request, reply, 'form', [form.nonce], link)
    return showLink(request, reply, link, form, own)
  })

  room.post<TokenRoute>('/l/:token', { config: { operationId: 'checkout.payLink' } }, async (request, reply) => {
    const form = readForm(request)
    const link = await findLink(request)
    const visited = await ecommerce.findIntentByForm(link.id, form.nonce)
    // For a form that was open before as for whoever looks: what this payer may be paying right now comes before another payment. A form that
    // was sent with a slip of the pen has an intent, and has begun nothing yet.
    const begins = visited === undefined || visited.attemptCount === 0
    const own = begins ? await ownPayment(request, link.id, visited) : undefined
    if (own?.waits === true) return redirect(reply, own)
    // Its page tells why there is nothing to pay any more, or of a payment that was made since the form was shown.
    const untold = toldOf(own)
    if (
      (untold !== undefined && untold.token !== form.told) ||
      (visited === undefined && !(await ecommerce.hasFreeUse(link)))
    )
      return redirect(reply, pageAddressOf(request, 'l'))
    // Told at once: the way to the link's page would lead whoever paid there before to the receipt of that.
    if (visited === undefined && !(await ecommerce.takesPayments(link.branch_id)))
      return send(
        reply,
        resultPage(closedViewOf(link, await payeeOf(link), pageAddressOf(request, 'l'))),
        link.redirect_urls,
      )
    const intent = visited ?? (await ecommerce.intentOfVisit(link, form.nonce))
    if (intent === undefined) return redirect(reply, pageAddressOf(request, 'l'))
    const token = ecommerce.checkoutTokenOf(intent.id)
    remember(request, reply, 'payment', own === undefined ? [token] : [token, own.token], link)
    return submit(request, reply, intent, form, 0, async (problem) => {
      const again = { ...formFor(request.params.token, form.nonce), problem, expiresAt: intent.expiresAt }
      return showLink(request, reply, link, again, await ownPayment(request, link.id), 400)
    })
  })
}

/** Answers with what a link has to show: its form, the payment that this browser makes with it, or why nobody can pay it. */
function createShowLink({ ecommerce, payeeOf, pageAddressOf, send, redirect }: CheckoutParts) {
  return async (
    request: TokenRequest,
    reply: FastifyReply,
    link: LinkRow,
    form: FormOf,
    own: OwnPayment | undefined,
    status = 200,
  ) => {
    const payee = await payeeOf(link)
    const address = pageAddressOf(request, 'l')
    // A code that this payer may be paying right now, or was, comes before another payment.
    if (own !== undefined && (own.waits || own.ranOut) && form.problem === undefined) return redirect(reply, own)
    const isFree = await ecommerce.hasFreeUse(link)
    if (isFree && (await ecommerce.takesPayments(link.branch_id))) {
      const view = payViewOfLink(link, payee, address, form)
      const offersCode = ecommerce.offersCode(link)
      const told = toldOf(own)
      return send(reply, payPage({ ...view, offersCode, own: told, told: told?.token }), link.redirect_urls, status)
    }
    if (own !== undefined) return redirect(reply, own)
    const why = isFree
      ? closedViewOf(link, payee, address)
      : (endViewOfLink(link, payee, address) ?? busyViewOfLink(link, payee, address))
    return send(reply, resultPage(why), link.redirect_urls)
  }
}
