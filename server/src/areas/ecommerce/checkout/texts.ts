import { html, type HtmlPart } from '../../../kernel/html.ts'
import type { Language } from '../../../kernel/language.ts'

/** How a payment, or the link to it, can stand for the payer. */
export const resultKinds = [
  'succeeded',
  'refunded',
  'declined',
  'failed',
  'processing',
  'challenge',
  'expired',
  'cancelled',
  'used_up',
  'fully_reserved',
  'closed',
] as const

export type ResultKind = (typeof resultKinds)[number]

const en = {
  language: 'English',
  payTitle: 'Pay {amount} to {merchant}',
  payHeading: 'Pay {merchant}',
  problemTitle: 'Error: {title}',
  declinedTitle: 'Declined: {title}',
  backTo: 'Back to {merchant}',
  orderReference: 'Order {reference}',
  itemsHeading: 'What you are paying for',
  items: '{count} items',
  total: 'Total',
  openUntil: 'You can pay until {time}, Philippine time.',
  cardHeading: 'Pay by card',
  codeWay: 'Pay by QR Ph',
  codeWayHint: 'Scan a code with the app of your bank or e‑wallet.',
  codeButton: 'Show the QR Ph code',
  codeHeading: 'Pay by QR Ph',
  codeSteps: 'Scan this code with the app of your bank or e‑wallet.',
  codeFollows: 'This page follows the payment by itself.',
  codePicture: 'QR Ph code that pays {amount} to {merchant}',
  codeUntil: 'Pay by {time}, Philippine time.',
  codeSave: 'Save the code as a picture',
  codeSaveHint: 'Is your app on this phone? Save the picture, and open it in the app.',
  codeText: 'The code as text',
  codeTextHint: 'For an app that takes the text of a code',
  copy: 'Copy the text',
  copied: 'Copied',
  simulatedBank: 'Pay it in the Simulated Bank',
  otherWay: 'Pay another way',
  otherWayHint: 'The code stops working then. If you have paid it already, wait here.',
  codeExpiredHeading: 'The time of your QR Ph code is over',
  codeExpired:
    'We have heard of no payment with it, and it does not work any more. If your bank took the money, do not pay again: ask the merchant. If not, choose how you want to pay.',
  freeAgainHeading: 'You can try again now',
  freeAgain: 'Another payment with this link was under way just then, so this one did not go on.',
  untried:
    'Another payment was tried here after your form was opened. What you have just sent was not tried and not charged.',
  acceptedCards: 'Accepted: Visa, Mastercard, American Express, Discover, JCB and UnionPay.',
  number: 'Card number',
  expiry: 'Expiry',
  expiryHint: 'MM / YY',
  cvc: 'CVC',
  cvcHint: '3 or 4 digits',
  name: 'Name on card',
  nameHint: 'optional',
  payButton: 'Pay {amount}',
  paying: 'Paying…',
  sending: 'One moment…',
  noAnswer: 'There is no answer yet. Your line may be slow. You can try again.',
  noAnswerOfCard: 'There is no answer yet. Your line may be slow. You can send this form again: it pays once at most.',
  assurance: 'Your card number and CVC are never stored.',
  problemHeading: 'Please check your card details',
  declinedHeading: 'Your payment was not accepted',
  paidBefore: 'You have already paid here. Paying again is another payment.',
  payingHere: 'A payment of yours is still under way here. Paying now is another payment.',
  paidBeforeLink: 'See your payment',
  numberMissing: 'Enter your card number.',
  numberWrong: 'This card number is not right. Check the digits.',
  expiryMissing: 'Enter the expiry date.',
  expiryWrong: 'Enter month and year, like 04 / 31.',
  expiryPast: 'This card has expired. Use another one.',
  cvcWrong: 'Enter the 3 or 4 digits of the CVC.',
  cvcThree: 'Enter the 3 digits on the back of the card.',
  cvcFour: 'Enter the 4 digits on the front of the card.',
  sandboxRibbon: 'Sandbox: no real money',
  testCards: 'Test cards',
  testCardApproved: 'approved',
  testCardDeclined: 'declined',
  testCardWithoutFunds: 'not enough funds',
  testCardChallenge: 'the bank asks first',
  testCardsHint: 'Any expiry date in the future, any CVC.',
  result: {
    succeeded: 'Payment complete',
    refunded: 'Payment refunded',
    declined: 'Payment declined',
    failed: 'Payment not completed',
    processing: 'Confirming your payment',
    challenge: 'Confirm with your bank',
    expired: 'This payment link has expired',
    cancelled: 'This payment link was cancelled',
    used_up: 'This payment link has been used',
    fully_reserved: 'Someone is paying with this link right now',
    closed: 'No payments right now',
  } satisfies Record<ResultKind, string>,
  /** The same where there is no link. */
  resultWithoutLink: {
    expired: 'The time for this payment is over',
    cancelled: 'This payment was cancelled',
  } satisfies Partial<Record<ResultKind, string>>,
  amountTo: '{amount} to {merchant}',
  amountFrom: '{amount} from {merchant}',
  processing: 'This can take a moment. Please do not pay again: this page follows the payment by itself.',
  processingStopped: 'This can take a moment. Please do not pay again.',
  challenge:
    'Your bank wants to know that it is you. You have not been charged yet. If nothing is confirmed within 15 minutes, the payment is declined.',
  goOn: "Continue on your bank's page",
  tooManyTries:
    'This payment was tried too many times. You have not been charged. Please ask the merchant for a new link.',
  tooManyTriesAfterCode:
    'This payment was tried too many times. We have heard of no payment by QR Ph. If your bank took the money, do not pay again: ask the merchant. If not, please ask for a new link.',
  startAgain: 'This payment was not completed in time. You have not been charged for it. You can try again.',
  startAgainAfterCode:
    'This payment was not completed in time. We have heard of no payment by QR Ph. If your bank took the money, do not pay again: ask the merchant. If not, you can try again.',
  refunded: 'The whole amount was given back to you. It may take your bank some days to show it.',
  refundedInPart: 'A part of the amount was given back to you.',
  receipt: 'Receipt',
  receiptPaidTo: 'Paid to',
  receiptAmount: 'Amount',
  receiptOrder: 'Order',
  receiptFor: 'For',
  receiptRefunded: 'Refunded',
  receiptDate: 'Date',
  receiptDateZone: '{time}, Philippine time',
  receiptCard: 'Card',
  receiptMethod: 'Paid by',
  receiptCardText: '{scheme} ending in {lastFour}',
  receiptApprovalCode: 'Approval code',
  receiptBankReference: 'Bank reference',
  receiptInvoiceNumber: 'Invoice number',
  receiptTransactionId: 'Transaction ID',
  returnTo: 'Return to {merchant}',
  redirectNotice: 'Taking you back to {merchant} in {seconds} seconds.',
  stay: 'Stay on this page',
  looksAgain: 'This page looks again every {seconds} seconds.',
  stopLooking: 'Stop reloading it',
  lookAgain: 'Look again',
  retry: 'Try again',
  status: 'Error {status}',
  openAgain: 'Open the payment page',
  footer: 'Payments by {kaha}',
}

