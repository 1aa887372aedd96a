import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createKahaQr, KahaError } from '@kaha/sdk'
import { urlOf } from '../faults/database-of.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'
import { until } from '../until.ts'
import { commandsUnder, folder } from './program.ts'

// What area E wants of an operator, beside a running server.

const p = await platform({ after })
const { kaha, refused } = commandsUnder(
  { after },
  {
    KAHA_DATABASE_URL: urlOf(p.target),
    KAHA_DATA_DIR: folder({ after }),
    KAHA_MASTER_KEY: p.masterKey.toString('base64'),
  },
)
const made = async (...args: readonly string[]) =>
  JSON.parse(await kaha(...args, '--json')) as Readonly<Record<string, string>> & { readonly id: string }
const entity = (level: string, parent: string, ...more: readonly string[]) =>
  made('entities', 'create', '--level', level, '--name', 'Corner shop', '--parent', parent, ...more)

const merchant = await entity('merchant', p.seed.partner.id)
const { id: branchId, activation_code: code = '' } = await entity('branch', merchant.id, '--reference', 'CEBU')

test('E6.token.encryption-key: commands alone bring a new merchant and its branch to QR Ph, and a new key for Tokens takes the place of the one before', async () => {
  const { secret_key: secretKey = '' } = await made('keys', 'issue', '--entity', merchant.id)
  let orders = 0
  const outcome = async (encryptionKey: string): Promise<string> => {
    const merchantReferenceNumber = `ORDER-${(orders += 1)}`
    const qr = createKahaQr({ qrUrl: `${p.url}/qr`, secretKey, encryptionKey })
    try {
      await qr.create({ activationCode: code, currency: 'PHP', amount: '98.00', merchantReferenceNumber })
      return 'made'
    } catch (error) {
      if (error instanceof KahaError) return error.code
      throw error
    }
  }
  assert.equal(await outcome('x'.repeat(32)), '10000003')

  const { encryption_key: first = '', ...rest } = await made('keys', 'encryption', '--entity', merchant.id)
  assert.deepEqual(rest, { merchant_id: merchant.id })
  await until('the first key', async () => (await outcome(first)) === 'made')
  const said = await kaha('keys', 'encryption', '--entity', merchant.id)
  const [second = ''] = said.split('\n')
  assert.match(second, /^[0-9A-Za-z]{32}$/)
  assert.match(said, /Keep it now: it is not shown again\. Tokens of a key before it are refused from now on\.\n$/)
  await until('the second key', async () => (await outcome(second)) === 'made')
  assert.equal(await outcome(first), '20000009')

  assert.ok(!(await kaha('keys', 'list', '--json')).includes(second))
  const rows = await sql<{ sealed: Buffer }>(p.kaha.db, 'select sealed from identity.encryption_keys', [])
  assert.ok(!rows.some(({ sealed }) => sealed.includes(second)))
  await refused(/is no merchant; `kaha entities list` shows them/, 'keys', 'encryption', '--entity', branchId)
})

test('a branch keeps its activation code, and one that was made without gets its own when it is asked for', async () => {
  assert.equal(await kaha('entities', 'code', branchId), `${code}\n`)
  await sql(p.kaha.db, 'delete from identity.activation_codes where branch_id = $1', [branchId])
  const { id, activation_code: another = '' } = await made('entities', 'code', branchId)
  assert.equal(id, branchId)
  assert.match(another, /^([A-Z0-9]{4}-){3}[A-Z0-9]{4}$/)
  assert.notEqual(another, code)
  assert.equal(await kaha('entities', 'code', branchId), `${another}\n`)
  await refused(/is no branch; `kaha entities list` shows them/, 'entities', 'code', merchant.id)
})
