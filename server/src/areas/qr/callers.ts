import type { QrErrorCode } from '@kaha/contract'
import type { TokenKey } from '@kaha/qrph/token'
import type { Accounts } from '../../identity/accounts.ts'
import type { Principal } from '../../identity/principal.ts'
import type { Identity, KeyStanding } from '../../identity/service.ts'
import { refuse } from './errors.ts'
import { createTokenKeys } from './token-keys.ts'

/** Whoever acts for an account. */
export interface Account extends Principal {
  readonly merchantId: string
}

/** Whoever acts for an account, and the key that its tokens are made with. */
export interface QrCaller {
  readonly principal: Account
  readonly key: TokenKey
}

export type Callers = ReturnType<typeof createCallers>

/** The codes of keys and accounts that are not ACTIVE; their texts are the names that the contract gives them. */
const ofKey: Readonly<Record<Exclude<KeyStanding['key'], 'ACTIVE'>, readonly [QrErrorCode, string]>> = {
  EXPIRED: ['API_KEY_EXPIRED', 'API Key Expired'],
  REVOKED: ['API_KEY_REVOKED', 'API Key Revoked'],
  SUSPENDED: ['API_KEY_SUSPENDED', 'API Key Suspended'],
  DELETED: ['API_KEY_DELETED', 'API Key Deleted'],
}
const ofAccount: Readonly<Record<Exclude<KeyStanding['account'], 'ACTIVE'>, readonly [QrErrorCode, string]>> = {
  LOCKED: ['ACCOUNT_LOCKED', 'Account Locked'],
  INACTIVE: ['ACCOUNT_NOT_ACTIVE', 'Account Not Active'],
}

/** Who calls, by the header Authorization: HTTP Basic (RFC 7617) with the secret key as the user name and no password. */
export function createCallers({ identity, accounts }: { identity: Identity; accounts: Accounts }) {
  // A principal lives for a second at most, so a new encryption key is noticed as fast as a new state of a key.
  const tokenKeyOf = createTokenKeys()
  const keyOfCaller = new WeakMap<Principal, Promise<TokenKey | undefined>>()

  const prepare = async (merchantId: string): Promise<TokenKey | undefined> => {
    const found = await accounts.encryptionKey(merchantId)
    return found && tokenKeyOf(found)
  }

  const keyFor = async (principal: Principal, merchantId: string): Promise<TokenKey | undefined> => {
    const known = keyOfCaller.get(principal) ?? prepare(merchantId)
    keyOfCaller.set(principal, known)
    return known.catch((error: unknown) => {
      keyOfCaller.delete(principal)
      throw error
    })
  }

  /** Throws what both services refuse with, in the order of the checks: header, key, account, level, scopes. */
  const account = async (authorization: string | undefined, scopes: readonly string[]): Promise<Account> => {
    const secretKey = userOf(authorization)
    if (secretKey === undefined)
      throw refuse('NO_AUTHORIZATION', 'Send your secret key as the user name of HTTP Basic.')
    if (secretKey === '') throw refuse('API_KEY_NOT_FOUND', 'API Key Not Found')
    const standing = await identity.standing(secretKey)
    if (standing === undefined) throw refuse('INVALID_API_KEY', 'Invalid API Key')
    const { principal, key, account: state } = standing
    if (key !== 'ACTIVE') throw refuse(...ofKey[key])
    if (state !== 'ACTIVE') throw refuse(...ofAccount[state])
    const { merchantId } = principal
    if (merchantId === null) throw refuse('UNAUTHORIZED_ACTION', 'Unauthorized Action')
    if (!scopes.every((scope) => principal.scopes.has(scope)))
      throw refuse('INSUFFICIENT_PERMISSIONS', 'Insufficient Permissions')
    return principal as Account
  }

  return {
    account,
    /** The same with the key of its tokens; an account without one is refused. */
    async withKey(authorization: string | undefined, scopes: readonly string[]): Promise<QrCaller> {
      const principal = await account(authorization, scopes)
      const key = await keyFor(principal, principal.merchantId)
      if (key === undefined) throw refuse('ACCOUNT_NOT_FOUND', 'Account Not Found')
      return { principal, key }
    },
  }
}

const credentials = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i

/** The user name; undefined where the header is none of HTTP Basic, or has a password. */
function userOf(authorization: string | undefined): string | undefined {
  const [, encoded = ''] = credentials.exec(authorization ?? '') ?? []
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  const at = text.indexOf(':')
  return at === text.length - 1 && at >= 0 ? text.slice(0, at) : undefined
}