/** Every word of the payer's pages in one language; `{…}` marks what a page fills in. */
export type Texts = typeof en

const fil: Texts = {
  language: 'Filipino',
  payTitle: 'Magbayad ng {amount} sa {merchant}',
  payHeading: 'Magbayad sa {merchant}',
  problemTitle: 'May mali: {title}',
  declinedTitle: 'Hindi tinanggap: {title}',
  backTo: 'Bumalik sa {merchant}',
  orderReference: 'Order {reference}',
  itemsHeading: 'Ang binabayaran mo',
  items: '{count} item',
  total: 'Kabuuan',
  openUntil: 'Maaari kang magbayad hanggang {time}, oras sa Pilipinas.',
  cardHeading: 'Magbayad gamit ang card',
  codeWay: 'Magbayad gamit ang QR Ph',
  codeWayHint: 'I-scan ang code gamit ang app ng iyong bangko o e‑wallet.',
  codeButton: 'Ipakita ang QR Ph code',
  codeHeading: 'Magbayad gamit ang QR Ph',
  codeSteps: 'I-scan ang code na ito gamit ang app ng iyong bangko o e‑wallet.',
  codeFollows: 'Kusang sinusundan ng pahinang ito ang bayad.',
  codePicture: 'QR Ph code na magbabayad ng {amount} sa {merchant}',
  codeUntil: 'Magbayad hanggang {time}, oras sa Pilipinas.',
  codeSave: 'I-save ang code bilang larawan',
  codeSaveHint: 'Nasa teleponong ito ba ang app mo? I-save ang larawan, at buksan ito sa app.',
  codeText: 'Ang code bilang teksto',
  codeTextHint: 'Para sa app na tumatanggap ng teksto ng code',
  copy: 'Kopyahin ang teksto',
  copied: 'Nakopya na',
  simulatedBank: 'Bayaran ito sa Kunwaring Bangko',
  otherWay: 'Magbayad sa ibang paraan',
  otherWayHint: 'Hindi na gagana ang code kapag pinili mo ito. Kung nabayaran mo na ito, maghintay lang dito.',
  codeExpiredHeading: 'Tapos na ang oras ng iyong QR Ph code',
  codeExpired:
    'Wala kaming natanggap na bayad gamit ito, at hindi na ito gagana. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant. Kung hindi, piliin kung paano mo gustong magbayad.',
  freeAgainHeading: 'Puwede ka nang sumubok muli',
  freeAgain: 'May isa pang bayad na ginagawa noon gamit ang link na ito, kaya hindi natuloy ang bayad na ito.',
  untried:
    'May ibang bayad na sinubukan dito matapos mabuksan ang form mo. Ang kakapadala mo lang ay hindi sinubukan at hindi siningil.',
  acceptedCards: 'Tinatanggap: Visa, Mastercard, American Express, Discover, JCB at UnionPay.',
  number: 'Numero ng card',
  expiry: 'Expiry',
  expiryHint: 'MM / YY',
  cvc: 'CVC',
  cvcHint: '3–4 numero',
  name: 'Pangalan sa card',
  nameHint: 'opsyonal',
  payButton: 'Magbayad ng {amount}',
  paying: 'Nagbabayad…',
  sending: 'Sandali lang…',
  noAnswer: 'Wala pang sagot. Baka mabagal ang iyong koneksiyon. Puwede kang sumubok muli.',
  noAnswerOfCard:
    'Wala pang sagot. Baka mabagal ang iyong koneksiyon. Puwede mong ipadala ulit ang form na ito: hindi ito magbabayad nang higit sa isang beses.',
  assurance: 'Hindi kailanman iniimbak ang numero at CVC ng iyong card.',
  problemHeading: 'Pakisuri ang mga detalye ng iyong card',
  declinedHeading: 'Hindi tinanggap ang iyong bayad',
  paidBefore: 'Nakapagbayad ka na rito. Kung magbabayad ka ulit, panibagong bayad iyon.',
  payingHere: 'May bayad ka pang hindi natatapos dito. Kung magbabayad ka ngayon, panibagong bayad iyon.',
  paidBeforeLink: 'Tingnan ang iyong bayad',
  numberMissing: 'Ilagay ang numero ng iyong card.',
  numberWrong: 'Mali ang numero ng card. Pakisuri ang mga numero.',
  expiryMissing: 'Ilagay ang petsa ng expiry.',
  expiryWrong: 'Ilagay ang buwan at taon, gaya ng 04 / 31.',
  expiryPast: 'Expired na ang card na ito. Gumamit ng iba.',
  cvcWrong: 'Ilagay ang 3 o 4 na numero ng CVC.',
  cvcThree: 'Ilagay ang 3 numero sa likod ng card.',
  cvcFour: 'Ilagay ang 4 na numero sa harap ng card.',
  sandboxRibbon: 'Sandbox: hindi totoong pera',
  testCards: 'Mga pansubok na card',
  testCardApproved: 'tinatanggap',
  testCardDeclined: 'tinatanggihan',
  testCardWithoutFunds: 'kulang ang pondo',
  testCardChallenge: 'nagtatanong muna ang bangko',
  testCardsHint: 'Kahit anong expiry na hindi pa lumilipas, kahit anong CVC.',
  result: {
    succeeded: 'Nabayaran na',
    refunded: 'Naibalik na ang bayad',
    declined: 'Hindi tinanggap ang bayad',
    failed: 'Hindi natuloy ang bayad',
    processing: 'Kinukumpirma ang iyong bayad',
    challenge: 'Kumpirmahin sa iyong bangko',
    expired: 'Nag-expire na ang payment link na ito',
    cancelled: 'Kinansela ang payment link na ito',
    used_up: 'Nagamit na ang payment link na ito',
    fully_reserved: 'May nagbabayad ngayon gamit ang link na ito',
    closed: 'Walang bayaran sa ngayon',
  },
  resultWithoutLink: {
    expired: 'Tapos na ang oras para sa bayad na ito',
    cancelled: 'Kinansela ang bayad na ito',
  },
  amountTo: '{amount} sa {merchant}',
  amountFrom: '{amount} mula sa {merchant}',
  processing:
    'Maaaring tumagal ito nang sandali. Huwag munang magbayad ulit: kusang sinusundan ng pahinang ito ang bayad.',
  processingStopped: 'Maaaring tumagal ito nang sandali. Huwag munang magbayad ulit.',
  challenge:
    'Gustong matiyak ng iyong bangko na ikaw nga ito. Hindi ka pa sinisingil. Kung walang makumpirma sa loob ng 15 minuto, hindi tatanggapin ang bayad.',
  goOn: 'Magpatuloy sa pahina ng iyong bangko',
  tooManyTries:
    'Napakaraming beses nang sinubukan ang bayad na ito. Hindi ka siningil. Humingi ng bagong link sa merchant.',
  tooManyTriesAfterCode:
    'Napakaraming beses nang sinubukan ang bayad na ito. Wala kaming natanggap na bayad gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant. Kung hindi, humingi ng bagong link.',
  startAgain: 'Hindi natapos sa oras ang bayad na ito. Hindi ka siningil para rito. Puwede kang sumubok muli.',
  startAgainAfterCode:
    'Hindi natapos sa oras ang bayad na ito. Wala kaming natanggap na bayad gamit ang QR Ph. Kung kinuha na ng iyong bangko ang pera, huwag nang magbayad ulit: magtanong sa merchant. Kung hindi, puwede kang sumubok muli.',
  refunded: 'Ibinalik na sa iyo ang buong halaga. Maaaring ilang araw pa bago ito makita sa iyong bangko.',
  refundedInPart: 'Ibinalik na sa iyo ang isang bahagi ng halaga.',
  receipt: 'Resibo',
  receiptPaidTo: 'Ibinayad sa',
  receiptAmount: 'Halaga',
  receiptOrder: 'Order',
  receiptFor: 'Para sa',
  receiptRefunded: 'Ibinalik sa iyo',
  receiptDate: 'Petsa',
  receiptDateZone: '{time}, oras sa Pilipinas',
  receiptCard: 'Card',
  receiptMethod: 'Paraan ng pagbabayad',
  receiptCardText: '{scheme} na nagtatapos sa {lastFour}',
  receiptApprovalCode: 'Approval code',
  receiptBankReference: 'Reference ng bangko',
  receiptInvoiceNumber: 'Numero ng invoice',
  receiptTransactionId: 'Transaction ID',
  returnTo: 'Bumalik sa {merchant}',
  redirectNotice: 'Ibabalik ka sa {merchant} sa loob ng {seconds} segundo.',
  stay: 'Manatili sa pahinang ito',
  looksAgain: 'Tumitingin muli ang pahinang ito kada {seconds} segundo.',
  stopLooking: 'Ihinto ang pag-reload nito',
  lookAgain: 'Tumingin muli',
  retry: 'Subukan muli',
  status: 'Error {status}',
  openAgain: 'Buksan ang pahina ng pagbabayad',
  footer: 'Mga bayad sa pamamagitan ng {kaha}',
}

