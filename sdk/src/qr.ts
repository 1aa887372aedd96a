import {
  createQrCode,
  findQrCode,
  pingQr,
  retrieveQrCode,
  type CreatedQrPayment,
  type CreateQrPayment,
  type QrPayment,
} from '@kaha/contract'
import { openToken, sealToken, tokenKey, type TokenKey } from '@kaha/qrph/token'
import { jsonOf, mustBeKey, mustBeObject, mustBeText } from './arguments.ts'
import { createSend, type CallOptions, type ConnectionOptions } from './request.ts'

/** What a client of the QR service is made with. */
export interface KahaQrOptions extends Omit<ConnectionOptions, 'baseUrl'> {
  /** Where the QR service answers, as in `https://pay.example.com/qr`. */
  readonly qrUrl: string
  /** A secret key of a merchant or a branch, exactly as issued. It belongs on a server, never in a browser. */
  readonly secretKey: string
  /** The encryption key of the account, exactly as issued: what goes there and what comes back is encrypted with it. */
  readonly encryptionKey: string
}

/** The QR service, for one account. What is said here is plain; on the wire it is encrypted. */
export interface KahaQr {
  /**
   * Makes a code for one payment. Never sent twice by itself. After a KahaConnectionError, `UNEXPECTED_ANSWER` or any 5xx nobody knows what
   * became of it: look for its merchantReferenceNumber, which makes one code and no second.
   */
  create(code: CreateQrPayment, options?: CallOptions): Promise<CreatedQrPayment>
  retrieve(id: string, options?: CallOptions): Promise<QrPayment>
  findByReference(merchantReferenceNumber: string, options?: CallOptions): Promise<QrPayment>
  ping(options?: CallOptions): Promise<'Pong!'>
}

/** A client of the QR service. It throws KahaError, whose `code` has the eight digits of area E, and KahaConnectionError. */
export function createKahaQr(account: KahaQrOptions): KahaQr {
  const { qrUrl, secretKey, encryptionKey, ...connection } = mustBeObject('options', account)
  mustBeKey('secretKey', secretKey)
  mustBeText('encryptionKey', encryptionKey)
  let ready: Promise<TokenKey> | undefined
  const key = (): Promise<TokenKey> => (ready ??= tokenKey(encryptionKey))
  const opened = async (body: unknown): Promise<unknown> => {
    const token = typeof body === 'object' && body !== null && 'Token' in body ? body.Token : undefined
    return typeof token === 'string' ? openToken(await key(), token) : body
  }
  const send = createSend({ ...connection, baseUrl: qrUrl, basicUser: secretKey, prefix: '/qr', opened })
  // An answer is opened on its way: its type is that of what it holds.
  const plain = async <Inside>(answer: Promise<unknown>): Promise<Inside> => (await answer) as Inside

  return {
    create: async (code, options) => {
      // What is sent is its Token alone, which is a text whatever is inside.
      jsonOf(mustBeObject('code', code))
      return plain(send(createQrCode, { body: { Token: await sealToken(await key(), code) } }, options))
    },
    retrieve: (id, options) => plain(send(retrieveQrCode, { params: { id } }, options)),
    findByReference: (merchantReferenceNumber, options) =>
      plain(send(findQrCode, { query: { merchantReferenceNumber } }, options)),
    ping: (options) => send(pingQr, {}, options),
  }
}
