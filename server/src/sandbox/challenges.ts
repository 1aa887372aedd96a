import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import { serveAsset } from '../kernel/http/asset.ts'
import { languageOf, queryOf } from '../kernel/http/language.ts'
import { elsewhere, pageHeaders } from '../kernel/http/page-headers.ts'
import { leadHome } from '../kernel/http/page-home.ts'
import { preparePageRoom, statusOfPage } from '../kernel/http/page-room.ts'
import { firstIdOf } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import {
  challengeResults,
  type ChallengeDesk,
  type HeldChallenge,
} from '../payments/connectors/simulator-challenges.ts'
import { challengeWaitMs } from '../payments/machine.ts'
import { challengeNotice, challengePage, stylesheet } from './challenge-page.ts'

export interface ChallengesDependencies {
  readonly challenges: ChallengeDesk
  readonly clock: Clock
  readonly addresses: { readonly sandbox: string }
  readonly log: Log
}

const formBytesMax = 1024
const tokenForm = /^[\w-]{22}$/
const prefix = '/sandbox/challenges'

type TokenRequest = FastifyRequest<{ Params: { token: string } }>

/**
 * The pages of the simulated card issuer, `/sandbox/challenges/{token}`: the payer approves, refuses, finds the service down, or leaves.
 * They stand for pages of another company, so they share nothing with the checkout but the way back.
 */
export async function mountChallenges(
  app: FastifyInstance,
  { challenges, clock, addresses, log }: ChallengesDependencies,
): Promise<void> {
  const find = async ({ params }: TokenRequest): Promise<HeldChallenge> => {
    const held = tokenForm.test(params.token) ? await challenges.findByToken(params.token) : undefined
    if (held === undefined) throw new Fault('NOT_FOUND', 'There is no such challenge.')
    return held
  }

  // It asks no longer than the checkout waits. Who has the page open by then may still answer, and is told there that it is too late.
  const isOver = ({ attemptId }: HeldChallenge) => attemptId < firstIdOf(clock.now().getTime() - challengeWaitMs)

  // The answer's form ends at the checkout, which may have a host name of its own.
  const headersOf = ({ returnUrl }: HeldChallenge) => pageHeaders(elsewhere(addresses.sandbox, [returnUrl]))

  // A language that was asked for goes along.
  const wayBack = ({ returnUrl }: HeldChallenge, request: TokenRequest): string => {
    const url = new URL(returnUrl)
    if (queryOf(request).has('lang')) url.searchParams.set('lang', languageOf(request))
    return url.href
  }

  const goBack = (request: TokenRequest, reply: FastifyReply, held: HeldChallenge) =>
    reply.code(303).headers(headersOf(held)).header('location', wayBack(held, request)).send()

  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const status = statusOfPage(error, statuses)
    if (status >= 500) log.error({ err: error, correlation_id: request.id }, 'a page failed for a cause of ours')
    return reply
      .code(status)
      .headers(pageHeaders())
      .send(challengeNotice(languageOf(request), status < 500))
  }
  app.refusers.push({ prefix, refuse })

  await app.register(
    async (room) => {
      preparePageRoom(room, formBytesMax, refuse)
      leadHome(room, '/sandbox', () => addresses.sandbox)

      room.get<{ Params: { token: string } }>(
        '/:token',
        { config: { operationId: 'sandbox.challenge' } },
        async (request, reply) => {
          const held = await find(request)
          if (held.result !== null || isOver(held)) return goBack(request, reply, held)
          const language = languageOf(request)
          const other = language === 'en' ? 'fil' : 'en'
          const url = `${addresses.sandbox}/challenges/${held.token}`
          return reply.headers(headersOf(held)).send(
            challengePage({
              ...held,
              language,
              action: queryOf(request).has('lang') ? `${url}?lang=${language}` : url,
              returnUrl: wayBack(held, request),
              otherLanguageUrl: `${url}?lang=${other}`,
            }),
          )
        },
      )

      room.post<{ Params: { token: string } }>(
        '/:token',
        { config: { operationId: 'sandbox.answerChallenge' } },
        async (request, reply) => {
          const held = await find(request)
          const given = request.body instanceof URLSearchParams ? request.body.get('result') : null
          const result = challengeResults.find((one) => one === given)
          if (result === undefined) throw new Fault('BAD_REQUEST', 'This form did not come from its own page.')
          // Answered twice, the first answer stays; the way back is the same.
          await challenges.answer(held.token, result)
          return goBack(request, reply, held)
        },
      )
    },
    { prefix },
  )

  serveAsset(app, stylesheet, 'sandbox.challengeAsset', ['', '/sandbox'])
}

const statuses: Readonly<Record<string, number>> = {
  BAD_REQUEST: 400,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  PAYLOAD_TOO_LARGE: 413,
  UNAVAILABLE: 503,
}
