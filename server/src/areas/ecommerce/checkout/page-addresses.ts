import type { FastifyRequest } from 'fastify'
import { languageOf, queryOf } from '../../../kernel/http/language.ts'
import type { CheckoutDependencies } from './dependencies.ts'
import type { PageAddress } from './views.ts'

/** A route to a page of a link or an intent, which its token alone names. */
export interface TokenRoute {
  Params: { token: string }
}
export type TokenRequest = FastifyRequest<TokenRoute>

export type PageAddresses = ReturnType<typeof createPageAddresses>

/** Where the pages stand, `/l/{token}` of a link and `/i/{token}` of an intent, and what they lead to, in the language that was asked for. */
export function createPageAddresses({ addresses, sandbox }: Pick<CheckoutDependencies, 'addresses' | 'sandbox'>) {
  const pageAddressOf = (request: TokenRequest, kind: 'l' | 'i', token = request.params.token): PageAddress => {
    const language = languageOf(request)
    const url = `${addresses.checkout}/${kind}/${token}`
    const query = queryOf(request)
    const asked = query.get('lang') !== null
    const other = language === 'en' ? 'fil' : 'en'
    // What the page was asked for beside its language stays as it is: not to go on by itself, or to tell of what was not tried.
    const kept = ['stay', 'full', 'untried'].filter((name) => query.get(name) !== null).map((name) => `&${name}=1`)
    return {
      language,
      sandbox,
      url: asked ? `${url}?lang=${language}` : url,
      otherLanguageUrl: `${url}?lang=${other}${kept.join('')}`,
    }
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

  // The sandbox's own page of a challenge takes the language along; what another company's makes of it nobody knows.
  const inLanguage = (request: FastifyRequest, challengeUrl: string): string => {
    if (!sandbox || queryOf(request).get('lang') === null) return challengeUrl
    return `${challengeUrl.split('?')[0]}?lang=${languageOf(request)}`
  }

  return { pageAddressOf, codeAddresses, inLanguage }
}
