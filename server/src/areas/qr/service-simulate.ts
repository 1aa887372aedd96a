import type { Events } from '../../delivery/events.ts'
import type { Identity } from '../../identity/service.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import type { Fault } from '../../kernel/fault.ts'
import { newId, randomText, smallestId } from '../../kernel/ids.ts'
import type { CodeBank } from './bank.ts'
import type { Account } from './callers.ts'
import { refuseWebhook } from './errors.ts'
import { actionOf, notificationText } from './notifications.ts'
import { codeOf, type Code } from './service.ts'
import { webhooksStore } from './store-webhooks.ts'
import { qrStore as store } from './store.ts'
import { readText, type QrBank } from './text.ts'

export interface SimulationDependencies {
  readonly db: Db
  readonly clock: Clock
  readonly bank: QrBank
  readonly codeBank: CodeBank
  readonly events: Events
  readonly identity: Identity
}

export interface Simulation {
  /** `SUCCESS`, `DECLINED`, or the cause for which the bank declines. */
  readonly useCase: string
  /** The text of a code. */
  readonly qrBody?: string
}

export type QrSimulation = ReturnType<typeof createQrSimulation>

const webhooksToldMax = 1_000
const digits = '0123456789'
// EMVCo QRCPS, tag 00.
const textBegins = '000201'
const testAmount = 10_000n

/** What a bank would do, on request: for sandboxes. */
export function createQrSimulation({ db, clock, bank, codeBank, events, identity }: SimulationDependencies) {
  const named = async (account: Account, text: string): Promise<Code> => {
    const read = readText(bank, text)
    const row = read.is === 'ours' ? await store.findCode(db, account, read.id) : undefined
    if (row?.text === text) return codeOf(row)
    const isText = text.startsWith(textBegins)
    const why = isText
      ? 'the text of no code of this account'
      : 'no text of a code; send the qrText that it was made with'
    throw refuseWebhook('CODE_NOT_FOUND', `qrBody: is ${why}.`)
  }

  const newest = async (account: Account): Promise<Code | undefined> => {
    const row = await store.newestPending(db, account)
    return row && codeOf(row)
  }

  const takers = async ({ merchantId, branchId }: Pick<Account, 'merchantId' | 'branchId'>, action: string) => {
    const found = await webhooksStore.takers(db, merchantId, branchId, action, webhooksToldMax)
    if (found.length === 0) throw noTaker()
    return found
  }

  /** The id of the code; undefined where it has its outcome by now. */
  const settle = async (code: Code, event: 'paid' | 'declined', reason: string | null): Promise<string | undefined> => {
    if (code.state !== 'PENDING') return undefined
    await takers(code, actionOf(event === 'paid' ? 'PAID' : 'DECLINED'))
    const bankReference = randomText(12, digits)
    const because = reason === null ? {} : { reason }
    const answer = { text: code.text, event, bankReference, onlyWhileOpen: true, ...because }
    const settled = await codeBank.answer(code.partnerId, answer)
    if (!('refusal' in settled)) return code.id
    if (settled.refusal.why === 'final') return undefined
    throw notPending(code)
  }

  /** One notification to each, of a payment that there is not. */
  const sendTests = async (account: Account, state: 'PAID' | 'DECLINED', reason: string | null): Promise<string> => {
    const { merchantId, partnerId, branchId } = account
    const type = actionOf(state)
    const webhooks = await takers(account, type)
    // An account may have no branch yet, and a notification tells of none: then the account stands for it.
    const [first = { id: merchantId }] = await identity.branchesUnder(
      { level: 'merchant', entityId: merchantId },
      oneBranch,
    )
    const at = clock.now()
    const id = newId(at)
    const told = { id, state, stateAt: at, amount: testAmount, currency: 'PHP', declineReason: reason }
    const body = notificationText({ ...told, reference: `TEST-${randomText(12)}` })
    let sent = 0
    for (const webhook of webhooks) {
      const branch = webhook.branch_id ?? branchId ?? first.id
      const event = { type, partnerId, merchantId, branchId: branch, write: () => body }
      const answer = await events.sendTest(account, { id: webhook.id, dialect: 'encrypted' }, event)
      if (!('refusal' in answer)) sent += 1
    }
    if (sent === 0) throw noTaker()
    return id
  }

  return {
    /**
     * Settles a code as its bank would: the one of the text, else the newest that is PENDING. Without any, sends test notifications. Gives
     * the id of the code, or one that is nobody's. Throws CODE_NOT_FOUND, CODE_NOT_PENDING, WEBHOOK_NOT_FOUND.
     */
    async simulate(account: Account, { useCase, qrBody }: Simulation): Promise<string> {
      const reason = useCase === 'SUCCESS' ? null : useCase === 'DECLINED' ? 'DECLINED_BY_BANK' : useCase
      const event = reason === null ? 'paid' : 'declined'
      if (qrBody !== undefined) {
        const code = await named(account, qrBody)
        const id = await settle(code, event, reason)
        if (id === undefined) throw notPending(code)
        return id
      }
      // Whoever asks in the same moment may have been given the newest: then it is the next.
      for (let code = await newest(account); code !== undefined; code = await newest(account)) {
        const id = await settle(code, event, reason)
        if (id !== undefined) return id
      }
      return sendTests(account, reason === null ? 'PAID' : 'DECLINED', reason)
    },
  }
}

const oneBranch = { after: smallestId, rowsMax: 1 }

const noTaker = (): Fault => refuseWebhook('WEBHOOK_NOT_FOUND', 'No ENABLED webhook of this account takes this action.')
const notPending = ({ state }: Code): Fault =>
  refuseWebhook(
    'CODE_NOT_PENDING',
    `The code is ${state === 'PENDING' ? 'settled' : state}: it has had its one outcome.`,
  )
