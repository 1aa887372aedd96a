import { crc16 } from './crc.ts'
import { charactersOf, readObjects, writeObjects, type DataObject } from './objects.ts'

/** A merchant's QR Ph code (EMVCo merchant-presented mode, QR Ph person to merchant). */
export interface MerchantCode {
  /** `static` is printed and paid again and again, `dynamic` is for one payment. */
  readonly initiation: 'static' | 'dynamic'
  /** The BIC of the bank that receives the money. */
  readonly acquirer: string
  /** At most 25 characters. */
  readonly merchantId: string
  readonly creditAccount?: string
  /** Tag 28-05. */
  readonly notifyFlags?: string
  /** The category of the merchant, four digits. */
  readonly mcc: string
  /** A plain decimal with at most two places, as in `98.00`. Null: the payer chooses. */
  readonly amount: string | null
  /** At most 25 characters. */
  readonly name: string
  /** At most 15 characters. */
  readonly city: string
  /** At most 25 characters. */
  readonly reference?: string
  /** At most 25 characters. */
  readonly terminal?: string
}

/** What a QR Ph text says, whoever it pays. */
export interface QrPhCode {
  /** `merchant` is tag 28; `person` is tag 27, which no merchant is paid by. */
  readonly pays: 'merchant' | 'person'
  readonly initiation: 'static' | 'dynamic'
  readonly acquirer: string
  readonly merchantId: string | null
  readonly creditAccount: string | null
  readonly notifyFlags: string | null
  readonly mcc: string
  /** ISO 4217, three digits. */
  readonly currency: string
  readonly amount: string | null
  readonly country: string
  readonly name: string
  readonly city: string
  readonly reference: string | null
  readonly terminal: string | null
  /** Everything in the text, in its order, templates unread. */
  readonly objects: readonly DataObject[]
}

/**
 * Why a text is refused, for programs: `empty`, `too_long`, `characters` that cannot be printed, `not_emvco`, of its data objects `truncated`, an
 * `id` or a `length` that is no number, a `duplicate` tag, a checksum that is `crc_missing`, `crc_not_last` or wrong (`crc`), a tag that is
 * `missing` or has a `value` of another form, and a sound code of another scheme (`not_qr_ph`).
 */
export const qrPhRefusals = [
  'empty',
  'too_long',
  'characters',
  'not_emvco',
  'truncated',
  'id',
  'length',
  'duplicate',
  'crc_missing',
  'crc_not_last',
  'crc',
  'missing',
  'value',
  'not_qr_ph',
] as const

/** Why a text is no QR Ph code. `at` is the tag, `28-01` for one inside a template; empty where it is the text as a whole. */
export interface QrPhRefusal {
  readonly reason: (typeof qrPhRefusals)[number]
  readonly at: string
  /** For a person. */
  readonly message: string
}

/** More than any code of EMVCo has. */
export const textCharactersMax = 512

const personToMerchant = 'ph.ppmi.p2m'
const personToPerson = 'com.p2pqrpay'
const peso = '608'
const country = 'PH'
const currencyForm = /^[0-9]{3}$/

/** The form of each primitive that we read, by its tag. */
const forms: Readonly<Record<string, RegExp>> = {
  '01': /^1[12]$/,
  '28-01': /^[A-Z0-9]{8}(?:[A-Z0-9]{3})?$/,
  '27-01': /^[A-Z0-9]{8}(?:[A-Z0-9]{3})?$/,
  '28-03': /^.{1,25}$/u,
  '52': /^[0-9]{4}$/,
  '53': currencyForm,
  // Thirteen characters at most, and never nothing. The point may stand without decimals.
  '54': /^(?=.{1,13}$)(?![0.]+$)[0-9]+(?:\.[0-9]{0,2})?$/,
  '58': /^[A-Z]{2}$/,
  '59': /^.{1,25}$/u,
  '60': /^.{1,15}$/u,
  '62-05': /^.{1,25}$/u,
  '62-07': /^.{1,25}$/u,
}

// Control characters, line ends among them, and halves of surrogate pairs.
const unprintable = /[\p{Cc}\p{Cs}\u2028\u2029]/u

/**
 * The text of a merchant's code, its CRC last. Names are composed (NFC) first, so that a letter with its mark is one character. Throws
 * RangeError for a field that the format does not take.
 */
export function writeQrPh(code: MerchantCode): string {
  const template = (...values: readonly (readonly [id: string, value: string | undefined])[]): string =>
    writeObjects(values.flatMap(([id, value]) => (value === undefined ? [] : [{ id, value }])))
  const additional = template(['05', code.reference?.normalize()], ['07', code.terminal?.normalize()])
  const body = template(
    ['00', '01'],
    ['01', code.initiation === 'static' ? '11' : '12'],
    [
      '28',
      template(
        ['00', personToMerchant],
        ['01', code.acquirer],
        ['03', code.merchantId.normalize()],
        ['04', code.creditAccount],
        ['05', code.notifyFlags],
      ),
    ],
    ['52', code.mcc],
    ['53', peso],
    ['54', code.amount ?? undefined],
    ['58', country],
    ['59', code.name.normalize()],
    ['60', code.city.normalize()],
    ['62', additional === '' ? undefined : additional],
  )
  const text = `${body}6304${crc16(`${body}6304`)}`
  const read = readQrPh(text)
  if ('refusal' in read) throw new RangeError(read.refusal.message)
  return text
}

