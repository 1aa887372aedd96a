import type { Destinations } from '../../delivery/destinations.ts'
import type { Accounts } from '../../identity/accounts.ts'
import type { Db } from '../../kernel/db.ts'
import { Fault } from '../../kernel/fault.ts'
import { webAddressProblem } from '../../kernel/web-address.ts'
import type { Account } from './callers.ts'
import { refuseWebhook } from './errors.ts'
import { webhooksStore as store, type WebhookRow } from './store-webhooks.ts'

export interface QrWebhooksDependencies {
  readonly db: Db
  readonly destinations: Destinations
  readonly accounts: Accounts
  /** Why a URL can never be a destination here, or null. */
  readonly vet: (url: string) => string | null
  readonly sandbox: boolean
}

export interface WebhookChange {
  readonly webhookUrl?: string
  readonly actions?: readonly string[]
  readonly status?: 'ENABLED' | 'DISABLED'
}

export type QrWebhooksService = ReturnType<typeof createQrWebhooksService>

const webhooksListedMax = 1_000

export function createQrWebhooksService({ db, destinations, accounts, vet, sandbox }: QrWebhooksDependencies) {
  const mustBeReachable = (url: string): void => {
    const problem = webAddressProblem(url, { loopbackHttp: sandbox, fragment: false }) ?? vet(url)
    if (problem !== null)
      throw refuseWebhook(
        'BAD_REQUEST',
        `webhookUrl: must be ${sandbox ? 'an https or loopback http' : 'a public https'} address without user information or fragment.`,
      )
  }

  /** Whose the webhook is: the account's, or that of the one branch with the code. */
  const ownerOf = async (account: Account, activationCode: string | undefined) => {
    const { merchantId, partnerId } = account
    const branch = activationCode === undefined ? undefined : await accounts.branchByCode(account, activationCode)
    if (activationCode !== undefined && branch === undefined)
      throw refuseWebhook('BAD_REQUEST', 'activation-code: names no branch of this account or key.')
    const branchId = branch?.id ?? account.branchId
    if (branchId === null)
      return {
        owner: { level: 'merchant' as const, entityId: merchantId, partnerId, merchantId, branchId },
        code: undefined,
      }
    const owner = { level: 'branch' as const, entityId: branchId, partnerId, merchantId, branchId }
    return { owner, code: activationCode ?? (await accounts.codeOf(branchId)) }
  }

  const find = async (account: Account, number: bigint): Promise<WebhookRow> => {
    const row = await store.find(db, account, number)
    if (row === undefined) throw notFound()
    return row
  }

  const read = async (id: string): Promise<WebhookRow> => {
    const row = await store.read(db, id)
    if (row === undefined) throw notFound()
    return row
  }

  return {
    async register(
      account: Account,
      input: Required<WebhookChange>,
      activationCode: string | undefined,
    ): Promise<WebhookRow> {
      mustBeReachable(input.webhookUrl)
      const { owner, code } = await ownerOf(account, activationCode)
      const made = await refusingRegistered(
        destinations.create(owner, {
          dialect: 'encrypted',
          url: input.webhookUrl,
          types: input.actions,
          description: null,
          metadata: { key_id: account.keyId, ...(code === undefined ? {} : { activation_code: code }) },
          disabled: input.status === 'DISABLED',
        }),
      )
      return read(made.id)
    },

    list: (account: Account): Promise<WebhookRow[]> => store.list(db, account, webhooksListedMax),

    async update(account: Account, number: bigint, input: WebhookChange): Promise<WebhookRow> {
      const { id } = await find(account, number)
      if (input.webhookUrl !== undefined) mustBeReachable(input.webhookUrl)
      const change = {
        url: input.webhookUrl ?? null,
        types: input.actions ?? null,
        description: null,
        metadata: null,
        disabled: input.status === undefined ? null : input.status === 'DISABLED',
      }
      await refusingRegistered(destinations.change(account, id, change, 'encrypted'))
      return read(id)
    },

    async delete(account: Account, number: bigint): Promise<void> {
      const { id } = await find(account, number)
      // Of two at once one has deleted it.
      if ((await destinations.delete(account, id, 'encrypted')) === undefined) throw notFound()
    },
  }
}

const notFound = () => refuseWebhook('WEBHOOK_NOT_FOUND', 'This account has no such webhook.')

/** Throws URL_REGISTERED where the account has another webhook with the URL, for whichever branch. */
async function refusingRegistered<Stored>(storing: Promise<Stored>): Promise<Stored> {
  try {
    return await storing
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'CONFLICT')) throw error
    throw new Fault('URL_REGISTERED', 'webhookUrl: this account has a webhook with this URL.', { cause: error })
  }
}
