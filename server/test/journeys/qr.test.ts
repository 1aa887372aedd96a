import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createKahaQr, KahaError } from '@kaha/sdk'
import { startPayer } from '../conformance/code-payer.ts'
import { shop } from '../conformance/shop.ts'
import { platform } from '../platform.ts'
import { sql } from '../sql.ts'

const hasNoScanner = spawnSync('zbarimg', ['--version']).error !== undefined

/** What a scanner says that is told nothing of the code but its picture. */
async function scanned(t: TestContext, picture: Uint8Array): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kaha-qr-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'code.png')
  await writeFile(path, picture)
  return spawnSync('zbarimg', ['--quiet', '--raw', '--oneshot', path]).stdout.toString('utf8').replace(/\n$/, '')
}

test('a merchant makes a code, a payer scans its picture and pays, and the payment is in reporting and in the batch of the day', async (t) => {
  if (hasNoScanner) return t.skip('the journey of a code that is scanned: there is no zbarimg')
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

  const payer = p.as(p.seed.partner.secret_key).sandbox
  const qr_text = await scanned(t, Buffer.from(qrBody, 'base64'))
  const paid = await payer.payAsBank({ qr_text, outcome: 'SUCCESS' })
  assert.deepEqual([paid.id, paid.status, paid.merchant_name], [id, 'PAID', merchant.name])

  const code = await qr.findByReference('ORDER-1001')
  assert.deepEqual([code.id, code.status, code.amount], [id, 'PAID', '295.00'])
  await p.advance(86_400)
  const { data } = await p.sdk.reports.retrieveTransaction(id)
  assert.deepEqual([data.status, data.payment_method, data.settlement_status], ['CAPTURED', 'QR_PH', 'SETTLED'])
})

test('a merchant whose name has letters that are not ASCII is paid by the picture of a checkout, too, as a scanner reads it', async (t) => {
  if (hasNoScanner) return t.skip('the journey of a name that is scanned: there is no zbarimg')
  const p = await platform(t)
  const { merchant } = p
  const payer = startPayer(p)
  for (const name of ['Señor Kape', 'Parañaque Bakery', 'Doña Nena', 'Kapé', 'Piña']) {
    await sql(p.kaha.db, 'update identity.entities set name = $2 where id = $1', [merchant.id, name])
    const { checkout_url: url } = await shop(p).newIntent()
    const { text } = await payer.chooseCode(url)
    assert.ok(text.includes(name), text)
    const picture = await fetch(`${url}/code.png`)
    assert.equal(await scanned(t, Buffer.from(await picture.arrayBuffer())), text)
  }
})