const textsIn: Readonly<Record<Language, Texts>> = { en, fil }

/** The words in one language. */
export function texts(language: Language): Texts {
  return textsIn[language]
}

/** A sentence as markup, its `{names}` replaced by the given parts. A name without a part stays as it is. */
export function sentence(text: string, parts: Readonly<Record<string, HtmlPart>>): HtmlPart {
  return text.split(/(\{\w+\})/).map((piece) => (piece.startsWith('{') ? (parts[piece.slice(1, -1)] ?? piece) : piece))
}

/** A sentence as plain text, for a title or an attribute. */
export function plainSentence(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

/** A moment in the Philippines, for a person, with the exact moment beside it for a program. */
export function moment(language: Language, at: Date): HtmlPart {
  return html`<time datetime="${at.toISOString()}">${momentFormat(language).format(at)}</time>`
}

const momentFormats = new Map<Language, Intl.DateTimeFormat>()
const tags: Readonly<Record<Language, string>> = { en: 'en-PH', fil: 'fil-PH' }

// Slow to make, so not before a page shows a time.
function momentFormat(language: Language): Intl.DateTimeFormat {
  const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Manila' } as const
  const format = momentFormats.get(language) ?? new Intl.DateTimeFormat(tags[language], options)
  momentFormats.set(language, format)
  return format
}
