import type { Page } from 'playwright-core'
import { createKahaQr, createKahaQrWebhooks, openNotification } from '@kaha/sdk'
import type { Shop } from './shop.ts'

/** A merchant with a webhook for encrypted notifications, and the bank app of the payers. */
export async function openBank(shop: Shop) {
  const { merchant, branch, receiver, url } = shop
  const home = `${shop.kaha.addresses.sandbox}/bank`
  const qr = createKahaQr({
    qrUrl: `${url}/qr`,
    secretKey: branch.secret_key,
    encryptionKey: merchant.encryption_key,
  })
  const webhooks = createKahaQrWebhooks({ webhooksUrl: `${url}/webhooks`, secretKey: merchant.secret_key })
  receiver.answer = (_request, response) => void response.writeHead(200).end()
  await webhooks.register({ webhookUrl: receiver.url, actions: ['QRPH_SUCCESS', 'QRPH_DECLINED'], status: 'ENABLED' })
  let orders = 0

  return {
    home,
    webhooks,
    /** Makes a code. */
    async made() {
      const reference = `ORDER-${(orders += 1)}`
      const order = { activationCode: branch.activation_code, currency: 'PHP', amount: '295.00' }
      return { ...(await qr.create({ ...order, merchantReferenceNumber: reference })), reference }
    },
    /** What the merchant was told since the last time. */
    async told() {
      await shop.idle()
      const received = receiver.received.splice(0)
      return Promise.all(received.map(({ body }) => openNotification(body, merchant.secret_key)))
    },
    codeUrl: (text: string) => `${home}?${new URLSearchParams({ code: text }).toString()}`,
    /** Gives the bank app a picture. */
    async give(page: Page, picture: Picture) {
      await page.goto(home)
      await page.getByLabel('Picture of the code').setInputFiles(picture)
      await page.getByRole('button', { name: 'Read the code' }).click()
    },
  }
}

export interface Picture {
  readonly name: string
  readonly mimeType: string
  readonly buffer: Buffer
}

export const pngOf = ({ qrBody }: { readonly qrBody: string }): Picture => ({
  name: 'code.png',
  mimeType: 'image/png',
  buffer: Buffer.from(qrBody, 'base64'),
})

export const headingOf = (page: Page) => page.getByRole('heading', { level: 1 })
