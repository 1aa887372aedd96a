import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Accounts } from '../../identity/accounts.ts'
import type { Principal } from '../../identity/principal.ts'
import type { Identity } from '../../identity/service.ts'
import { createCallers } from './callers.ts'

test('an encryption key that could not be read is read again by the next call, and one that could is kept', async () => {
  const principal = { merchantId: 'm', scopes: new Set<string>() } as Partial<Principal> as Principal
  let asked = 0
  const { withKey } = createCallers({
    identity: {
      standing: async () => ({ principal, key: 'ACTIVE', account: 'ACTIVE' }),
    } as Partial<Identity> as Identity,
    accounts: {
      async encryptionKey() {
        asked += 1
        if (asked === 1) throw new Error('away')
        return { id: 'k', text: '0'.repeat(32) }
      },
    } as Partial<Accounts> as Accounts,
  })
  const call = () => withKey(`Basic ${Buffer.from('key:').toString('base64')}`, [])
  await assert.rejects(call(), /away/)
  const { key } = await call()
  assert.deepEqual([(await call()).key === key, asked], [true, 2])
})
