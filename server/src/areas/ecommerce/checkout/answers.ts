import type { FastifyReply } from 'fastify'
import { elsewhere, pageHeaders } from '../../../kernel/http/page-headers.ts'
import type { CheckoutDependencies } from './dependencies.ts'
import type { PageAddress } from './views.ts'

export type Answers = ReturnType<typeof createAnswers>

/** What a payer's browser is answered: a page, or the way to another. */
export function createAnswers({ addresses, sandbox }: Pick<CheckoutDependencies, 'addresses' | 'sandbox'>) {
  // A submitted card may lead to the page of a challenge, which a sandbox may hold at a host name of its own.
  const challengePages = () => (sandbox ? elsewhere(addresses.checkout, [addresses.sandbox]) : [])

  const send = (reply: FastifyReply, page: string, redirects: Readonly<Record<string, string>> | null, status = 200) =>
    reply
      .code(status)
      .headers(pageHeaders([...Object.values(redirects ?? {}), ...challengePages()]))
      .send(page)

  const redirect = (reply: FastifyReply, { url }: Pick<PageAddress, 'url'>) =>
    reply.code(303).headers(pageHeaders()).header('location', url).send()

  return { send, redirect }
}
