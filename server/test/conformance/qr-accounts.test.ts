import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openapiDocuments, scopes, type QrErrorCode } from '@kaha/contract'
import { createMerchant, issueActivationCode, issueEncryptionKey } from '../../src/identity/issue.ts'
import { sql } from '../sql.ts'
import { platform } from '../platform.ts'
import { call } from './call.ts'
import { everybody, keyFor } from './people.ts'
import { assertQrRefused, basic, newReference, qrAccount, qrPath, type QrAnswer } from './qr-account.ts'

// Area E: who may call the QR service, and what everybody else is told.

const p = await platform({ after })
const people = await everybody(p)
const own = qrAccount(p)
const merchant = { id: p.merchant.id, level: 'merchant' } as const
const branch = { id: p.branch.id, level: 'branch' } as const
const code = await own.made()

/** The three operations that need a key, with this Authorization. */
const tries = async (authorization: string | readonly string[] | undefined): Promise<QrAnswer[]> => {
  const headers = authorization === undefined ? {} : { authorization }
  const requests = [
    { method: 'POST', path: qrPath, headers, body: await own.seal(own.request()) },
    { path: `${qrPath}/${code.id}`, headers },
    { path: `${qrPath}?merchantReferenceNumber=x`, headers },
  ]
  return Promise.all(requests.map(async (one) => ({ ...(await call(p.url, one)), plain: undefined })))
}
const refused = async (
  authorization: string | readonly string[] | undefined,
  wanted: QrErrorCode,
  error?: string,
): Promise<void> => {
  for (const answer of await tries(authorization)) {
    assertQrRefused(answer, wanted)
    if (error !== undefined) assert.equal(answer.json.error, error)
  }
}
const setKey = async (id: string, state: string): Promise<void> => {
  await sql(p.kaha.db, 'update identity.keys set state = $2 where id = $1', [id, state])
  p.kaha.bus.hint('keys')
}
const setAccount = async (id: string, state: string): Promise<void> => {
  await sql(p.kaha.db, 'update identity.entities set state = $2 where id = $1', [id, state])
  p.kaha.bus.hint('keys')
}

test('E6.document.version: the document of the QR service is of version 1.4.1', () => {
  assert.equal((openapiDocuments().qr.info as { version: string }).version, '1.4.1')
})

test('[E6.auth.basic, E6.account.merchant, I1.scopes.qr-create] the secret key is the user name of HTTP Basic, in any spelling of the word, with an empty password', async () => {
  const { secretKey } = await keyFor(p, merchant, { scopes: ['qr.create'] })
  for (const authorization of [
    basic(secretKey),
    basic(secretKey).replace('Basic', 'basic'),
    basic(secretKey).replace('Basic ', 'BASIC  '),
  ]) {
    const [created, read, unknown] = await tries(authorization)
    assert.deepEqual([created?.status, read?.status, unknown?.status], [200, 200, 404])
  }
})

test('E6.auth.none: no Authorization, or one that is not HTTP Basic without a password, is 401 with 20000001', async () => {
  const key = p.merchant.secret_key
  const unreadable = [
    undefined,
    '',
    'Basic',
    'Basic ',
    key,
    `Bearer ${key}`,
    `Basic ${key}`,
    `Basic ${Buffer.from(key).toString('base64')}`,
    `Basic ${Buffer.from(`${key}:`).toString('base64')}, Basic x`,
    'Basic !!!!',
    basic(key, 'password'),
    basic(`${key}:`, ':'),
    `Digest username="${key}"`,
    [basic(key), basic(key)],
  ]
  for (const authorization of unreadable) await refused(authorization, 'NO_AUTHORIZATION')
  const elsewhere = await call(p.url, { path: `${qrPath}/${code.id}`, key })
  assertQrRefused({ ...elsewhere, plain: undefined }, 'NO_AUTHORIZATION')
})

test('[E6.auth.wrong-key, E6.codes.invalid-api-key] a key that was never issued, or has one character changed, is 401 with 10000013', async () => {
  const key = p.merchant.secret_key
  const changed = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')
  for (const wrong of [
    changed,
    'sk_test_000000000000000000000000',
    key.toUpperCase(),
    ` ${key}`,
    'x',
    key.replace('test', 'live'),
    '\0',
    'é',
  ])
    await refused(basic(wrong), 'INVALID_API_KEY', 'Invalid API Key')
})

test('E6.codes.api-key-not-found: an empty user name is 401 with 10000006', async () => {
  await refused(basic(''), 'API_KEY_NOT_FOUND', 'API Key Not Found')
})

