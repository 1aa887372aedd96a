import { timingSafeEqual } from 'node:crypto'
import { qrPng } from '@kaha/qrph/image'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../../../identity/service.ts'
import { Fault } from '../../../kernel/fault.ts'
import { nothingHere, type Edge } from '../../../kernel/http/area.ts'
import { languageOf, queryOf } from '../../../kernel/http/language.ts'
import { elsewhere, pageHeaders } from '../../../kernel/http/page-headers.ts'
import { preparePageRoom } from '../../../kernel/http/page-room.ts'
import { isUuid, randomText } from '../../../kernel/ids.ts'
import { visitorOf, type RateLimit } from '../../../kernel/rate-limit.ts'
import type { Keyring } from '../../../kernel/seal.ts'
import type { Intent } from '../../../payments/intent.ts'
import type { EcommerceService } from '../service.ts'
import type { LinkRow } from '../store.ts'
import { assets } from './assets.ts'
import { problemOf, readPayForm, type PayForm } from './form.ts'
import { noticeOf } from './notices.ts'
import { codePage } from './code-page.ts'
import { payPage } from './pay-page.ts'
import { resultPage } from './result-page.ts'
import {
  busyViewOfLink,
  codeRanOut,
  codeViewOfIntent,
  endViewOfLink,
  isUnderWay,
  leavesCode,
  outcomeOf,
  payViewOfIntent,
  payViewOfLink,
  problemWhenFree,
  resultViewOfIntent,
  waitsForBank,
  type FormOf,
  type PageAddress,
} from './views.ts'
import { remember, remembered } from './visit.ts'

export interface CheckoutDependencies {
  readonly ecommerce: EcommerceService
  readonly identity: Identity
  readonly keyring: Keyring
  readonly edge: Edge
  readonly addresses: { readonly checkout: string; readonly sandbox: string }
  readonly confirmLimit: RateLimit
  readonly sandbox: boolean
}

const formBytesMax = 16 * 1024
const nonceCharacters = 22
const tokenForm = /^[\w-]{22}$/
const prefix = '/pay'

/** `waits`: for the bank to pay its code. `ranOut`: the time of that is over. `isLeft`: it is not paid, and nothing of it is under way. */
interface OwnPayment extends PageAddress {
  readonly token: string
  readonly waits: boolean
  readonly ranOut: boolean
  readonly isLeft: boolean
  readonly isPaid: boolean
}

type TokenRequest = FastifyRequest<{ Params: { token: string } }>

