import { sealToken } from '@kaha/qrph/token'
import type { Dialect } from '../../delivery/dialects.ts'
import type { NewEvent } from '../../delivery/index.ts'
import type { Accounts } from '../../identity/accounts.ts'
import type { Db, Queries } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import { minorToNumber } from '../../kernel/money.ts'
import type { Code } from './service.ts'
import { webhooksStore as store } from './store-webhooks.ts'
import { createTokenKeys } from './token-keys.ts'

/** Writes what an account is told of a code, in the transaction that brought it about; nothing for an expiry. */
export type Announce = (tx: Queries, code: Code) => Promise<void>

const notificationScope = 'qr_webhooks.write'

const actions = { PAID: 'QRPH_SUCCESS', DECLINED: 'QRPH_DECLINED' } as const

/** What a notification tells, before it is encrypted. */
export interface Told {
  readonly id: string
  readonly state: keyof typeof actions
  readonly stateAt: Date
  readonly reference: string
  readonly amount: bigint
  readonly currency: string
  readonly declineReason: string | null
}

export const actionOf = (state: keyof typeof actions) => actions[state]

export const notificationText = ({ id, state, stateAt, reference, amount, currency, declineReason }: Told): string =>
  JSON.stringify({
    action: actions[state],
    referenceNumber: reference,
    amount: minorToNumber(amount),
    currency,
    timestamp: stateAt.toISOString(),
    transactionId: id,
    status: state,
    ...(declineReason === null ? {} : { declineReason }),
  })

export function createAnnounce(appendEvent: (tx: Queries, event: NewEvent) => Promise<void>): Announce {
  return async (tx, code) => {
    const { state } = code
    if (state !== 'PAID' && state !== 'DECLINED') return
    await appendEvent(tx, {
      id: newId(code.stateAt),
      dialect: 'encrypted',
      type: actions[state],
      partnerId: code.partnerId,
      merchantId: code.merchantId,
      branchId: code.branchId,
      paymentIntentId: null,
      paymentLinkId: null,
      body: notificationText({ ...code, state }),
      at: code.stateAt,
    })
  }
}

const minuteMs = 60_000

/**
 * How notifications are sent: encrypted anew for each attempt, under the key that registered the webhook or the one that stands in for
 * it. While the account has none the delivery waits, and spends no attempt.
 */
export function encryptedDialect({ db, accounts }: { db: Db; accounts: Accounts }): Dialect {
  const keyOf = createTokenKeys()

  return {
    async prepare({ destinationId, body }) {
      const webhook = await store.read(db, destinationId)
      if (webhook === undefined) throw new Error('the webhook was deleted meanwhile')
      const { merchant_id: merchantId, branch_id: branchId, metadata } = webhook
      const wanted = { keyId: metadata.key_id, merchantId, branchId, scope: notificationScope }
      const key = await accounts.notificationKey(wanted)
      if (key === undefined) throw new Error('the account has no ACTIVE key to encrypt with')
      const data = await sealToken(await keyOf(key), JSON.parse(body) as object)
      const { activation_code: code } = metadata
      return {
        headers: { 'content-type': 'application/json', ...(code === undefined ? {} : { 'activation-code': code }) },
        body: JSON.stringify({ data }),
      }
    },
    acknowledges: (status) => status === 200,
    deadlineMs: 10_000,
    schedule: {
      waitsMs: [15 * minuteMs, 15 * minuteMs, 15 * minuteMs, 15 * minuteMs],
      jitterMax: 0,
      retryAfterFactorMax: 1,
    },
    autoDisable: { statuses: [], failingMsMax: null },
  }
}
