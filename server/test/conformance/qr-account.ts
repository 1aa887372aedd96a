import assert from 'node:assert/strict'
import { qrErrors, qrSealedCodes, qrWireCodes, type QrErrorCode } from '@kaha/contract'
import { openToken, sealToken, tokenKey } from '@kaha/qrph/token'
import { isUuid } from '../../src/kernel/ids.ts'
import type { Platform } from '../platform.ts'
import { call, type Answer, type Call } from './call.ts'

export const qrPath = '/qr/v1/pay/qr'

/** An answer of the QR service, and what its Token holds where it is one. */
export interface QrAnswer extends Answer {
  readonly plain: any
}

export const basic = (user: string, password = ''): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

let referencesMade = 0
export const newReference = (): string => `ORDER-${(referencesMade += 1)}`

interface On {
  readonly url: string
  readonly merchant: Pick<Platform['merchant'], 'secret_key' | 'encryption_key'>
  readonly branch: Pick<Platform['branch'], 'activation_code'>
}

/** The QR service over plain HTTP, for the first merchant unless told. */
export function qrAccount(
  p: On,
  {
    key = p.merchant.secret_key,
    encryptionKey = p.merchant.encryption_key,
    activationCode = p.branch.activation_code,
  }: { key?: string; encryptionKey?: string; activationCode?: string } = {},
) {
  const ready = tokenKey(encryptionKey)

  const ask = async (request: Call): Promise<QrAnswer> => {
    const headers = { authorization: basic(key), ...request.headers }
    const answer = await call(p.url, { ...request, headers })
    const token = answer.json?.Token as string | undefined
    return { ...answer, plain: token === undefined ? undefined : await openToken(await ready, token) }
  }

  const seal = async (value: object): Promise<{ Token: string }> => ({ Token: await sealToken(await ready, value) })

  const request = (fields: Record<string, unknown> = {}) => ({
    activationCode,
    currency: 'PHP',
    amount: '98.00',
    merchantReferenceNumber: newReference(),
    ...fields,
  })

  const create = async (fields: Record<string, unknown> = {}): Promise<QrAnswer> =>
    ask({ method: 'POST', path: qrPath, body: await seal(request(fields)) })

  return {
    ask,
    seal,
    request,
    create,
    /** A code that was made: what the answer's Token holds. */
    async made(
      fields: Record<string, unknown> = {},
    ): Promise<{ id: string; qrBody: string; qrText: string; expiresAt: string }> {
      const answer = await create(fields)
      assert.equal(answer.status, 200, `${answer.text} ${JSON.stringify(answer.plain)}`)
      return answer.plain
    },
    get: (id: string) => ask({ path: `${qrPath}/${id}` }),
    find: (reference: string) => ask({ path: `${qrPath}?merchantReferenceNumber=${encodeURIComponent(reference)}` }),
  }
}

/** A refusal of the QR service with this code, in its envelope, as a Token or plain as its code has it. */
export function assertQrRefused(answer: QrAnswer, code: QrErrorCode): void {
  const isSealed = qrSealedCodes.includes(code)
  const body = isSealed ? answer.plain : answer.json
  assert.equal(`${answer.status} ${body?.code}`, `${qrErrors[code]} ${qrWireCodes[code]}`, answer.text)
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
  if (isSealed) assert.deepEqual(Object.keys(answer.json), ['Token'])
  assert.equal(answer.headers['www-authenticate']?.startsWith('Basic realm='), answer.status === 401 || undefined)
  assert.deepEqual(Object.keys(body), ['code', 'error', 'referenceNumber'])
  assert.ok(body.error.length > 3 && body.error.length < 300)
  assert.ok(isUuid(body.referenceNumber))
}

/** What a payer's bank does with the text of a code. */
export const bankOf = (p: Pick<Platform, 'url' | 'seed'>) => (body: Record<string, unknown>) =>
  call(p.url, { method: 'POST', path: '/sandbox/bank/pay', key: p.seed.partner.secret_key, body })
