import type { CreatedQrCode, QrCode } from '@kaha/contract'
import { qrPng } from '@kaha/qrph/image'
import type { Static } from 'typebox'
import { minorToDecimal } from '../../kernel/money.ts'
import type { Code } from './service.ts'

export const presentCreatedCode = ({ id, text, expiresAt }: Code): Static<typeof CreatedQrCode> => ({
  id,
  qrBody: qrPng(text).toString('base64'),
  qrText: text,
  expiresAt: expiresAt.toISOString(),
})

type Shown = Static<typeof QrCode>

export const presentCode = (code: Code): Shown => ({
  id: code.id,
  status: code.state,
  amount: minorToDecimal(code.amount, code.currency),
  currency: code.currency,
  merchantReferenceNumber: code.reference,
  createdAt: code.createdAt.toISOString(),
  expiresAt: code.expiresAt.toISOString(),
  ...(code.state === 'PAID' ? { paidAt: code.stateAt.toISOString() } : {}),
  ...(code.declineReason === null ? {} : { declineReason: code.declineReason as NonNullable<Shown['declineReason']> }),
})
