import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createKahaQr, KahaError } from '@kaha/sdk'
import { platform } from '../platform.ts'

test('a merchant makes a code, a payer scans its picture and pays, and the payment is in reporting and in the batch of the day', async (t) => {
  if (spawnSync('zbarimg', ['--version']).error !== undefined)
    return t.skip('the journey of a code that is scanned: there is no zbarimg')
  const p = await platform(t)
  const { merchant, branch } = p
  const qr = createKahaQr({
    qrUrl: `${p.url}/qr`,
    secretKey: branch.secret_key,
    encryptionKey: merchant.encryption_key,
  })
  const order = {
    activationCode: branch.activation_code,
    currency: 'PHP',
    amount: '295.00',
    merchantReferenceNumber: 'ORDER-1001',
  }
  const { id, qrBody } = await qr.create(order)
  await assert.rejects(qr.create(order), (error: unknown) => error instanceof KahaError && error.code === '20000005')

  const folder = await mkdtemp(join(tmpdir(), 'kaha-qr-'))
  t.after(() => rm(folder, { recursive: true }))
  const picture = join(folder, 'code.png')
  await writeFile(picture, Buffer.from(qrBody, 'base64'))
  const scanned = spawnSync('zbarimg', ['--quiet', '--raw', '--oneshot', '-Sbinary', picture]).stdout.toString('utf8')

  const payer = p.as(p.seed.partner.secret_key).sandbox
  const paid = await payer.payAsBank({ qr_text: scanned.replace(/\n$/, ''), outcome: 'SUCCESS' })
  assert.deepEqual([paid.id, paid.status, paid.merchant_name], [id, 'PAID', merchant.name])

  const code = await qr.findByReference('ORDER-1001')
  assert.deepEqual([code.id, code.status, code.amount], [id, 'PAID', '295.00'])
  await p.advance(86_400)
  const { data } = await p.sdk.reports.retrieveTransaction(id)
  assert.deepEqual([data.status, data.payment_method, data.settlement_status], ['CAPTURED', 'QR_PH', 'SETTLED'])
})
