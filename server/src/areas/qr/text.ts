import { readQrPh, writeQrPh, type QrPhCode, type QrPhRefusal } from '@kaha/qrph'
import { minorToDecimal } from '../../kernel/money.ts'

/** What every code of this installation says of the bank that receives the money. */
export interface QrBank {
  readonly bic: string
  readonly notifyFlags: string
}

export interface TextOf {
  readonly id: string
  readonly merchantId: string
  readonly merchantName: string
  readonly branchReference: string
  readonly amount: bigint
  readonly currency: string
}

/** Miscellaneous retail: what a merchant sells is kept nowhere. */
const category = '5999'
const city = 'MANILA'
const nameCharactersMax = 25
const labelCharacters = 25
const labelForm = new RegExp(`^[0-9A-Z]{${labelCharacters}}$`)

/** The text of a code for one payment of an exact amount. */
export function codeText({ bic, notifyFlags }: QrBank, code: TextOf): string {
  return writeQrPh({
    initiation: 'dynamic',
    acquirer: bic,
    merchantId: labelOf(code.merchantId),
    notifyFlags,
    mcc: category,
    amount: minorToDecimal(code.amount, code.currency),
    name: fitted(code.merchantName),
    city,
    reference: labelOf(code.id),
    terminal: fitted(code.branchReference),
  })
}

/** As much of a name as the format takes. */
function fitted(name: string): string {
  const printable = name.normalize().replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, ' ')
  return Array.from(printable).slice(0, nameCharactersMax).join('').trim() || '-'
}

/** A UUID in 25 digits and capital letters: as many as a field of the format takes. */
function labelOf(id: string): string {
  return BigInt(`0x${id.replaceAll('-', '')}`)
    .toString(36)
    .toUpperCase()
    .padStart(labelCharacters, '0')
}

/** The UUID of a label, or undefined. */
function idOf(label: string | null): string | undefined {
  if (label === null || !labelForm.test(label)) return undefined
  const number = Array.from(label).reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n)
  const hex = number.toString(16).padStart(32, '0')
  return hex.length > 32 ? undefined : hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** What a text is to this installation. */
export type ReadText =
  | { readonly is: 'malformed'; readonly refusal: QrPhRefusal }
  /** Of another bank, or no code of a merchant. */
  | { readonly is: 'foreign'; readonly code: QrPhCode }
  /** It has our bank, and is no code that we make. */
  | { readonly is: 'unknown'; readonly code: QrPhCode }
  | { readonly is: 'ours'; readonly code: QrPhCode; readonly id: string; readonly merchantId: string }

export function readText({ bic }: QrBank, text: string): ReadText {
  const read = readQrPh(text)
  if ('refusal' in read) return { is: 'malformed', refusal: read.refusal }
  const { code } = read
  if (code.pays !== 'merchant' || code.acquirer !== bic) return { is: 'foreign', code }
  const [id, merchantId] = [idOf(code.reference), idOf(code.merchantId)]
  return id === undefined || merchantId === undefined ? { is: 'unknown', code } : { is: 'ours', code, id, merchantId }
}
