import { production, roomOf, unless, type Exceptions, type House } from './architecture.ts'

/** Rooms that handle amounts. In them an amount is a bigint, a decimal text, or an integer of JSON that was checked on its way in. */
const moneyRooms = ['payments', 'areas/', 'sandbox', 'commands', 'qrph']
const isOfMoney = (path: string): boolean =>
  path === 'server/src/kernel/money.ts' || moneyRooms.some((room) => roomOf(path)?.startsWith(room))

/**
 * All that makes a fraction, or a number with 53 bits, out of something exact. A bigint has no other way out: the language refuses to mix it
 * with numbers.
 */
const inexact: readonly (readonly [what: string, found: RegExp])[] = [
  ['calls Number', /(?<![\w.])Number\s*(?:\(|\)|,)/],
  ['reads a number from a text', /\bparse(?:Float|Int)\b/],
  ['writes a number with decimals', /\.\s*to(?:Fixed|Precision|Exponential)\b/],
  ['rounds', /\bMath\s*\.\s*(?:round|floor|ceil|trunc|fround)\b/],
  // A regular expression begins with a slash too, but behind no value.
  ['divides', /(?<=[\w)\]]\s*)(?<!\b(?:return|typeof|case|in|of|await|yield|void)\s*)\/(?![/*])/],
  ['counts with a fraction', /(?<![\w.$])\d[\d_]*\.\d/],
  ['makes a number by a sign', /(?:[=(,?:&|]|=>|\breturn)\s*\+\s*[a-z_$]/i],
]

/** Lines that compute what may not be exact, in the rooms that handle amounts. An exception names its line: a new one beside it is found. */
export function inexactMoney({ code }: House, exceptions: Exceptions): string[] {
  const found = production(code)
    .filter(([path]) => isOfMoney(path))
    .flatMap(([path, scanned]) => {
      const written = code.get(path)?.split('\n') ?? []
      return scanned.code.split('\n').flatMap((line, index) => {
        const what = inexact.filter(([, form]) => form.test(line)).map(([says]) => says)
        const said = `${what.join(' and ')}: amounts are exact, see kernel/money.ts`
        return what.length === 0 ? [] : [[`${path}: ${written[index]?.trim()}`, said] as const]
      })
    })
  return unless(exceptions, found)
}

/** Lines of these rooms that compute, and not with amounts; or with amounts, and exactly. */
export const exactAllTheSame: Exceptions = {
  'server/src/kernel/money.ts: const number = Number(minor)': 'the one way out: it refuses what a number cannot hold',
  'server/src/areas/terminals/order.ts: return (product * 2n + scale) / (scale * 2n)':
    'the one place that rounds: a line of products, half up, in bigints',
  'qrph/src/image.ts: const rowBytes = 1 + Math.ceil(side / 8)': 'bytes of a picture',
  'qrph/src/objects.ts: const end = at + 4 + Number(length)': 'a place in a text',
  'qrph/src/read-image.ts: maxResolutionInMP: imagePixelsMax / 1e6,': 'pixels',
  'qrph/src/read-image.ts: data[channel] = Math.round(((data[channel] ?? 0) * alpha + white * (white - alpha)) / white)':
    'colours',
  "server/src/areas/ecommerce/checkout/form.ts: exp_month: month === '' ? 0 : Number(month),": 'a month',
  "server/src/areas/ecommerce/checkout/form.ts: exp_year: year.length === 2 ? 2000 + Number(year) : year === '' ? 0 : Number(year),":
    'a year',
  'server/src/areas/ecommerce/checkout/routes-codes.ts: if (intent.attemptCount === Number(form.nonce)) await ecommerce.giveUpCode(intent)':
    'a count of attempts',
  'server/src/areas/ecommerce/checkout/routes-intents.ts: return submit(request, reply, intent, form, Number(form.nonce), (problem) =>':
    'a count of attempts',
  'server/src/areas/qr/routes-webhooks.ts: id: Number(row.number),': 'the number of a webhook',
  'server/src/areas/qr/text.ts: const number = Array.from(label).reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n)':
    'one digit of a label',
  'server/src/areas/reporting/csv.ts: return [type, q === undefined ? 1 : Number(q.slice(2))]': 'a weight of Accept',
  'server/src/areas/terminals/gateway/liveness.ts: const turnMs = pingMs / turns': 'milliseconds',
  'server/src/payments/card.ts: const digit = Number(number[number.length - 1 - place])': 'a digit of a card',
  'server/src/payments/inquiry.ts: const inquiryWaitMs = (ageMs: number): number => Math.min(inquiryWaitMsMax, Math.max(firstInquiryMs, ageMs / 20))':
    'milliseconds',
  "server/src/sandbox/inbox.ts: const [id, timestamp] = [header('webhook-id'), Number(header('webhook-timestamp'))]":
    'seconds',
  'server/src/sandbox/inbox.ts: const fresh = Math.abs(wall() / 1000 - timestamp) <= toleranceSeconds': 'seconds',
  'server/src/sandbox/routes.ts: body: { now: clock.now().toISOString(), offset_seconds: clock.offsetMs / 1000 },':
    'seconds',
}

const words = 'amount|price|gross|refunds|refunded|received|authorized|total|remaining|fee|tax|discount|net'
const money = `(?:\\w+_)?(?:${words})(?:_\\w+)?`
const inexactType = '(?:real|float\\d?|double\\s+precision|numeric|decimal|money)'
const columnOfMoney = new RegExp(`\\b${money}\\)?\\s*(?:::\\s*|\\s)${inexactType}\\b`, 'i')

/** Columns and casts of amounts that are no bigint, in migrations and in statements. */
export function inexactColumns({ code, sql }: House): string[] {
  const texts = [
    ...[...sql].map(([path, text]) => [path, text.replaceAll(/--.*/g, '')] as const),
    ...production(code).flatMap(([path, { literals }]) => literals.map(({ text }) => [path, text] as const)),
  ]
  return texts.flatMap(([path, text]) => {
    const found = columnOfMoney.exec(text)?.[0]
    return found === undefined ? [] : [`${path} has ${found.replaceAll(/\s+/g, ' ')}: amounts are bigint`]
  })
}
