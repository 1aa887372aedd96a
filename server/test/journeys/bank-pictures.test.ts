import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { encode as encodeJpeg } from 'jpeg-js'
import { PNG } from 'pngjs'
import { headingOf, openBank, pngOf, type Picture } from './bank.ts'
import { openShop } from './shop.ts'

// What the bank app can be given.

const { shop, skip } = await openShop({ after })
const bank = skip === false ? await openBank(shop) : ({} as Awaited<ReturnType<typeof openBank>>)

test('the bank app reads a JPEG, a text that is typed, and a picture that is pasted', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  const code = await bank.made()
  const review = () => headingOf(page).getByText('Pay this code?').waitFor()
  const png = pngOf(code)
  const jpeg = encodeJpeg(PNG.sync.read(png.buffer), 70).data
  await bank.give(page, { name: 'photo.jpg', mimeType: 'image/jpeg', buffer: jpeg })
  await review()

  await page.goto(bank.home)
  await page.getByLabel('Text of the code').fill(`  ${code.qrText}\n`)
  await page.getByRole('button', { name: 'Read the code' }).click()
  await review()

  await page.goto(bank.home)
  // In words of the page, which this program has no types for.
  await page.evaluate(`
    const bytes = Uint8Array.from(atob(${JSON.stringify(code.qrBody)}), (one) => one.charCodeAt(0))
    const clipboardData = new DataTransfer()
    clipboardData.items.add(new File([bytes], 'shot.png', { type: 'image/png' }))
    document.dispatchEvent(new ClipboardEvent('paste', { clipboardData }))
  `)
  await review()
})

test(
  'who gives the bank app nothing is told so at the text too, and not where only a picture was wrong',
  { skip },
  async (t) => {
    const { page } = await shop.payer(t)
    const text = page.getByLabel('Text of the code')
    const ofText = async () => [await text.getAttribute('aria-invalid'), await text.getAttribute('aria-describedby')]
    await page.goto(bank.home)
    assert.deepEqual(await ofText(), [null, null])
    await page.getByRole('button', { name: 'Read the code' }).click()
    await page.locator('#problem').waitFor()
    assert.deepEqual(await ofText(), ['true', 'problem'])
    await bank.give(page, { name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('hello') })
    await page.getByText('neither a PNG nor a JPEG').waitFor()
    assert.deepEqual(await ofText(), [null, null])
  },
)

test('a picture without a code, and a file that is none, are refused with the reason', { skip }, async (t) => {
  const { page } = await shop.payer(t)
  const problem = async (picture: Picture) => {
    await bank.give(page, picture)
    return page.getByRole('alert').textContent()
  }
  const blank = PNG.sync.write(Object.assign(new PNG({ width: 40, height: 40 }), { data: Buffer.alloc(6_400, 255) }))
  assert.match((await problem({ name: 'a.png', mimeType: 'image/png', buffer: blank })) ?? '', /^No QR code was found/)
  const text = { name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('hello') }
  assert.match((await problem(text)) ?? '', /neither a PNG nor a JPEG/)
  const large = { name: 'a.png', mimeType: 'image/png', buffer: Buffer.alloc(8 * 1024 * 1024 + 65_536) }
  assert.match((await problem(large)) ?? '', /more than 8 MiB/)
})