/** Reads and checks a text. Never throws: what is no QR Ph code comes back with the reason, and the tag that is to blame. */
export function readQrPh(text: string): { readonly code: QrPhCode } | { readonly refusal: QrPhRefusal } {
  try {
    return { code: codeOf(text) }
  } catch (error) {
    if (error instanceof Unreadable) return { refusal: error.refusal }
    throw error
  }
}

class Unreadable extends Error {
  readonly refusal: QrPhRefusal

  constructor(reason: QrPhRefusal['reason'], message: string, at = '') {
    super(message)
    this.refusal = { reason, at, message }
  }
}

function codeOf(text: string): QrPhCode {
  if (text === '') throw new Unreadable('empty', 'The text is empty.')
  if (text.length > 2 * textCharactersMax || charactersOf(text).length > textCharactersMax)
    throw new Unreadable('too_long', `The text has more than ${textCharactersMax} characters.`)
  if (unprintable.test(text)) throw new Unreadable('characters', 'The text holds a character that cannot be printed.')
  if (!text.startsWith('000201'))
    throw new Unreadable('not_emvco', 'The text does not begin as an EMVCo code does, with 000201.', '00')
  const objects = objectsOf(text, '')
  checkCrc(text, objects)
  const at = fieldsOf(objects, '')
  const account = accountOf(at)
  const additional = at.has('62') ? fieldsOf(objectsOf(at.get('62') ?? '', '62'), '62') : undefined
  return {
    pays: account.pays,
    initiation: at.get('01') === '12' ? 'dynamic' : 'static',
    acquirer: required(account.fields, '01', account.tag),
    merchantId: account.pays === 'merchant' ? required(account.fields, '03', account.tag) : null,
    creditAccount: account.fields.get('04') ?? null,
    notifyFlags: account.pays === 'merchant' ? (account.fields.get('05') ?? null) : null,
    mcc: required(at, '52'),
    currency: required(at, '53'),
    amount: at.get('54') ?? null,
    country: required(at, '58'),
    name: required(at, '59'),
    city: required(at, '60'),
    reference: additional?.get('05') ?? null,
    terminal: additional?.get('07') ?? null,
    objects,
  }
}

const objectMessages = {
  truncated: 'is cut off',
  id: 'is no id of two digits',
  length: 'has a length that is no number from 01 to 99',
  duplicate: 'comes twice',
} as const

function objectsOf(text: string, inside: string): readonly DataObject[] {
  const read = readObjects(text)
  if ('objects' in read) return read.objects
  const { reason, at } = read.refusal
  const tag = tagOf(at, inside)
  throw new Unreadable(reason, `Tag ${tag} ${objectMessages[reason]}.`, tag)
}

const tagOf = (id: string, inside: string): string => (inside === '' ? id : `${inside}-${id}`)

/** The CRC is the last object, and over everything before its own digits. */
function checkCrc(text: string, objects: readonly DataObject[]): void {
  const last = objects.at(-1)
  if (!objects.some(({ id }) => id === '63')) throw new Unreadable('crc_missing', 'The CRC, tag 63, is missing.', '63')
  if (last?.id !== '63') throw new Unreadable('crc_not_last', 'Something follows the CRC, tag 63.', '63')
  if (last.value.length !== 4 || crc16(text.slice(0, -4)) !== last.value)
    throw new Unreadable('crc', 'The CRC, tag 63, is not that of the text: it was changed or misread.', '63')
}

/** Values by id, those that have a form checked. */
function fieldsOf(objects: readonly DataObject[], inside: string): ReadonlyMap<string, string> {
  for (const { id, value } of objects) {
    const tag = tagOf(id, inside)
    const form = forms[tag]
    if (form !== undefined && !form.test(value)) throw new Unreadable('value', `Tag ${tag} has the wrong form.`, tag)
  }
  return new Map(objects.map(({ id, value }) => [id, value]))
}

function required(fields: ReadonlyMap<string, string>, id: string, inside = ''): string {
  const value = fields.get(id)
  const tag = tagOf(id, inside)
  if (value === undefined) throw new Unreadable('missing', `Tag ${tag} is missing.`, tag)
  return value
}

function accountOf(at: ReadonlyMap<string, string>) {
  const known = [
    ['28', 'merchant', personToMerchant],
    ['27', 'person', personToPerson],
  ] as const
  for (const [tag, pays, name] of known) {
    const value = at.get(tag)
    if (value === undefined) continue
    const fields = fieldsOf(objectsOf(value, tag), tag)
    if (fields.get('00') === name) return { tag, pays, fields }
  }
  throw new Unreadable(
    'not_qr_ph',
    `The code has no account of QR Ph: neither ${personToMerchant} nor ${personToPerson}.`,
  )
}