const states: readonly (readonly [rule: string, state: string, code: QrErrorCode, name: string])[] = [
  ['E6.codes.api-key-expired', 'EXPIRED', 'API_KEY_EXPIRED', 'API Key Expired'],
  ['E6.codes.api-key-revoked', 'REVOKED', 'API_KEY_REVOKED', 'API Key Revoked'],
  ['E6.codes.api-key-suspended', 'SUSPENDED', 'API_KEY_SUSPENDED', 'API Key Suspended'],
  ['E6.codes.api-key-deleted', 'DELETED', 'API_KEY_DELETED', 'API Key Deleted'],
]
for (const [rule, state, wanted, name] of states) {
  test(`${rule}: a key that is ${state} is refused by name from the next request on, and accepted once it is ACTIVE`, async () => {
    for (const entity of [merchant, branch]) {
      const { id, secretKey } = await keyFor(p, entity)
      assert.equal((await tries(basic(secretKey)))[0]?.status, 200)
      await setKey(id, state)
      await refused(basic(secretKey), wanted, name)
      await setKey(id, 'ACTIVE')
      assert.equal((await tries(basic(secretKey)))[0]?.status, 200)
    }
  })
}

test('E6.codes.api-key-expired: a key whose time is over is refused by business time, and one that was revoked says so first', async () => {
  const { id, secretKey } = await keyFor(p, merchant, { expiresAt: new Date(p.kaha.clock.now().getTime() + 3_600_000) })
  assert.equal((await tries(basic(secretKey)))[0]?.status, 200)
  await p.advance(3_600)
  await refused(basic(secretKey), 'API_KEY_EXPIRED', 'API Key Expired')
  await setKey(id, 'REVOKED')
  await refused(basic(secretKey), 'API_KEY_REVOKED')
})

const accountStates: readonly (readonly [rule: string, state: string, code: QrErrorCode, name: string])[] = [
  ['E6.codes.account-locked', 'LOCKED', 'ACCOUNT_LOCKED', 'Account Locked'],
  ['E6.codes.account-not-active', 'INACTIVE', 'ACCOUNT_NOT_ACTIVE', 'Account Not Active'],
]
for (const [rule, state, wanted, name] of accountStates) {
  test(`${rule}: an account that is ${state}, itself or above, is 403 by name`, async () => {
    for (const id of [p.branch.id, p.merchant.id, p.seed.partner.id]) {
      await setAccount(id, state)
      await refused(basic(p.branch.secret_key), wanted, name)
      if (id !== p.branch.id) await refused(basic(p.merchant.secret_key), wanted, name)
      await setAccount(id, 'ACTIVE')
    }
    assert.equal((await tries(basic(p.branch.secret_key)))[0]?.status, 200)
  })
}

test('a key that is not ACTIVE is told of before its account, and a locked account before an inactive one', async () => {
  const { id, secretKey } = await keyFor(p, branch)
  await setAccount(p.branch.id, 'INACTIVE')
  await setAccount(p.merchant.id, 'LOCKED')
  await refused(basic(secretKey), 'ACCOUNT_LOCKED')
  await setKey(id, 'SUSPENDED')
  await refused(basic(secretKey), 'API_KEY_SUSPENDED')
  await setAccount(p.branch.id, 'ACTIVE')
  await setAccount(p.merchant.id, 'ACTIVE')
})

test('a branch that is not ACTIVE is paid by nobody', async () => {
  await setAccount(p.branch.id, 'INACTIVE')
  assertQrRefused(await own.create(), 'UNKNOWN_ACTIVATION_CODE')
  await setAccount(p.branch.id, 'ACTIVE')
  await own.made()
})

test('[E6.account.partner, E6.codes.unauthorized-action] the key of a partner is 403 with 10000012', async () => {
  await refused(basic(p.seed.partner.secret_key), 'UNAUTHORIZED_ACTION', 'Unauthorized Action')
})

test('[E6.codes.insufficient-permissions, I1.scopes.qr-create] a key without the scope is 403 with 10000015, whatever else it may do', async () => {
  for (const entity of [merchant, branch]) {
    const { secretKey } = await keyFor(p, entity, { scopes: scopes.filter((scope) => scope !== 'qr.create') })
    await refused(basic(secretKey), 'INSUFFICIENT_PERMISSIONS', 'Insufficient Permissions')
  }
})

test('E6.codes.account-not-found: a merchant without an encryption key is no account: 401 with 10000003, until it has one', async () => {
  const at = p.kaha.clock.now()
  const bare = await createMerchant(p.kaha.db, p.seed.partner.id, 'No QR here', at)
  const { secretKey } = await keyFor(p, bare)
  await refused(basic(secretKey), 'ACCOUNT_NOT_FOUND', 'Account Not Found')
  const encryptionKey = await issueEncryptionKey(
    p.kaha.db,
    { keyring: p.kaha.keyring, keyPrefix: 'sk_test_' },
    bare.id,
    at,
  )
  p.kaha.bus.hint('keys')
  assertQrRefused(await qrAccount(p, { key: secretKey, encryptionKey }).get(code.id), 'CODE_NOT_FOUND')
})

