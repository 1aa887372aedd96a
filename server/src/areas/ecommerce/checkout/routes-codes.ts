import { qrPng } from '@kaha/qrph/image'
import type { FastifyInstance } from 'fastify'
import { nothingHere } from '../../../kernel/http/area.ts'
import { pageHeaders } from '../../../kernel/http/page-headers.ts'
import type { TokenRoute } from './page-addresses.ts'
import type { CheckoutParts } from './parts.ts'
import { waitsForBank } from './views.ts'

/** What the page of a code needs beside it: the picture of the code, and the form that gives it up. */
export function mountCodeRoutes(room: FastifyInstance, parts: CheckoutParts): void {
  const { ecommerce, pageAddressOf, redirect, readForm, findIntent } = parts

  room.get<TokenRoute>('/i/:token/code.png', { config: { operationId: 'checkout.code' } }, async (request, reply) => {
    const intent = await findIntent(request)
    const code = intent.latestAttempt?.code
    if (!waitsForBank(intent) || code == null) throw nothingHere()
    return reply.headers({ ...pageHeaders(), 'content-type': 'image/png' }).send(qrPng(code.text))
  })

  // Once per page: a second submission, and one of an earlier page, finds that code given up, and gives up no other.
  room.post<TokenRoute>(
    '/i/:token/other',
    { config: { operationId: 'checkout.giveUpCode' } },
    async (request, reply) => {
      const form = readForm(request)
      const intent = await findIntent(request)
      if (intent.attemptCount === Number(form.nonce)) await ecommerce.giveUpCode(intent)
      return redirect(reply, pageAddressOf(request, 'i'))
    },
  )
}
