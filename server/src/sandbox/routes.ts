import {
  advanceSandboxClock,
  readSandboxClock,
  sandboxErrors,
  type EcommerceError,
  type SandboxCode,
} from '@kaha/contract'
import type { Static } from 'typebox'
import type { Principal } from '../identity/principal.ts'
import type { Identity } from '../identity/service.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import { route, type Area, type Route } from '../kernel/http/area.ts'
import type { SandboxClock } from './clock.ts'

const bodyBytesMax = 64 * 1024
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i

/** The sandbox's controls: a partner's key, and a Host that is our own, so that no web page elsewhere can drive them. */
export function sandboxArea(identity: Identity, ownHost: () => string): Area<Principal> {
  return {
    name: 'sandbox',
    prefix: '/sandbox',
    bodyBytesMax,
    statuses: sandboxErrors satisfies Readonly<Record<SandboxCode, number>>,
    envelope: ({ code, message, correlationId, field, rule }): Static<typeof EcommerceError> => ({
      error: {
        code,
        message,
        correlation_id: correlationId,
        ...(field === undefined || rule === undefined ? {} : { details: { field, rule } }),
      },
    }),
    async authenticate(request) {
      const host = request.headers.host ?? ''
      if (!loopback.test(host) && host !== ownHost()) {
        throw new Fault('MISDIRECTED_REQUEST', "The sandbox's controls answer to localhost, 127.0.0.1 and [::1] only.")
      }
      const apiKey = request.headers['x-api-key']
      const principal = await identity.authenticate(Array.isArray(apiKey) ? undefined : apiKey)
      if (principal.level !== 'partner') throw new Fault('FORBIDDEN', "The sandbox's controls take the partner's key.")
      return principal
    },
  }
}

export function sandboxRoutes({
  clock,
  sandboxClock,
}: {
  clock: Clock
  sandboxClock: SandboxClock
}): Route<Principal>[] {
  const shown = () => ({
    status: 200 as const,
    body: { now: clock.now().toISOString(), offset_seconds: clock.offsetMs / 1000 },
  })
  return [
    route<typeof readSandboxClock, Principal>(readSandboxClock, async () => shown()),
    route<typeof advanceSandboxClock, Principal>(advanceSandboxClock, async ({ body }) => {
      const { seconds, to } = body
      if (seconds !== undefined && to === undefined) await sandboxClock.advanceBy(seconds * 1000)
      else if (to !== undefined && seconds === undefined) await sandboxClock.advance(new Date(to))
      else
        throw new Fault('BAD_REQUEST', 'Send either seconds or to.', { field: 'seconds', rule: 'either_seconds_or_to' })
      return shown()
    }),
  ]
}