test('E6.auth.plain: a refusal of authentication is plain, whatever its cause', async () => {
  for (const authorization of [undefined, basic('x'), basic(''), basic(p.seed.partner.secret_key)])
    for (const { json } of await tries(authorization))
      assert.deepEqual(Object.keys(json), ['code', 'error', 'referenceNumber'])
})

test('E6.account.branch: the key of a branch makes and sees codes of its own activation code alone', async () => {
  const [first, second] = p.merchant.branches
  assert.ok(first && second)
  const ofFirst = qrAccount(p, { key: first.secret_key })
  const mine = await ofFirst.made()
  assertQrRefused(await ofFirst.create({ activationCode: second.activation_code }), 'UNKNOWN_ACTIVATION_CODE')
  const reference = newReference()
  const theirs = await own.made({ activationCode: second.activation_code, merchantReferenceNumber: reference })
  assertQrRefused(await ofFirst.get(theirs.id), 'CODE_NOT_FOUND')
  assertQrRefused(await ofFirst.find(reference), 'CODE_NOT_FOUND')
  const ofSecond = qrAccount(p, { key: second.secret_key })
  assert.equal((await ofSecond.get(theirs.id)).plain.id, theirs.id)
  assert.equal((await ofSecond.find(reference)).plain.id, theirs.id)
  assertQrRefused(await ofSecond.get(mine.id), 'CODE_NOT_FOUND')
  for (const id of [mine.id, theirs.id]) assert.equal((await own.get(id)).plain.id, id)
})

test('[I1.levels.not-beside] a code of another account is 404, exactly as one that does not exist, and its activation code is unknown', async () => {
  const [, neighbour] = p.seed.merchants
  const [itsBranch] = neighbour?.branches ?? []
  assert.ok(neighbour && itsBranch)
  const theirs = qrAccount(p, {
    key: neighbour.secret_key,
    encryptionKey: neighbour.encryption_key,
    activationCode: itsBranch.activation_code,
  })
  const reference = newReference()
  const { id } = await theirs.made({ merchantReferenceNumber: reference })
  const unknown = await own.get('01a1fcef-9ed7-78da-86e8-e01924f01831')
  for (const answer of [await own.get(id), await own.find(reference), unknown]) {
    assertQrRefused(answer, 'CODE_NOT_FOUND')
    assert.equal(answer.plain.error, unknown.plain.error)
  }
  assertQrRefused(await own.create({ activationCode: itsBranch.activation_code }), 'UNKNOWN_ACTIVATION_CODE')
  // The same reference is another account's own matter.
  await own.made({ merchantReferenceNumber: reference })
  const stranger = await issueActivationCode(p.kaha.db, people.otherPartnersBranch.id, p.kaha.clock.now())
  assertQrRefused(await own.create({ activationCode: stranger }), 'UNKNOWN_ACTIVATION_CODE')
})

test('E6.token.encryption-key: tokens are of the encryption key of the account, which is kept sealed, and a newer one takes its place', async () => {
  assert.match(p.merchant.encryption_key, /^[0-9A-Za-z]{32}$/)
  const rows = await sql<{ sealed: Buffer }>(p.kaha.db, 'select sealed from identity.encryption_keys', [])
  for (const { sealed } of rows) assert.ok(!sealed.includes(p.merchant.encryption_key))
  const wrong = qrAccount(p, { encryptionKey: p.merchant.secret_key })
  const answer = await call(p.url, {
    method: 'POST',
    path: qrPath,
    headers: { authorization: basic(p.merchant.secret_key) },
    body: await wrong.seal(wrong.request()),
  })
  assertQrRefused({ ...answer, plain: undefined }, 'TOKEN_REFUSED')
  const [, neighbour] = p.seed.merchants
  const [itsBranch] = neighbour?.branches ?? []
  assert.ok(neighbour && itsBranch)
  const issuing = { keyring: p.kaha.keyring, keyPrefix: 'sk_test_' } as const
  const newer = await issueEncryptionKey(p.kaha.db, issuing, neighbour.id, p.kaha.clock.now())
  p.kaha.bus.hint('keys')
  await qrAccount(p, {
    key: neighbour.secret_key,
    encryptionKey: newer,
    activationCode: itsBranch.activation_code,
  }).made()
})
