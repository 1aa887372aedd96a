import {
  advanceSandboxClock,
  payAsBank,
  readAsBank,
  readSandboxClock,
  sandboxErrors,
  startVirtualTerminal,
  stopVirtualTerminal,
  type SandboxCode,
} from '@kaha/contract'
import type { FastifyRequest } from 'fastify'
import type { Principal } from '../identity/principal.ts'
import type { Identity } from '../identity/service.ts'
import type { Clock } from '../kernel/clock.ts'
import { errorWithDetails } from '../kernel/http/error-envelope.ts'
import { Fault } from '../kernel/fault.ts'
import { route, type Area, type Route } from '../kernel/http/area.ts'
import { headerOf } from '../kernel/http/header.ts'
import { requestTargetOf } from '../kernel/http/server.ts'
import { msOf } from '../kernel/timestamp.ts'
import { hostsOf, isLoopbackHost } from '../kernel/web-address.ts'
import { presentReading, type BankApp } from './bank.ts'
import type { SandboxClock } from './clock.ts'
import type { VirtualTerminals } from './virtual-terminals.ts'

const bodyBytesMax = 64 * 1024

/** Refuses a request that was led here by a name elsewhere: the sandbox answers to this machine's own names, and to its address. */
export function requireOwnHost(request: FastifyRequest, addresses: { readonly sandbox: string }): void {
  const { host } = requestTargetOf(request.originalUrl, request.headers.host)
  const own = hostsOf(addresses.sandbox)
  if (isLoopbackHost(host.replace(/:\d+$/, '')) || own.includes(host)) return
  throw new Fault(
    'MISDIRECTED_REQUEST',
    `The sandbox answers to localhost, to loopback addresses and to ${own[0]} only. KAHA_SANDBOX_URL, or KAHA_BASE_URL for all of Kaha, gives it another name.`,
  )
}

/** The sandbox's controls: a partner's key, and a Host that is our own, so that no web page elsewhere can drive them. */
export function sandboxArea(identity: Identity, addresses: { readonly sandbox: string }): Area<Principal> {
  return {
    name: 'sandbox',
    prefix: '/sandbox',
    bodyBytesMax,
    statuses: sandboxErrors satisfies Readonly<Record<SandboxCode, number>>,
    envelope: errorWithDetails,
    async authenticate(request) {
      requireOwnHost(request, addresses)
      const principal = await identity.authenticate(headerOf(request, 'x-api-key'))
      if (principal.level !== 'partner') throw new Fault('FORBIDDEN', "The sandbox's controls take the partner's key.")
      return principal
    },
  }
}

export function sandboxRoutes({
  clock,
  sandboxClock,
  terminals,
  bank,
}: {
  clock: Clock
  sandboxClock: SandboxClock
  terminals: VirtualTerminals
  /** Null: there is no QR service. */
  bank: BankApp | null
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
      else if (to !== undefined && seconds === undefined) await sandboxClock.advance(new Date(msOf(to)))
      else
        throw new Fault('BAD_REQUEST', 'Send either seconds or to.', { field: 'seconds', rule: 'either_seconds_or_to' })
      return shown()
    }),
    route<typeof startVirtualTerminal, Principal>(startVirtualTerminal, async ({ principal, body }) => {
      const { group_id, device_id } = body
      const status = await terminals.start(principal.partnerId, group_id.toLowerCase(), device_id)
      return { status: 201, body: { device_id, status } }
    }),
    route<typeof stopVirtualTerminal, Principal>(stopVirtualTerminal, async ({ principal, params }) => {
      await terminals.stop(principal.partnerId, params.device_id)
      return { status: 200, body: { device_id: params.device_id, status: 'stopped' } }
    }),
    ...(bank === null ? [] : bankRoutes(bank)),
  ]
}

const bankRoutes = (bank: BankApp): Route<Principal>[] => [
  route<typeof readAsBank, Principal>(readAsBank, async ({ principal, body }) => {
    const text = await bank.textOf(body)
    return { status: 200, body: presentReading(await bank.read(principal.partnerId, text), text) }
  }),
  route<typeof payAsBank, Principal>(payAsBank, async ({ principal, body }) => ({
    status: 200,
    body: await bank.pay(principal.partnerId, { ...body, text: await bank.textOf(body) }),
  })),
]
