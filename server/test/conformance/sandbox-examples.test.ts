import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Area } from '@kaha/contract'
import { codeText } from '../../src/areas/qr/text.ts'
import { platform } from '../platform.ts'
import { call } from './call.ts'
import { assertShown, requestOf, shownOf, shownOperations, successOf, type Known } from './examples.ts'
import { qrAccount } from './qr-account.ts'

// The successes that the OpenAPI document of the sandbox shows, each asked for and given.
const p = await platform({ after })
const { made } = qrAccount(p)
const known: Known = new Map()
/** Read and paid in the place of the one that is shown, which is of another sandbox. Made once the clock stands where it stays. */
let made1001: ReturnType<typeof made> | undefined
const textOf1001 = async () => {
  made1001 ??= made({ amount: '250.00', merchantReferenceNumber: 'ORDER-1001' })
  return (await made1001).qrText
}

test('the text that is shown is what the code and the merchant that are shown are written as', () => {
  const of = (area: Area, id: string) =>
    successOf(shownOf(shownOperations(area), id)).examples.get('') as Record<string, any>
  const [read, paid] = [of('sandbox', 'readAsBank'), of('sandbox', 'payAsBank')]
  const [code, merchant] = [paid['id'], of('reporting', 'listReportMerchants')['data'][0].id]
  const text = codeText(
    { bic: read['bank'], notifyFlags: '010' },
    {
      id: code,
      merchantId: merchant,
      merchantName: read['payee_name'],
      branchReference: 'KAPE-1',
      amount: BigInt(paid['amount']),
      currency: paid['currency'],
    },
  )
  assert.equal(read['qr_text'], text)
  assert.ok(text.includes(`0525${read['reference']}`))
  assert.equal(code, of('qr_webhooks', 'simulateQr')['id'])
})

for (const shown of shownOperations('sandbox')) {
  test(`${shown.id} answers what its examples show`, async () => {
    const success = successOf(shown)
    const { group_id: group, qr_text: code } = (shown.requests.get('') ?? {}) as Record<string, string>
    if (group !== undefined) known.set(group, p.merchant.terminal_group.id)
    const { body, ...request } = requestOf(shown, known, { key: p.seed.partner.secret_key })
    const sent = code === undefined ? body : { ...(body as object), qr_text: await textOf1001() }
    const answer = await call(p.url, { ...request, path: `/sandbox${request.path}`, body: sent })
    assertShown(success, '', answer, known)
  })
}
