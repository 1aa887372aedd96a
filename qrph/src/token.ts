import { createHash, webcrypto } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'

// Both lists are needed: without them a token could choose another way of being read.
const algorithms = { alg: 'A256KW', enc: 'A256CBC-HS512' } as const
const allowed = {
  keyManagementAlgorithms: [algorithms.alg],
  contentEncryptionAlgorithms: [algorithms.enc],
}

const keyBytes = 32
// How long a token may be that is looked at.
const tokenCharactersMax = 65_536

/** A key that tokens are made and opened with, made ready once. */
export type TokenKey = webcrypto.CryptoKey

/** A token that is not to be believed. It says nothing of the cause, whichever it is. */
export class TokenError extends Error {
  override readonly name = 'TokenError'

  constructor() {
    super('The token cannot be opened.')
  }
}

/** The key of a key string: its UTF-8 bytes where they are 32, else their SHA-256. */
export function tokenKey(text: string): Promise<TokenKey> {
  const bytes = Buffer.from(text, 'utf8')
  const raw = bytes.length === keyBytes ? bytes : createHash('sha256').update(bytes).digest()
  return webcrypto.subtle.importKey('raw', raw, 'AES-KW', false, ['wrapKey', 'unwrapKey'])
}

/** A compact JWE (RFC 7516) of the value as JSON, with A256KW and A256CBC-HS512. */
export function sealToken(key: TokenKey, value: object): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(value), 'utf8'))
    .setProtectedHeader({ ...algorithms })
    .encrypt(key)
}

/** What a token holds: an object, and the JSON that it was read from. */
export interface OpenedToken {
  readonly value: Record<string, unknown>
  readonly text: string
}

/** The object that a token holds. Throws TokenError for everything that is none of ours, by one way for every cause. */
export const openToken = async (key: TokenKey, token: string): Promise<OpenedToken['value']> =>
  (await openTokenText(key, token)).value

/** The same with its text, for whoever asks more of it than its values. */
export async function openTokenText(key: TokenKey, token: string): Promise<OpenedToken> {
  const opened = await attempt(key, token).catch(() => undefined)
  if (opened === undefined) throw new TokenError()
  return opened
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

async function attempt(key: TokenKey, token: string): Promise<OpenedToken> {
  if (token.length > tokenCharactersMax || !isCanonical(token)) throw new TokenError()
  const { plaintext, protectedHeader } = await compactDecrypt(token, key, { ...allowed, maxDecompressedLength: 1 })
  if ('zip' in protectedHeader) throw new TokenError()
  const text = utf8.decode(plaintext)
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TokenError()
  return { value: value as Record<string, unknown>, text }
}

/** Five parts in the one spelling that base64url has for their bytes: a token that was altered anywhere is another token. */
function isCanonical(token: string): boolean {
  const parts = token.split('.', 6)
  return parts.length === 5 && parts.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}
