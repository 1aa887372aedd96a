import { CompactEncrypt } from 'jose'
import type { TokenKey } from '../src/token.ts'

/** A token of any text, also of one that no JSON library writes. */
export const sealText = (key: TokenKey, text: string): Promise<string> =>
  new CompactEncrypt(Buffer.from(text, 'utf8')).setProtectedHeader({ alg: 'A256KW', enc: 'A256CBC-HS512' }).encrypt(key)
