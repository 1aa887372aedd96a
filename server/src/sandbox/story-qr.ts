import { openToken, sealToken, tokenKey } from '@kaha/qrph/token'
import { sendJson } from './story-call.ts'
import type { StoryDependencies } from './story.ts'

/** A QR Ph code of the first merchant, made and paid. */
export async function payByQr({ localUrl, seed }: Pick<StoryDependencies, 'localUrl' | 'seed'>): Promise<void> {
  const [merchant] = seed.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) return
  const key = await tokenKey(merchant.encryption_key)
  const order = {
    activationCode: branch.activation_code,
    currency: 'PHP',
    amount: '185.00',
    merchantReferenceNumber: 'ORDER-1003',
  }
  const authorization = `Basic ${Buffer.from(`${merchant.secret_key}:`).toString('base64')}`
  const token = await sealToken(key, order)
  const made = await sendJson<{ Token: string }>(
    'POST',
    `${localUrl}/qr/v1/pay/qr`,
    { authorization },
    { Token: token },
  )
  const { qrText } = (await openToken(key, made.Token)) as { qrText: string }
  await sendJson(
    'POST',
    `${localUrl}/sandbox/bank/pay`,
    { 'x-api-key': seed.partner.secret_key },
    { qr_text: qrText, outcome: 'SUCCESS' },
  )
}
