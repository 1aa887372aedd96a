import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { qrUseCases } from '@kaha/contract'
import { headingOf, openBank } from './bank.ts'
import { openShop } from './shop.ts'

// What a simulation did, as the payer sees it, the merchant is told it, and reporting has it.

const { shop, skip } = await openShop({ after })
const bank = skip === false ? await openBank(shop) : ({} as Awaited<ReturnType<typeof openBank>>)

for (const useCase of qrUseCases) {
  test(
    `the bank app shows what a simulation of ${useCase} did, and the merchant is told of that`,
    { skip },
    async (t) => {
      const { page } = await shop.payer(t)
      const code = await bank.made()
      const { id } = await bank.webhooks.simulate({ useCase, qrBody: code.qrText })
      assert.equal(id, code.id)
      await page.goto(bank.codeUrl(code.qrText))
      await headingOf(page)
        .getByText(useCase === 'SUCCESS' ? 'Paid' : 'Declined', { exact: true })
        .waitFor()
      const [one] = await bank.told()
      const reason = useCase === 'SUCCESS' ? undefined : useCase === 'DECLINED' ? 'DECLINED_BY_BANK' : useCase
      assert.deepEqual([one?.transactionId, one?.declineReason], [code.id, reason])
      const { data } = await shop.sdk.reports.retrieveTransaction(code.id)
      assert.equal(data.status, useCase === 'SUCCESS' ? 'CAPTURED' : 'DECLINED')
    },
  )
}
