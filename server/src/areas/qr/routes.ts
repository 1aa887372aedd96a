import {
  CreateQrCode,
  createQrCode,
  findQrCode,
  pingQr,
  qrChallenge,
  qrSealedCodes,
  qrWireCodes,
  retrieveQrCode,
  scopesOf,
  type QrErrorCode,
} from '@kaha/contract'
import { readyQrPng } from '@kaha/qrph/image'
import { openTokenText, sealToken, TokenError } from '@kaha/qrph/token'
import type { Static } from 'typebox'
import { Fault } from '../../kernel/fault.ts'
import { newId } from '../../kernel/ids.ts'
import { repeatsKey } from '../../kernel/json-keys.ts'
import { keyed, route, type Area, type Route } from '../../kernel/http/area.ts'
import { authorizationOf } from '../../kernel/http/header.ts'
import { complaintOf } from '../../kernel/http/complaints.ts'
import { compile } from '../../kernel/http/validation.ts'
import type { Callers, QrCaller } from './callers.ts'
import { refuse, statuses } from './errors.ts'
import { presentCode, presentCreatedCode } from './present.ts'
import type { QrService } from './service.ts'

const bodyBytesMax = 64 * 1024

/** Nobody, for an operation that asks for no key. */
export type Caller = QrCaller | null

export function qrArea({ callers, now }: { callers: Callers; now: () => Date }): Area<Caller> {
  return {
    name: 'qr',
    prefix: '/qr',
    bodyBytesMax,
    statuses,
    challenge: qrChallenge,
    async authenticate({ raw }, operation) {
      return operation.auth === 'none' ? null : callers.withKey(authorizationOf(raw), scopesOf(operation))
    },
    // What has no Token to open is read as soon as it is authenticated.
    restate: (fault, { method, principal }) =>
      fault.code === 'BAD_REQUEST' && ['GET', 'HEAD'].includes(method) && isKnown(principal)
        ? new Fault('INVALID_REQUEST', fault.message)
        : fault,
    envelope({ code, message }, { principal }) {
      const error = { code: qrWireCodes[code as QrErrorCode], error: message, referenceNumber: newId(now()) }
      return isKnown(principal) && qrSealedCodes.includes(code as QrErrorCode) ? tokenOf(principal, error) : error
    },
  }
}

// An address that does not decode never gets as far as having a caller.
const isKnown = (principal: unknown): principal is QrCaller => principal !== null && principal !== undefined

const tokenOf = async ({ key }: QrCaller, value: object) => ({ Token: await sealToken(key, value) })

const isRequest = compile(CreateQrCode)

/** What the Token of a request holds. Every cause for which it cannot be opened is told alike. */
async function opened({ key }: QrCaller, token: string): Promise<Static<typeof CreateQrCode>> {
  const reading = openTokenText(key, token)
  const { value, text } = await reading.catch((error: unknown) => {
    if (error instanceof TokenError) throw refuse('TOKEN_REFUSED', 'The Token cannot be opened.')
    throw error
  })
  const violation = isRequest(value)
  if (violation !== null) throw refuse('INVALID_REQUEST', complaintOf(violation))
  if (repeatsKey(text, value)) throw refuse('INVALID_REQUEST', 'The request has a key twice; send it once.')
  return value as Static<typeof CreateQrCode>
}

export function qrRoutes(service: QrService): Route<Caller>[] {
  readyQrPng()
  return [
    route<typeof createQrCode, Caller>(createQrCode, async ({ principal, body, correlationId }) => {
      const caller = keyed(principal)
      const code = await service.create(caller.principal, await opened(caller, body.Token), correlationId)
      return { status: 200, body: await tokenOf(caller, presentCreatedCode(code)) }
    }),

    route<typeof findQrCode, Caller>(findQrCode, async ({ principal, query }) => {
      const caller = keyed(principal)
      const code = await service.findByReference(caller.principal, query.merchantReferenceNumber)
      return { status: 200, body: await tokenOf(caller, presentCode(code)) }
    }),

    route<typeof retrieveQrCode, Caller>(retrieveQrCode, async ({ principal, params }) => {
      const caller = keyed(principal)
      const code = await service.retrieve(caller.principal, params.id)
      return { status: 200, body: await tokenOf(caller, presentCode(code)) }
    }),

    route<typeof pingQr, Caller>(pingQr, async () => ({ status: 200, body: 'Pong!' })),
  ]
}
