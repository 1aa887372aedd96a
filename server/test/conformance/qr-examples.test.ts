import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import type { Call } from './call.ts'
import {
  assertLike,
  assertShown,
  exampleReceiver,
  requestOf,
  shownOperations,
  successOf,
  type Known,
} from './examples.ts'
import { bankOf, qrAccount } from './qr-account.ts'

// The successes that the OpenAPI documents of area E show, each asked for and given: of a code and of a webhook, one after the other.
const p = await platform({ after })
const { ask, seal, made } = qrAccount(p)
const known: Known = new Map([[exampleReceiver, new URL(p.receiver.url).origin]])
/** The text of the code. */
let text = ''
/** The webhook, whose example is the first of its installation. */
let webhook = '1'

/** What must have happened before. */
const before: Readonly<Record<string, (example: unknown) => Promise<unknown>>> = {
  findQrCode: () => bankOf(p)({ qr_text: text, outcome: 'SUCCESS' }),
  // Somebody is told, of a code of its own.
  simulateQr: async (example) => {
    const body = { webhookUrl: p.receiver.url, actions: ['QRPH_SUCCESS'], status: 'ENABLED' }
    await ask({ method: 'POST', path: '/webhooks/v1/webhooks', body })
    known.set((example as { id: string }).id, (await made()).id)
  },
}

for (const [base, operations] of [
  ['/qr', shownOperations('qr')],
  ['/webhooks', shownOperations('qr_webhooks')],
] as const) {
  for (const shown of operations) {
    test(`${shown.id} answers what its examples show`, async () => {
      const success = successOf(shown)
      await before[shown.id]?.(success.examples.get(''))
      const { key: _, ...request }: Call = requestOf(shown, known, { key: '' })
      const sealed = shown.sealed as object | undefined
      const answer = await ask({
        ...request,
        path: `${base}${request.path.replace(/\/1$/, `/${webhook}`)}`,
        ...(sealed && { body: await seal({ ...sealed, activationCode: p.branch.activation_code }) }),
      })
      assertShown(success, '', answer, known)
      assert.equal(answer.plain !== undefined, success.sealed !== undefined)
      if (success.sealed !== undefined) assertLike(success.sealed, answer.plain, known)
      if (shown.id === 'createQrCode') text = answer.plain.qrText
      if (shown.id === 'registerQrWebhook') webhook = String(answer.json.id)
    })
  }
}
