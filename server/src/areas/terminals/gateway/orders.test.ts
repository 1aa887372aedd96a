import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/until.ts'
import type { TerminalIdentity } from '../../../identity/terminal-keys.ts'
import type { Bus } from '../../../kernel/bus.ts'
import { createLog } from '../../../kernel/log.ts'
import type { Connections } from '../connections.ts'
import type { Link, Links } from './links.ts'
import { startOrders } from './orders.ts'

test('a socket that could not be looked at as it came is looked at later, though no key changes any more', async () => {
  let isAway = false
  let looks = 0
  const identity = {
    async changes() {
      looks += 1
      return 1n
    },
    async stopped(keys: readonly string[]) {
      if (isAway) throw new Error('away')
      return keys
    },
  } as Partial<TerminalIdentity> as TerminalIdentity
  let wake = () => {}
  const bus = {
    hint() {},
    listen: (_topic, heard) => ((wake = heard), () => {}),
  } as Partial<Bus> as Bus
  const link = { principal: { keyId: 'k' }, dismissed: false } as Link
  const dismissed: Link[] = []
  await using orders = startOrders({
    bus,
    log: createLog('silent'),
    identity,
    connections: { toClose: async () => [] } as Partial<Connections> as Connections,
    // It comes into them after this.
    links: { all: () => [].values() } as Partial<Links> as Links,
    dismiss: (one) => void dismissed.push(one),
  })
  await until('the first look', () => looks > 0)
  isAway = true
  orders.check(link)
  await new Promise(setImmediate)
  isAway = false
  wake()
  await until('that it is looked at', () => dismissed.length > 0)
  assert.deepEqual(dismissed, [link])
})
