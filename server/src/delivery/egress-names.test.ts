import assert from 'node:assert/strict'
import dns, { type LookupAddress } from 'node:dns'
import { test } from 'node:test'
import { outcome, way } from '../../test/egress-receivers.ts'
import { nameServer } from '../../test/name-server.ts'
import type { Lookup } from './egress.ts'

const looked = (lookup: Lookup, name: string) =>
  new Promise<readonly LookupAddress[] | string>((resolve) =>
    lookup(name, { all: true }, (error, addresses) => resolve(error?.code ?? addresses)),
  )

test('a name has its addresses of both kinds, or an error that says whether it has none', async (t) => {
  const records: Record<string, string[]> = {
    'both.test': ['93.184.215.14', '1.1.1.1', '2606:4700:4700::1111'],
    'old.test': ['93.184.215.14'],
    'new.test': ['2606:4700:4700::1111'],
  }
  const lookup = await nameServer(t, (name) => records[name] ?? [])
  for (const [name, addresses] of Object.entries(records)) {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    assert.deepEqual(await looked(lookup, name), found)
  }
  assert.equal(await looked(lookup, 'nowhere.test'), 'ENODATA')
})

test('a name server that knows no IPv6 delays a look-up by half a second at most', async (t) => {
  const lookup = await nameServer(t, () => ['93.184.215.14'])
  const begun = performance.now()
  assert.deepEqual(await looked(lookup, 'old-server.test'), [{ address: '93.184.215.14', family: 4 }])
  const tookMs = performance.now() - begun
  assert.ok(tookMs < 2_000, `it took ${tookMs} ms`)
})

test("a name whose servers say nothing, or of one kind nothing, keeps no other from being resolved, and is nobody's fault", async (t) => {
  const lookup = await nameServer(t, (name) => {
    if (name === 'silent.test') return null
    return name === 'shop.test' ? ['93.184.215.14'] : []
  })
  const begun = performance.now()
  const silent = Array.from({ length: 64 }, () => looked(lookup, 'silent.test'))
  // That it has no IPv4 address is known, and not what else it has.
  silent.push(looked(lookup, 'old-server.test'))
  assert.deepEqual(await looked(lookup, 'shop.test'), [{ address: '93.184.215.14', family: 4 }])
  const tookMs = performance.now() - begun
  assert.ok(tookMs < 1_000, `another name took ${tookMs} ms`)
  assert.deepEqual(new Set(await Promise.all(silent)), new Set(['ETIMEOUT']))
})

test('the look-up that waits in the threads of the process is for a machine where every target is allowed', async (t) => {
  const { mock } = t.mock.method(dns, 'lookup', (_: string, __: object, callback: (error: Error) => void) =>
    callback(new Error('planted')),
  )
  const outcomeOf = async (targets: 'any' | 'public') =>
    outcome(await way(t, { targets, deadlineMs: 50 }).send('https://nowhere.invalid/'))
  assert.match(await outcomeOf('public'), /^(dns|timeout) /)
  assert.equal(mock.callCount(), 0)
  assert.equal(await outcomeOf('any'), 'dns path')
  assert.equal(mock.callCount(), 1)
})
