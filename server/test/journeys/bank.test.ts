import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { sql } from '../sql.ts'
import { headingOf, openBank, pngOf } from './bank.ts'
import { openShop } from './shop.ts'

// From the code to reporting, with a payer at the bank app.

const { shop, skip } = await openShop({ after })
const bank = skip === false ? await openBank(shop) : ({} as Awaited<ReturnType<typeof openBank>>)

/** From the picture to the end; resolves to what the merchant knows then. */
async function live(t: TestContext, button: string | RegExp, ends: string, scripts: boolean) {
  const { page } = await shop.payer(t, { scripts })
  const code = await bank.made()
  await bank.give(page, pngOf(code))
  await headingOf(page).getByText('Pay this code?').waitFor()
  assert.match(
    (await page.locator('main').textContent()) ?? '',
    new RegExp(`₱295.00.*${shop.merchant.name}.*${code.reference}`, 's'),
  )
  await page.getByRole('button', { name: button }).click()
  await headingOf(page).getByText(ends, { exact: true }).waitFor()
  const { data } = await shop.sdk.reports.retrieveTransaction(code.id)
  return { code, page, notifications: await bank.told(), transaction: data }
}

for (const scripts of [true, false]) {
  const how = scripts ? '' : ', without scripts too'
  test(
    `a payer gives the bank app the picture of a code and pays: the merchant is told, and the payment is in reporting${how}`,
    { skip },
    async (t) => {
      const { code, page, notifications, transaction } = await live(t, /^Pay ₱295.00$/, 'Paid', scripts)
      const [one, ...more] = notifications
      assert.deepEqual(more, [])
      assert.deepEqual(
        [one?.action, one?.referenceNumber, one?.amount, one?.transactionId],
        ['QRPH_SUCCESS', code.reference, 29_500, code.id],
      )
      assert.deepEqual([transaction.status, transaction.payment_method], ['CAPTURED', 'QR_PH'])
      await page.reload()
      await headingOf(page).getByText('Paid', { exact: true }).waitFor()
      await page.goBack()
      await page.goto(bank.codeUrl(code.qrText))
      assert.equal(await page.getByRole('button').count(), 0)
      assert.deepEqual(await bank.told(), [])
      assert.deepEqual(await sql(shop.kaha.db, 'select id from qr.unmatched_payments'), [])
    },
  )
}

test('a payer declines: the merchant is told with the reason, and reporting has it', { skip }, async (t) => {
  const { notifications, transaction } = await live(t, 'Decline', 'Declined', true)
  assert.deepEqual(
    notifications.map(({ action, declineReason }) => [action, declineReason]),
    [['QRPH_DECLINED', 'DECLINED_BY_BANK']],
  )
  assert.equal(transaction.status, 'DECLINED')
})

test('a payer lets a code expire: nobody is told, and reporting has it', { skip }, async (t) => {
  const { notifications, transaction } = await live(t, 'Let it expire', 'Expired', true)
  assert.deepEqual(notifications, [])
  assert.equal(transaction.status, 'EXPIRED')
})
