import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { imageBytesMax, textCharactersMax } from '@kaha/qrph'
import { Fault } from '../kernel/fault.ts'
import { serveAsset } from '../kernel/http/asset.ts'
import { languageOf, queryOf } from '../kernel/http/language.ts'
import { pageHeaders } from '../kernel/http/page-headers.ts'
import { leadHome } from '../kernel/http/page-home.ts'
import { readForms, statusOfPage } from '../kernel/http/page-room.ts'
import type { Log } from '../kernel/log.ts'
import { hostsOf } from '../kernel/web-address.ts'
import { outcomes, type BankApp, type Outcome } from './bank.ts'
import { bankNotice, codePage, refusedPage, scanPage, script, stylesheet, type BankPlace } from './bank-page.ts'
import { bankWords, pictureProblems } from './bank-texts.ts'
import { requireOwnHost } from './routes.ts'

export interface BankPagesDependencies {
  readonly bank: BankApp
  readonly addresses: { readonly sandbox: string }
  readonly log: Log
}

const path = '/sandbox/bank'
const formBytesMax = 16 * 1024
const codeUnitsMax = 2 * textCharactersMax + 1
const fileFormBytesMax = imageBytesMax + formBytesMax

/**
 * The bank app, `/sandbox/bank`: a payer gives it the text of a code or a picture, sees what a bank shows of it, and pays, declines or lets
 * it expire. It takes no key, as an app takes none: who has the text of a code may pay it. A GET changes nothing; a POST ends in a redirect.
 */
export async function mountBank(app: FastifyInstance, { bank, addresses, log }: BankPagesDependencies): Promise<void> {
  const placeOf = (request: FastifyRequest, code?: string): BankPlace => {
    const language = languageOf(request)
    const url = `${addresses.sandbox}/bank`
    const asked = queryOf(request).has('lang') ? `?lang=${language}` : ''
    const other = new URLSearchParams({
      lang: language === 'en' ? 'fil' : 'en',
      ...(code === undefined ? {} : { code }),
    })
    return { language, url: url + asked, otherLanguageUrl: `${url}?${other.toString()}` }
  }

  const send = (reply: FastifyReply, page: string, status = 200) => reply.code(status).headers(pageHeaders()).send(page)

  const showCode = (request: FastifyRequest, reply: FastifyReply, code: string) => {
    const { url } = placeOf(request)
    // What is longer than any code is that as well without its end, and fits into an address.
    const shown = new URLSearchParams({ code: code.slice(0, codeUnitsMax) })
    const to = `${url}${url.includes('?') ? '&' : '?'}${shown.toString()}`
    return reply.code(303).headers(pageHeaders()).header('location', to).send()
  }

  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const place = placeOf(request)
    const words = bankWords[place.language]
    const status = statusOfPage(error, statuses)
    if (status === 413) return send(reply, scanPage(place, { problem: words.tooLarge }), status)
    if (status === 503)
      return send(reply.header('retry-after', '2'), scanPage(place, { problem: words.broken }), status)
    if (status === 421) {
      const about = words.otherHost.replace('{host}', () => hostsOf(addresses.sandbox)[0])
      return send(reply, bankNotice(place, { title: words.otherHostTitle, about }, false), status)
    }
    if (status >= 500) log.error({ err: error, correlation_id: request.id }, 'a page failed for a cause of ours')
    const [title, about] =
      status >= 500
        ? [words.brokenTitle, words.broken]
        : [words.missingTitle, status === 403 ? words.notOwn : words.missing]
    return send(reply, bankNotice(place, { title, about }), status)
  }

  /** Reads what the empty app was given. */
  const scan = async (request: FastifyRequest, reply: FastifyReply, form: FormData) => {
    const place = placeOf(request)
    const [picture, given] = [form.get('picture'), form.get('code')]
    const text = typeof given === 'string' ? given.trim() : ''
    try {
      if (picture instanceof File && picture.size > 0)
        return await showCode(request, reply, await bank.scan(new Uint8Array(await picture.arrayBuffer()), 'picture'))
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'UNREADABLE_IMAGE') throw error
      const problem = pictureProblems[place.language][error.rule ?? ''] ?? error.message
      return send(reply, scanPage(place, { problem, text }), 422)
    }
    if (text !== '') return showCode(request, reply, text)
    return send(reply, scanPage(place, { problem: bankWords[place.language].nothingGiven, isEmpty: true }), 422)
  }

  /** Does what the payer chose. Whatever came of it, or came before it, the page of the code tells. */
  const answer = async (code: string, outcome: Outcome) => {
    const { made, refusal } = await bank.read(null, code)
    if (made === undefined || refusal !== undefined) return
    await bank.pay(made.partnerId, { text: code, outcome }).catch((error: unknown) => {
      if (!(error instanceof Fault) || error.code !== 'CODE_FINAL') throw error
    })
  }

  await app.register(async (room) => {
    readForms(room, formBytesMax)
    room.addContentTypeParser('multipart/form-data', async ({ headers, sent }: FastifyRequest) =>
      filesIn(headers['content-type'] ?? '', await sent),
    )
    room.setErrorHandler(refuse)
    room.addHook('onRequest', async (request) => requireOwnHost(request, addresses))
    leadHome(room, '/sandbox', () => addresses.sandbox)

    room.get(path, { config: { operationId: 'sandbox.bank' } }, async (request, reply) => {
      const code = queryOf(request).get('code')
      if (code === null) return send(reply, scanPage(placeOf(request)))
      const place = placeOf(request, code)
      try {
        const reading = await bank.read(null, code)
        return await send(reply, codePage(place, code, reading), statusOfRefusal[reading.refusal?.why ?? 'final'])
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'MALFORMED_CODE') throw error
        return send(reply, refusedPage(place, bankWords[place.language].malformed, error), 422)
      }
    })

    room.post(
      path,
      { config: { operationId: 'sandbox.bankAnswer' }, bodyLimit: fileFormBytesMax },
      async (request, reply) => {
        const site = request.headers['sec-fetch-site']
        if (site !== undefined && site !== 'same-origin')
          throw new Fault('FORBIDDEN', 'This form did not come from its own page.')
        if (request.body instanceof FormData) return scan(request, reply, request.body)
        const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
        const [code, wanted] = [form.get('code'), form.get('outcome')]
        const outcome = outcomes.find((one) => one === wanted)
        if (code === null || outcome === undefined)
          throw new Fault('BAD_REQUEST', 'This form did not come from its own page.')
        await answer(code, outcome).catch((error: unknown) => {
          if (!(error instanceof Fault) || error.code !== 'MALFORMED_CODE') throw error
        })
        return showCode(request, reply, code)
      },
    )
  })

  for (const asset of [stylesheet, script]) serveAsset(app, asset, 'sandbox.bankAsset', ['', '/sandbox'])
}

const statusOfRefusal = { malformed: 422, foreign: 422, unknown: 404, amount: 422, final: 200 } as const

/** A form with files (RFC 7578). */
async function filesIn(contentType: string, body: Buffer): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw new Fault('BAD_REQUEST', 'The form cannot be read.', { cause })
  }
}

const statuses: Readonly<Record<string, number>> = {
  BAD_REQUEST: 400,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  PAYLOAD_TOO_LARGE: 413,
  MISDIRECTED_REQUEST: 421,
  UNAVAILABLE: 503,
}