/** The payer's pages: `/l/{token}` of a link, `/i/{token}` of an intent. A GET changes nothing; a POST ends in a redirect. */
export async function mountCheckout(app: FastifyInstance, deps: CheckoutDependencies): Promise<void> {
  const { ecommerce, identity, keyring, edge, addresses, confirmLimit, sandbox } = deps

  const csrfOf = (token: string, nonce: string) =>
    keyring.mac('checkout-form', `${token} ${nonce}`).toString('base64url')

  const pageAddressOf = (request: TokenRequest, kind: 'l' | 'i', token = request.params.token): PageAddress => {
    const language = languageOf(request)
    const url = `${addresses.checkout}/${kind}/${token}`
    const asked = queryOf(request).get('lang') !== null
    const other = language === 'en' ? 'fil' : 'en'
    return { language, sandbox, url: asked ? `${url}?lang=${language}` : url, otherLanguageUrl: `${url}?lang=${other}` }
  }

  const payeeOf = async (of: { merchant_id: string } | { merchantId: string }) => {
    const merchant = await identity.entity('merchantId' in of ? of.merchantId : of.merchant_id)
    return { merchantName: merchant?.name ?? '' }
  }

  // A submitted card may lead to the page of a challenge, which a sandbox may hold at a host name of its own.
  const challengePages = () => (sandbox ? elsewhere(addresses.checkout, [addresses.sandbox]) : [])

  // The sandbox's own page of a challenge takes the language along; what another company's makes of it nobody knows.
  const inLanguage = (request: FastifyRequest, challengeUrl: string): string => {
    if (!sandbox || queryOf(request).get('lang') === null) return challengeUrl
    return `${challengeUrl.split('?')[0]}?lang=${languageOf(request)}`
  }

  const send = (reply: FastifyReply, page: string, redirects: Readonly<Record<string, string>> | null, status = 200) =>
    reply
      .code(status)
      .headers(pageHeaders([...Object.values(redirects ?? {}), ...challengePages()]))
      .send(page)

  const redirect = (reply: FastifyReply, { url }: Pick<PageAddress, 'url'>) =>
    reply.code(303).headers(pageHeaders()).header('location', url).send()

  const readForm = (request: TokenRequest): PayForm => {
    const site = request.headers['sec-fetch-site']
    const form = readPayForm(request.body instanceof URLSearchParams ? request.body : new URLSearchParams())
    const right = Buffer.from(csrfOf(request.params.token, form.nonce))
    const given = Buffer.from(form.csrf)
    const ours = given.length === right.length && timingSafeEqual(given, right)
    if (!ours || (site !== undefined && site !== 'same-origin')) {
      throw new Fault('FORBIDDEN', 'This form did not come from its own page.')
    }
    const waitSeconds = confirmLimit.take(visitorOf(request.ip))
    if (waitSeconds > 0) throw new Fault('RATE_LIMITED', 'Too many attempts.', { retryAfterSeconds: waitSeconds })
    return form
  }

  const formFor = (token: string, nonce: string): FormOf => ({ nonce, csrf: csrfOf(token, nonce) })

  /** Pays, once per form. `pay` again when the card was typed wrong; whatever else happened, the intent's own page tells it. */
  const submit = async (
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

  /** Of the picture of a code, of the form that gives it up, in the language of the page, and of a bank that pays it. */
  const codeAddresses = (request: TokenRequest) => {
    const { url } = pageAddressOf(request, 'i')
    const [path, query] = url.split('?')
    return {
      imageUrl: `${path}/code.png`,
      otherWayAction: `${path}/other${query === undefined ? '' : `?${query}`}`,
      bankUrl: sandbox ? `${addresses.sandbox}/bank` : undefined,
    }
  }

  const findLink = async (request: TokenRequest): Promise<LinkRow> => {
    const link = await found(request.params.token, ecommerce.findLinkByToken)
    if (link === undefined) throw new Fault('NOT_FOUND', 'There is no such payment link.')
    return link
  }

  const findIntent = async (request: TokenRequest): Promise<Intent> => {
    const intent = await found(request.params.token, ecommerce.findIntentByToken)
    if (intent === undefined) throw new Fault('NOT_FOUND', 'There is no such payment.')
    return intent
  }

  /** The page of the payment that this browser has made with the link, is making, or has shown a code for. */
  const ownPayment = async (request: TokenRequest, link: LinkRow): Promise<OwnPayment | undefined> => {
    const { cookie } = request.headers
    const byForm = (nonce: string) => ecommerce.findIntentByForm(link.id, nonce)
    const made = [
      await found(remembered('form', cookie) ?? '', byForm),
      await found(remembered('payment', cookie) ?? '', ecommerce.findIntentByToken),
    ]
    for (const intent of made) {
      if (intent?.linkId !== link.id) continue
      const waits = waitsForBank(intent)
      const isPaid = intent.shown.status === 'SUCCEEDED'
      const isLeft = leavesCode(intent)
      if (!isPaid && !isLeft && !isUnderWay(intent)) continue
      const token = ecommerce.checkoutTokenOf(intent.id)
      return { ...pageAddressOf(request, 'i', token), token, waits, ranOut: codeRanOut(intent), isLeft, isPaid }
    }
    return undefined
  }

  const showLink = async (
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
    if (ecommerce.hasFreeUse(link)) {
      const view = payViewOfLink(link, payee, address, form)
      const offersCode = ecommerce.offersCode(link)
      const told = own?.isLeft === true ? undefined : own
      return send(reply, payPage({ ...view, offersCode, own: told, told: told?.token }), link.redirect_urls, status)
    }
    if (own !== undefined) return redirect(reply, own)
    const why = endViewOfLink(link, payee, address) ?? busyViewOfLink(link, payee, address)
    return send(reply, resultPage(why), link.redirect_urls)
  }

  const showIntent = async (
    request: TokenRequest,
    reply: FastifyReply,
    intent: Intent,
    problem?: FormOf['problem'],
  ) => {
    const payee = await payeeOf(intent)
    const address = pageAddressOf(request, 'i')
    const query = queryOf(request)
    const form = formFor(request.params.token, String(intent.attemptCount))
    const stay = query.get('stay') !== null
    const code = codeViewOfIntent(intent, payee, address, { form, stay, ...codeAddresses(request) })
    if (code !== undefined) return send(reply, codePage(code), intent.redirectUrls)
    const challengeUrl = await ecommerce.challengeUrl(intent)
    const link = intent.linkId === null ? undefined : await ecommerce.findLinkOfIntent(intent.linkId)
    const result = resultViewOfIntent(intent, link, payee, address, {
      stay,
      refunded: await ecommerce.refundedOf(intent),
      challengeUrl: challengeUrl === undefined ? undefined : inLanguage(request, challengeUrl),
    })
    if (result !== undefined) return send(reply, resultPage(result), intent.redirectUrls)
    // The use of this payer's own code that has expired is theirs to take, until somebody stores that end.
    const ownUse = intent.latestAttempt?.code?.holdsUse === true
    const isFull = link !== undefined && !ecommerce.hasFreeUse(link) && !ownUse
    if (link?.state === 'ACTIVE' && isFull) {
      return send(reply, resultPage(busyViewOfLink(link, payee, address, intent)), intent.redirectUrls)
    }
    const offersCode = ecommerce.offersCode(intent)
    const told = problem ?? (query.get('full') === null ? undefined : problemWhenFree(intent, address))
    const view = payViewOfIntent(
      intent,
      link,
      payee,
      address,
      told === undefined ? { ...form, offersCode } : { ...form, offersCode, problem: told, declined: false },
    )
    return send(reply, payPage(view), intent.redirectUrls, problem === undefined ? 200 : 400)
  }

  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.slice(prefix.length)
    const { page, status, retryAfterSeconds } = noticeOf(error, languageOf(request), addresses.checkout, path)
    if (status >= 500) edge.log.error({ err: error, correlation_id: request.id }, 'a page failed for a cause of ours')
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    return send(reply, page, null, status)
  }
  app.refusers.push({ prefix, refuse })

  await app.register(
    async (room) => {
      preparePageRoom(room, formBytesMax, refuse)

      room.get<{ Params: { token: string } }>(
        '/l/:token',
        { config: { operationId: 'checkout.link' } },
        async (request, reply) => {
          const link = await findLink(request)
          const { url } = pageAddressOf(request, 'l')
          const own = await ownPayment(request, link)
          if (own !== undefined) reply.header('set-cookie', remember('payment', own.token, url))
          const form = formFor(request.params.token, randomText(nonceCharacters))
          reply.header('set-cookie', remember('form', form.nonce, url))
          return showLink(request, reply, link, form, own)
        },
      )

      room.post<{ Params: { token: string } }>(
        '/l/:token',
        { config: { operationId: 'checkout.payLink' } },
        async (request, reply) => {
          const form = readForm(request)
          const link = await findLink(request)
          const visited = await ecommerce.findIntentByForm(link.id, form.nonce)
          // For a form that was open before as for whoever looks: what this payer may be paying right now comes before another payment.
          const own = visited === undefined ? await ownPayment(request, link) : undefined
          if (own?.waits === true) return redirect(reply, own)
          // Its page tells why there is nothing to pay any more, or of a payment that was made since the form was shown.
          const isUntold = own !== undefined && !own.isLeft && own.token !== form.told
          if (visited === undefined && (isUntold || !ecommerce.hasFreeUse(link)))
            return redirect(reply, pageAddressOf(request, 'l'))
          const intent = visited ?? (await ecommerce.intentOfVisit(link, form.nonce))
          if (intent === undefined) return redirect(reply, pageAddressOf(request, 'l'))
          const token = ecommerce.checkoutTokenOf(intent.id)
          reply.header('set-cookie', remember('payment', token, pageAddressOf(request, 'l').url))
          return submit(request, reply, intent, form, 0, async (problem) => {
            const again = { ...formFor(request.params.token, form.nonce), problem }
            return showLink(request, reply, link, again, await ownPayment(request, link), 400)
          })
        },
      )

      room.get<{ Params: { token: string } }>(
        '/i/:token',
        { config: { operationId: 'checkout.intent' } },
        async (request, reply) => showIntent(request, reply, await findIntent(request)),
      )

      room.get<{ Params: { token: string } }>(
        '/i/:token/status',
        { config: { operationId: 'checkout.status' } },
        async (request, reply) => {
          const intent = await findIntent(request)
          return reply
            .headers({ ...pageHeaders(), 'content-type': 'application/json; charset=utf-8' })
            .send(JSON.stringify({ outcome: outcomeOf(intent), attempts: intent.attemptCount }))
        },
      )

      // The way back from a challenge. The address brings no result, so it may be opened by anybody, and any number of times.
      room.get<{ Params: { token: string; attempt: string } }>(
        '/i/:token/challenge/:attempt',
        { config: { operationId: 'checkout.challenge' } },
        async (request, reply) => {
          const { attempt } = request.params
          const found = await findIntent(request)
          if (!isUuid(attempt)) throw nothingHere()
          const { linkFull } = await ecommerce.takeChallenge(found, attempt.toLowerCase())
          const { url } = pageAddressOf(request, 'i')
          return redirect(reply, { url: linkFull ? `${url}${url.includes('?') ? '&' : '?'}full=1` : url })
        },
      )

      room.get<{ Params: { token: string } }>(
        '/i/:token/code.png',
        { config: { operationId: 'checkout.code' } },
        async (request, reply) => {
          const intent = await findIntent(request)
          const code = intent.latestAttempt?.code
          if (!waitsForBank(intent) || code == null) throw nothingHere()
          return reply.headers({ ...pageHeaders(), 'content-type': 'image/png' }).send(qrPng(code.text))
        },
      )

      // Once per page: a second submission, and one of an earlier page, finds that code given up, and gives up no other.
      room.post<{ Params: { token: string } }>(
        '/i/:token/other',
        { config: { operationId: 'checkout.giveUpCode' } },
        async (request, reply) => {
          const form = readForm(request)
          const intent = await findIntent(request)
          if (intent.attemptCount === Number(form.nonce)) await ecommerce.giveUpCode(intent)
          return redirect(reply, pageAddressOf(request, 'i'))
        },
      )

      room.post<{ Params: { token: string } }>(
        '/i/:token',
        { config: { operationId: 'checkout.payIntent' } },
        async (request, reply) => {
          const form = readForm(request)
          const intent = await findIntent(request)
          return submit(request, reply, intent, form, Number(form.nonce), (problem) =>
            showIntent(request, reply, intent, problem),
          )
        },
      )
    },
    { prefix },
  )

  for (const asset of assets) {
    // With a host name of its own, every path of the checkout stands under the prefix.
    for (const path of [asset.path, `${prefix}${asset.path}`]) {
      app.get(path, { config: { operationId: 'checkout.asset' } }, async (_request, reply) =>
        reply.headers(asset.headers).send(asset.bytes),
      )
    }
  }
}

/** Whatever cannot be a token of ours, NUL bytes included, is not asked about. */
const found = async <T>(token: string, find: (token: string) => Promise<T | undefined>): Promise<T | undefined> =>
  tokenForm.test(token) ? find(token) : undefined

/** Refusals that are the intent's state: its page shows how it stands, so a second submission sees the result, not an error. */
const toldByIntent = new Set([
  'INTENT_PROCESSING',
  'INTENT_INVALID_STATE',
  'LINK_FULLY_RESERVED',
  'ATTEMPT_LIMIT_REACHED',
])
