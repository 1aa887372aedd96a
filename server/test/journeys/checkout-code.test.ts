import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { bankOf } from '../conformance/qr-account.ts'
import { codeOn, desktop, receiptOn, showCode } from './payers.ts'
import { openShop } from './shop.ts'

const { shop, skip } = await openShop({ after })
const bank = (text: string, outcome = 'SUCCESS') => bankOf(shop)({ qr_text: text, outcome })

test(
  '[C4.confirm.qrph] a payer at a phone chooses QR Ph, saves the picture, and is shown the receipt when the bank has paid',
  { skip },
  async (t) => {
    const link = await shop.link()
    const { page } = await shop.payer(t)
    await page.goto(link.url)
    await showCode(page)
    const saving = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Save the code as a picture' }).click()
    const saved = await saving
    assert.equal(saved.suggestedFilename(), 'qrph.png')
    assert.equal((await readFile(await saved.path())).subarray(1, 4).toString(), 'PNG')
    await page.getByText('The code as text').click()
    await page.getByRole('button', { name: 'Copy the text' }).click()

    assert.equal((await bank(await codeOn(page))).status, 200)
    await page.waitForSelector('[data-outcome=succeeded]')
    const receipt = await receiptOn(page)
    assert.deepEqual([receipt['Paid by'], receipt['Amount'], receipt['Card']], ['QR Ph', '₱98.00', undefined])
    assert.match(receipt['Bank reference'] ?? '', /^\d{12}$/)
    assert.deepEqual(await shop.paymentsOf(link.id), ['SUCCEEDED'])
  },
)

test('on paper a code stands without what only a screen can do, in each language', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  await page.goto((await shop.link()).url)
  await showCode(page)
  const follows = { en: /follows the payment by itself/, fil: /Kusang sinusundan/ }
  for (const [language, said] of Object.entries(follows)) {
    await page.goto(`${page.url().split('?')[0]}?lang=${language}`)
    const sheet = page.locator('.sheet')
    const shown = () => page.locator('.sheet :is(img, button, a, summary, .hint):visible').count()
    assert.ok((await shown()) > 5)
    assert.match(await sheet.innerText(), said)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await shown(), 1)
    assert.doesNotMatch(await sheet.innerText(), said)
    assert.ok(await page.getByRole('img').isVisible())
    await page.emulateMedia({ media: 'screen' })
  }
})

test('a payer at a desktop without scripts pays by QR Ph: the page looks again by itself', { skip }, async (t) => {
  const link = await shop.link()
  const { page } = await shop.payer(t, { scripts: false, size: desktop })
  await page.goto(link.url)
  await showCode(page)
  const refresh = page.locator('meta[http-equiv=refresh]')
  assert.equal(await refresh.getAttribute('content'), '3')
  const text = await codeOn(page)
  assert.ok(await page.getByRole('button', { name: 'Copy the text' }).isHidden())
  assert.equal((await bank(text)).status, 200)
  await page.waitForSelector('[data-outcome=succeeded]')
  assert.equal((await receiptOn(page))['Paid by'], 'QR Ph')
})
